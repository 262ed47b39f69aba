"""An embedded cluster that can be started, used and stopped.

    async with Cluster() as cluster:                            # in memory, any free port
        await cluster.client().list(JOBS)                       # in this process, without a socket
        kubectl --kubeconfig {cluster.kubeconfig} get ns        # from anywhere on this machine

With a folder, objects, keys and the port are kept for the next start.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import secrets
import shutil
import socket
import ssl
import tempfile
from collections.abc import Sequence
from typing import Any, Final, Self

from jobrelay.apimachinery.names import is_dns1123_label
from jobrelay.cluster.apiserver.access import Access, Tokens
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.http import HttpServer
from jobrelay.cluster.apiserver.represent import stored
from jobrelay.cluster.apiserver.request import ANONYMOUS, UserInfo
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.server import ApiServer
from jobrelay.cluster.bootstrap import FRONT_PROXY, bootstrap, publish_authentication
from jobrelay.cluster.controllers.catalog import select_controllers
from jobrelay.cluster.errors import FolderError, PortTaken
from jobrelay.cluster.files import ClusterFolder, write_private
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.cluster.kubeconfig import kubeconfig
from jobrelay.cluster.node import NodeSettings
from jobrelay.cluster.plane import ControlPlane, StoreControllers
from jobrelay.cluster.ports import HOST, listen, listen_on_stable_port
from jobrelay.cluster.serving import ServingFiles
from jobrelay.cluster.store import SqliteBackend, Store, StoreFailure
from jobrelay.kube import Client, Clock
from jobrelay.kube.clock import SystemClock
from jobrelay.kube.credentials import Certificate
from jobrelay.kube.pki import Authority, make_authority

ADMIN: Final = UserInfo("kubernetes-admin", ("system:masters",))
CONTROLLERS: Final = UserInfo("system:kube-controller-manager", ("system:masters", "system:authenticated"))
_NAMES: Final = (HOST, "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1")


class Cluster:
    """An embedded cluster.

    `folder` None keeps everything in a temporary folder that is removed at the end; `memory` stores no objects on disk.
    `port` None means the port of the last start, or any free one. `controllers` is `all`, `none` or a list of names as
    in kube-controller-manager; `all,jobset` also runs JobSets, once their definition is there. `nodes` describes the
    nodes; without it pods stay pending. `clock` is the cluster's time: with a `FakeClock` hours pass in moments.
    `serving` are certificates and users of others to serve by. Raises ClusterError when it cannot start.
    """

    def __init__(
        self,
        name: str = "dev",
        folder: str | os.PathLike[str] | None = None,
        *,
        memory: bool = False,
        port: int | None = None,
        controllers: str = "all",
        nodes: NodeSettings | None = None,
        clock: Clock | None = None,
        serving: ServingFiles | None = None,
    ) -> None:
        if problems := is_dns1123_label(name):
            raise ValueError(f"cluster name {name!r}: {problems[0]}")
        self.name, self._port = name, port
        self._temporary = folder is None
        self._memory = memory or folder is None
        parent = _temporary_folder() if folder is None else pathlib.Path(folder).absolute()
        self._files = ClusterFolder(parent, name)
        self.kubeconfig = self._files.kubeconfig
        self.url = ""
        self._api: ApiServer | None = None
        self._http: HttpServer | None = None
        self._store: Store | None = None
        self._plane: ControlPlane | None = None
        self._store_controllers: StoreControllers | None = None
        self._controllers = select_controllers(controllers)
        self._nodes = nodes or NodeSettings(runtime="none")
        self._clock = clock or SystemClock()
        self._serving = serving

    @property
    def api(self) -> ApiServer:
        """The API server; raises RuntimeError while the cluster is not running."""
        if self._api is None:
            raise RuntimeError(f"cluster {self.name} is not running")
        return self._api

    def transport(self, user: str | None = None, groups: Sequence[str] = ()) -> InProcessTransport:
        """A transport to the API server without a socket, as the admin or as another user.

        `system:anonymous` sends requests without an identity; they may still carry a bearer token.
        """
        who = ADMIN if user is None else None if user == ANONYMOUS.name else UserInfo(user, tuple(groups))
        return InProcessTransport(lambda: self._api, who)

    def client(self, user: str | None = None, groups: Sequence[str] = ()) -> Client:
        """A client over `transport`."""
        return Client(self.transport(user, groups))

    async def start(self) -> None:
        """Returns when the cluster is ready for use; raises ClusterError."""
        self._files.open()
        try:
            await self._start()
        except (OSError, ValueError) as error:
            await self.stop()
            raise FolderError(
                f"{self._files.path} cannot be used: {error}", "restore it, or delete the cluster"
            ) from error
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        listening = self._listen()
        try:
            authority = Authority(self._files.pair("ca", lambda: make_authority(f"jobrelay-{self.name}-ca")))
            address = f"{HOST}:{listening.getsockname()[1]}"
            api = await self._serve(authority, address)
            self._http = HttpServer(api, self._tls(authority))
            await self._http.start(listening)
        except StoreFailure as failure:
            listening.close()
            raise FolderError(str(failure), "make room or restore the file, or delete the cluster") from failure
        except BaseException:
            listening.close()
            raise
        self._api, self.url = api, f"https://{address}"
        assert self._plane is not None
        assert self._store_controllers is not None
        self._store_controllers.start()
        self._plane.start()
        api.availability.start()
        self._publish(authority)

    def _listen(self) -> socket.socket:
        if self._port is not None:
            return listen(self._port)
        last = self._files.settings().get("port")
        if not last:
            return listen(0) if self._temporary else listen_on_stable_port()
        try:
            return listen(last)
        except PortTaken as error:
            hint = (
                f"cluster {self.name!r} had it at its last start; end what uses it now, or choose another with --port"
            )
            raise PortTaken(str(error), hint) from error

    async def _serve(self, authority: Authority, address: str) -> ApiServer:
        """Builds the API server over the store, with the objects that every cluster has."""
        self._store = Store(None if self._memory else SqliteBackend(self._files.store))
        settings = dataclasses.replace(self._nodes, folder=self._files.path / "pods", api_address=address)
        transport = InProcessTransport(lambda: self._api, CONTROLLERS)
        self._plane = ControlPlane(transport, self._controllers, settings, self._clock)
        nodes, now = self._plane.nodes, self._clock.now
        services = ServerContext(
            self._store, ResourceTable(), now=now, nodes=nodes, collectors=list(self._plane.collectors)
        )
        bootstrap(services, int(address.rpartition(":")[2]))
        api = ApiServer(services, self._access(services), address, self._front_proxy(services, authority))
        await self._store.settled()
        self._store_controllers = StoreControllers(services, authority.pair.certificate, self._controllers)
        return api

    def _publish(self, authority: Authority) -> None:
        """Saves the port and writes the kubeconfig."""
        self._files.save({"port": int(self.url.rpartition(":")[2]), "memory": self._memory})
        admin = self._files.pair("admin", lambda: authority.client(ADMIN.name, ADMIN.groups))
        write_private(self.kubeconfig, kubeconfig(self.name, self.url, authority.pair.certificate, admin))

    async def stop(self) -> None:
        """Ends watches and requests, commits pending writes and unlocks the folder; may be called twice."""
        if self._store_controllers is not None:
            self._store_controllers.stop()
            self._store_controllers = None
        if self._plane is not None:
            await self._plane.stop()
            self._plane = None
        api, self._api = self._api, None
        if api is not None:
            await api.close()
        if self._http is not None:
            await self._http.stop()
            self._http = None
        if self._store is not None:
            self._store.close()
            self._store = None
        self._files.close()
        if self._temporary:
            shutil.rmtree(self._files.path.parent, ignore_errors=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _access(self, services: ServerContext) -> Access:
        common = f"jobrelay-{self.name}-service-accounts"
        signing = self._files.pair("serviceaccounts", lambda: make_authority(common))

        def lookup(key: str, namespace: str, name: str) -> dict[str, Any] | None:
            item = services.store.get(key, namespace, name)
            return stored(item.raw) if item is not None else None

        users = self._serving.users() if self._serving is not None else None
        return Access(services.authorizer, Tokens(signing.key, lookup, services.now, services.uid), users)

    def _front_proxy(self, services: ServerContext, authority: Authority) -> Certificate:
        """The certificate that aggregated API servers know this one by; they read of it in a ConfigMap."""
        front = Authority(
            self._files.pair("front-proxy-ca", lambda: make_authority(f"jobrelay-{self.name}-front-proxy"))
        )
        pair = self._files.pair("front-proxy-client", lambda: front.client(FRONT_PROXY, ()))
        publish_authentication(services, authority.pair.certificate, front.pair.certificate)
        return Certificate(pair.certificate, pair.key)

    def _tls(self, authority: Authority) -> ssl.SSLContext:
        self._files.pair("apiserver", lambda: authority.server(_NAMES))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(cadata=authority.pair.certificate.decode())
        if self._serving is None:
            context.load_cert_chain(self._files.pki / "apiserver.crt", self._files.pki / "apiserver.key")
        else:
            context.load_cert_chain(self._serving.certificate, self._serving.key)
            if self._serving.client_ca is not None:
                context.load_verify_locations(cafile=self._serving.client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        return context


def _temporary_folder() -> pathlib.Path:
    """A path that does not exist yet, for a cluster that is removed when it stops."""
    return pathlib.Path(tempfile.gettempdir()) / f"jobrelay-{secrets.token_hex(8)}"
