"""Whether the servers of aggregated APIs answer: the `Available` condition of their APIServices.

Each API is checked when its APIService, its Service or the endpoints change, and every 30 seconds; one that does not
answer is checked again soon, and then less and less often.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import represent, storage
from jobrelay.cluster.apiserver.aggregation.apis import KEY, RemoteApi, RemoteApis
from jobrelay.cluster.apiserver.aggregation.proxy import Proxy, identity_fields
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.outbound import FAILURES, OutboundError, explained, resolve
from jobrelay.cluster.apiserver.ownership import track
from jobrelay.cluster.apiserver.request import UserInfo
from jobrelay.cluster.store import Change

Obj = dict[str, Any]
_CHECK_SECONDS: Final = 5.0
_RESYNC_SECONDS: Final = 30.0
_FIRST_RETRY: Final = 0.25
_AGGREGATOR: Final = UserInfo("system:kube-aggregator", ("system:masters",))
_SLICES: Final = "endpointslices.discovery.k8s.io"
_RELATED: Final = ("services", _SLICES, "endpoints")
_OPENAPI: Final = "/openapi/v3"


class _NotAvailable(Exception):
    """Why an API is not available: a reason and a message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class AvailabilityController:
    """Keeps the conditions of APIServices in step with their servers. It does nothing while there are none."""

    def __init__(self, server: ServerContext, apis: RemoteApis, proxy: Proxy) -> None:
        self._server, self._apis, self._proxy = server, apis, proxy
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._unsubscribe = [server.store.subscribe(KEY, self._changed)]
        self._unsubscribe += [server.store.subscribe(key, self._related) for key in _RELATED]

    def start(self) -> None:
        """Checks what was in the store before."""
        for api in list(self._apis.by_version.values()):
            self._check_soon(api.name)

    def stop(self) -> None:
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        for timer in self._timers.values():
            timer.cancel()
        for task in self._checks.values():
            task.cancel()
        self._timers.clear()

    def _changed(self, change: Change) -> None:
        item = change.after or change.before
        assert item is not None
        before = represent.stored(change.before.raw)["spec"] if change.before is not None else None
        if change.after is None or represent.stored(change.after.raw)["spec"] != before:
            self._check_soon(item.name)

    def _related(self, change: Change) -> None:
        if not self._apis.by_version:
            return
        item = change.after or change.before
        assert item is not None
        for api in list(self._apis.by_version.values()):
            assert api.target.service is not None
            if api.target.service.namespace == item.namespace:
                self._check_soon(api.name)

    def _check_soon(self, name: str, delay: float = _FIRST_RETRY) -> None:
        """Starts a check, or has the one that is running followed by another."""
        if name in self._checks:
            self._again.add(name)
            return
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
        if self._apis.named(name) is not None:
            self._checks[name] = asyncio.get_running_loop().create_task(self._run(name, delay))

    async def _run(self, name: str, delay: float) -> None:
        api, later, following = self._apis.named(name), _RESYNC_SECONDS, _FIRST_RETRY
        try:
            if api is not None and not await self._settle(api):
                later, following = delay, min(delay * 2, _RESYNC_SECONDS)
        finally:
            del self._checks[name]
        if name in self._again:
            self._again.discard(name)
            self._check_soon(name)
        elif self._apis.named(name) is not None:
            loop = asyncio.get_running_loop()
            self._timers[name] = loop.call_later(later, self._check_soon, name, following)

    async def _settle(self, api: RemoteApi) -> bool:
        """Checks an API and writes its condition; returns whether it is available."""
        try:
            self._check_service(api)
            self._apis.learn(api, await self._discover(api), await self._document(api))
        except _NotAvailable as error:
            self._put(api, "False", error.reason, error.message)
            return False
        self._put(api, "True", "Passed", "all checks passed")
        return True

    def _check_service(self, api: RemoteApi) -> None:
        reference, store = api.target.service, self._server.store
        assert reference is not None
        shown = f"service/{reference.name} in {go_quote(reference.namespace)}"
        item = store.get("services", reference.namespace, reference.name)
        if item is None:
            raise _NotAvailable("ServiceNotFound", f"{shown} is not present")
        spec = represent.cached(item.raw)["spec"]
        if spec.get("type") != "ClusterIP":
            return
        port = next((port for port in spec.get("ports") or () if port["port"] == reference.port), None)
        if port is None:
            raise _NotAvailable("ServicePortError", f"{shown} is not listening on port {reference.port}")
        try:
            resolve(store, api.target)
        except OutboundError:
            if self._has_slices(reference.namespace, reference.name):
                name = go_quote(port.get("name", ""))
                message = f"endpointslices for {shown} have no addresses with port name {name}"
                raise _NotAvailable("MissingEndpoints", message) from None
            raise _NotAvailable("EndpointsNotFound", f"cannot find endpointslices for {shown}") from None

    def _has_slices(self, namespace: str, name: str) -> bool:
        items = self._server.store.snapshot(_SLICES).walk(namespace)
        labels = (represent.cached(item.raw)["metadata"].get("labels") or {} for item in items)
        return any(found.get("kubernetes.io/service-name") == name for found in labels)

    async def _discover(self, api: RemoteApi) -> list[Obj]:
        """What an API serves, by its own account."""
        status, body = await self._get(api, api.path)
        if not 200 <= status < 300:
            url = f"https://{self._host(api)}{api.path}"
            message = f"failing or missing response from {url}: bad status from {url}: {status}"
            raise _NotAvailable("FailedDiscoveryCheck", message)
        listed = _decoded(body).get("resources")
        return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []

    async def _document(self, api: RemoteApi) -> str:
        """The address of the OpenAPI document of an API on its server, or nothing."""
        status, body = await self._get(api, _OPENAPI)
        paths = _decoded(body).get("paths") if status == 200 else None
        entry = paths.get(api.path[1:]) if isinstance(paths, dict) else None
        return str(entry.get("serverRelativeURL") or "") if isinstance(entry, dict) else ""

    async def _get(self, api: RemoteApi, path: str) -> tuple[int, bytes]:
        try:
            endpoint = resolve(self._server.store, api.target)
        except OutboundError as error:
            raise _NotAvailable("FailedDiscoveryCheck", str(error)) from None
        fields = [*identity_fields(_AGGREGATOR), ("Accept", "application/json")]
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                tls = self._proxy.context(b"", True)
                answer = await self._proxy.send("GET", path, fields, b"", endpoint, tls)
                return answer.status, await answer.read()
        except FAILURES as error:
            url, why = f"https://{self._host(api)}{path}", await explained(error, endpoint)
            message = f'failing or missing response from {url}: Get "{url}": {why}'
            raise _NotAvailable("FailedDiscoveryCheck", message) from None

    def _host(self, api: RemoteApi) -> str:
        """Where a real server would look for the service."""
        reference = api.target.service
        assert reference is not None
        item = self._server.store.get("services", reference.namespace, reference.name)
        spec = represent.cached(item.raw)["spec"] if item is not None else {}
        host = spec.get("externalName") if spec.get("type") == "ExternalName" else spec.get("clusterIP")
        return f"{reference.host if host in (None, 'None') else host}:{reference.port}"

    def _put(self, api: RemoteApi, status: str, reason: str, message: str) -> None:
        item = self._server.store.get(KEY, "", api.name)
        served = self._server.resources.get("apiregistration.k8s.io", "v1", "apiservices")
        assert served is not None
        if item is None:
            return
        old, now = represent.stored(item.raw), format_time(self._server.now())
        made = {"type": "Available", "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
        before = [c for c in (old.get("status") or {}).get("conditions") or () if c["type"] == "Available"]
        if before and before[0]["status"] == status:
            made["lastTransitionTime"] = before[0]["lastTransitionTime"]
        if before == [made]:
            return
        new = {**old, "metadata": dict(old["metadata"]), "status": {"conditions": [made]}}
        track(served, old, new, manager="kube-apiserver", now=now, subresource="status")
        storage.put(self._server.store, KEY, "", api.name, new)


def _decoded(body: bytes) -> Obj:
    """A JSON object; anything else is an empty one."""
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
