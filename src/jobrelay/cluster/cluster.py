"""One embedded cluster as a value: start it, use it, stop it.

    async with Cluster("dev") as cluster:                       # in memory, any free port
        kubectl --kubeconfig {cluster.kubeconfig} get ns

With a folder, objects, keys and port are kept and found again on the next start.
"""

from __future__ import annotations

import pathlib
import shutil
import ssl
import tempfile
from types import TracebackType
from typing import Any, Final, Self

from jobrelay.cluster.apiserver.access import Access, Authorizer, Tokens
from jobrelay.cluster.apiserver.http import HttpServer
from jobrelay.cluster.apiserver.represent import stored
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.server import ApiServer
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.bootstrap import bootstrap
from jobrelay.cluster.controllers.namespaces import Namespaces
from jobrelay.cluster.files import ClusterFolder, kubeconfig, write_private
from jobrelay.cluster.pki import Authority, KeyPair, make_authority
from jobrelay.cluster.store import SqliteBackend, Store

HOST: Final = "127.0.0.1"
_NAMES: Final = (HOST, "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1")


class PortTaken(Exception):
    """The port is in use by another program."""


class Cluster:
    """An embedded cluster.

    `folder` None keeps everything in a temporary folder that is removed at the end; `memory` keeps no objects on disk.
    `port` None means the port of the last start, or any free one.
    """

    def __init__(
        self, name: str, folder: pathlib.Path | None = None, *, memory: bool = False, port: int | None = None
    ) -> None:
        self.name, self._port = name, port
        self._temporary = tempfile.mkdtemp(prefix="jobrelay-") if folder is None else None
        self._memory = memory or folder is None
        parent = folder if folder is not None else pathlib.Path(self._temporary or "")
        self._files = ClusterFolder(parent, name)
        self.kubeconfig = self._files.kubeconfig
        self.url = ""
        self._http: HttpServer | None = None
        self._store: Store | None = None
        self._namespaces: Namespaces | None = None

    @property
    def api(self) -> ApiServer:
        assert self._api is not None
        return self._api

    async def start(self) -> None:
        self._files.open()
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        settings = self._files.settings()
        authority = self._authority()
        serving = self._pair("apiserver", lambda: authority.server(_NAMES))
        self._store = Store(None if self._memory else SqliteBackend(self._files.store))
        services = Services(self._store, ResourceTable())
        bootstrap(services, authority.pair.certificate)
        self._api = ApiServer(services, self._access(services), f"{HOST}:0")
        await self._store.settled()
        self._namespaces = Namespaces(services, authority.pair.certificate)
        self._namespaces.start()
        self._http = HttpServer(self._api, self._tls(serving, authority))
        port = self._port if self._port is not None else settings.get("port", 0)
        try:
            bound = await self._http.start(HOST, port)
        except OSError as error:
            raise PortTaken(f"port {port} on {HOST} is taken; choose another with --port") from error
        self.url = f"https://{HOST}:{bound}"
        self._files.save({"version": 1, "name": self.name, "port": bound})
        admin = self._pair("admin", lambda: authority.client("kubernetes-admin", ["system:masters"]))
        write_private(self.kubeconfig, kubeconfig(self.name, self.url, authority.pair.certificate, admin))

    async def stop(self) -> None:
        if self._http is not None:
            await self._http.stop()
            self._http = None
        if self._namespaces is not None:
            self._namespaces.stop()
            self._namespaces = None
        if self._store is not None:
            self._store.close()
            self._store = None
        self._files.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _authority(self) -> Authority:
        return Authority(self._pair("ca", lambda: make_authority(f"jobrelay-{self.name}-ca")))

    def _access(self, services: Services) -> Access:
        signing = self._pair("serviceaccounts", lambda: make_authority(f"jobrelay-{self.name}-service-accounts"))

        def lookup(key: str, namespace: str, name: str) -> dict[str, Any] | None:
            item = services.store.get(key, namespace, name)
            return stored(item.raw) if item is not None else None

        return Access(Authorizer(services.store), Tokens(signing.key, lookup, services.now))

    def _pair(self, name: str, make: Any) -> KeyPair:
        pair = self._files.pair(name)
        if pair is None:
            pair = make()
            self._files.keep_pair(name, pair)
        return pair

    def _tls(self, serving: KeyPair, authority: Authority) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        folder = self._files.path / "pki"
        context.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
        context.load_verify_locations(cadata=authority.pair.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        return context
