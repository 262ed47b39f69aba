"""Keeps the registration of the API in step: the APIService by which the API server finds it and trusts it.

Where the relay runs in the management cluster, `jobrelay install` has created the APIService and its Service, and the
relay adds the authority of its certificates. Where it runs elsewhere, under a name that the API server can resolve, it
registers that name itself, by a Service of type ExternalName. Only the leader does this.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kube import Cache, Client, Clock, KubeError, Object, Resource, merge_patch
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import APISERVICES, SERVICES
from jobrelay.logs import get_logger
from jobrelay.relay.api.names import API_SERVICE, GROUP, PRIORITIES, SERVICE, VERSION
from jobrelay.relay.workers.tasks import until_first

log = get_logger(__name__)

_MANAGER: Final = "jobrelay-api"
_LONGEST_PAUSE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Registered:
    """What is to be registered: an authority (PEM), and where the relay is if that is not in the cluster."""

    namespace: str
    authority: bytes
    host: str = ""
    port: int = 0

    @property
    def bundle(self) -> str:
        return b64encode(self.authority).decode()

    def objects(self) -> list[tuple[Resource, dict[str, Any]]]:
        """The Service and the APIService of a relay that is not in the cluster."""
        service = {"namespace": self.namespace, "name": SERVICE, "port": self.port}
        spec = {"group": GROUP, "version": VERSION, "service": service, "caBundle": self.bundle, **PRIORITIES}
        where = {"type": "ExternalName", "externalName": self.host}
        return [
            (SERVICES, _object(SERVICES, {"name": SERVICE, "namespace": self.namespace}, where)),
            (APISERVICES, _object(APISERVICES, {"name": API_SERVICE}, spec)),
        ]

    def is_kept(self, found: Object | None) -> bool:
        """Whether an APIService says what it should."""
        if found is None:
            return not self.host
        spec = found.decode().get("spec") or {}
        port = (spec.get("service") or {}).get("port")
        return spec.get("caBundle") == self.bundle and (not self.host or port == self.port)


def _object(resource: Resource, metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


class Registration:
    """Registers the API, and again whenever its registration was changed."""

    def __init__(self, client: Client, wanted: Registered, *, clock: Clock) -> None:
        self._client, self._wanted, self._clock = client, wanted, clock
        self._found = Cache(client, APISERVICES, clock=clock, field_selector=f"metadata.name={API_SERVICE}")
        self._changed = asyncio.Event()
        self._found.subscribe(lambda old, new: self._changed.set())

    async def run(self) -> None:
        """Until cancelled."""
        await until_first(self._found.run(), self._keep())

    async def _keep(self) -> None:
        await self._found.wait_synced()
        backoff = Backoff(1.0, _LONGEST_PAUSE)
        while True:
            self._changed.clear()
            try:
                await self._register()
            except KubeError as error:
                log.warning("the API is not registered", api_service=API_SERVICE, error=str(error))
                await sleep(self._clock, backoff.next())
                continue
            backoff.reset()
            await self._changed.wait()

    async def _register(self) -> None:
        found = self._found.get(Key("", API_SERVICE))
        if self._wanted.is_kept(found):
            return
        if self._wanted.host:
            for resource, body in self._wanted.objects():
                await self._client.apply(resource, body, field_manager=_MANAGER, force=True)
        else:
            change = merge_patch({"spec": {"caBundle": self._wanted.bundle, "insecureSkipTLSVerify": None}})
            await self._client.patch(APISERVICES, API_SERVICE, change, field_manager=_MANAGER)
        log.info("registered the API", api_service=API_SERVICE)
