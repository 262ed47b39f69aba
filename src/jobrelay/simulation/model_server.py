"""A small model of the API server, for simulations of many schedules.

It has the store, the kinds' rules and the watches of the embedded API server. It leaves out what takes most of the time
and what no part of a simulated fleet can notice: identities, permissions, field management, strict decoding, warnings
and metrics. Renewals of Leases, most of what a quiet fleet sends, take a way of their own. Requests that the model has
no short way for go to the embedded server on the same store. `tests/simulation/test_model_server.py` sends the same
requests to both and compares the answers.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.cluster.apiserver import body, errors, patching, represent, storage, writes
from jobrelay.cluster.apiserver.admission.steps import check_name, ensure_namespace
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import at_once
from jobrelay.cluster.apiserver.options import WriteOptions
from jobrelay.cluster.apiserver.request import ApiRequest, UserInfo, received
from jobrelay.cluster.apiserver.resources import ResourceTable, ServedResource
from jobrelay.cluster.apiserver.server import ApiServer
from jobrelay.cluster.apiserver.writes import WriteRequest
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.kinds import context
from jobrelay.kinds.strategy import Obj
from jobrelay.kube.transport import Headers, Request, Response

ADMIN: Final = UserInfo("kubernetes-admin", ("system:masters", "system:authenticated"))
_JSON: Final = Headers({"Cache-Control": "no-cache, private", "Content-Type": "application/json"})
_TEXT: Final = Headers({"Cache-Control": "no-cache, private", "Content-Type": "text/plain; charset=utf-8"})
_LEASES: Final = "leases.coordination.k8s.io"
_MODELLED: Final = frozenset({"jobs.batch", "pods", "nodes", "events", "configmaps", "secrets", _LEASES})
"""The kinds whose writes take the short way."""
_MERGE: Final = "application/merge-patch+json"
_TIME: Final = re.compile(r"20\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z")
_LEASE_SPEC: Final[dict[str, Callable[[Any], bool]]] = {
    "holderIdentity": lambda value: type(value) is str,
    "leaseDurationSeconds": lambda value: type(value) is int and 0 < value < 2**31,
    "acquireTime": lambda value: type(value) is str and _TIME.fullmatch(value) is not None,
    "renewTime": lambda value: type(value) is str and _TIME.fullmatch(value) is not None,
    "leaseTransitions": lambda value: type(value) is int and 0 <= value < 2**31,
}
"""What the fields of a Lease look like in an election; other values are left to the embedded server."""
_REQUESTER: Final = context.RequestUser(ADMIN.name, ADMIN.uid, ADMIN.groups, ADMIN.extra)


class Route(NamedTuple):
    """What a path names."""

    served: ServedResource
    namespace: str
    name: str
    subresource: str


class ModelServer:
    """Answers requests as `ApiServer` does, faster, on the store of one."""

    def __init__(self, api: ApiServer) -> None:
        self._context, self._store = api.server, api.server.store
        self._embedded = InProcessTransport(lambda: api, ADMIN)

    async def send(self, request: Request) -> Response:
        path, _, query = request.path.partition("?")
        if path == "/readyz" and not query:
            await asyncio.sleep(0)
            return Response(200, _TEXT, b"ok")
        route = find_route(path)
        if route is None or not self._knows(route, request, query):
            return await self._embedded.send(request)
        await asyncio.sleep(0)
        if request.method == "GET":
            return self._get(route)
        try:
            raw, created = self._write(route, request)
            await self._store.settled()
        except errors.ApiError as refusal:
            await self._store.settled()
            return Response(refusal.code, _JSON, represent.encode(refusal.status()) + b"\n")
        return Response(201 if created else 200, _JSON, represent.whole(route.served, raw) + b"\n")

    def _knows(self, route: Route, request: Request, query: str) -> bool:
        if request.method == "GET":
            return bool(route.name) and not route.subresource and not query
        if route.served.key not in _MODELLED or route.subresource not in ("", "status"):
            return False
        match request.method:
            case "POST":
                return bool(route.namespace) == route.served.namespaced and not route.name
            case "PUT":
                return bool(route.name)
            case "PATCH":
                return bool(route.name) and _media(request) in (patching.STRATEGIC, _MERGE)
        return False

    def _get(self, route: Route) -> Response:
        served = route.served
        item = self._store.read(served.key, route.namespace, route.name)
        if item is None:
            refusal = errors.not_found(served.group, served.plural, route.name)
            return Response(404, _JSON, represent.encode(refusal.status()) + b"\n")
        return Response(200, _JSON, represent.whole(served, item.raw) + b"\n")

    # Writes

    def _write(self, route: Route, request: Request) -> tuple[bytes, bool]:
        if route.served.key == _LEASES and (renewed := self._renew(route, request)):
            return renewed, False
        context.current.set(context.RequestContext(self._context.now(), _REQUESTER))
        headers = {"content-type": (_media(request),)}
        asked = received(request.method, request.path, headers, request.body or b"", ADMIN)
        asked = asked.authenticated(ADMIN)
        options = WriteOptions(dry_run=bool(asked.first("dryRun")), field_validation="Ignore")
        write = WriteRequest(self._context, asked, route.served, options, route.subresource)
        match request.method:
            case "POST":
                return at_once(writes.create(write, _read(asked, route.served))), True
            case "PUT":
                return self._update(write, route, _read(asked, route.served))
            case _:
                return self._patch(write, route)

    def _update(self, write: WriteRequest, route: Route, proposed: ProposedObject) -> tuple[bytes, bool]:
        metadata = proposed.obj["metadata"]
        ensure_namespace(metadata, route.namespace)
        check_name(proposed.obj, route.name)
        return at_once(writes.update(write, route.name, lambda _: proposed, uid=metadata.get("uid", "")))

    def _patch(self, write: WriteRequest, route: Route) -> tuple[bytes, bool]:
        media = write.request.header("content-type")
        patch = patching.PatchRequest(
            write.server, write.request, write.served, write.options, write.subresource, media=media
        )

        def propose(old: Obj | None) -> ProposedObject:
            return patch.propose(old)._replace(tracked=True)

        return at_once(writes.update(patch, route.name, propose))

    def _renew(self, route: Route, request: Request) -> bytes | None:
        """Store a Lease in which nothing but its spec is changed, at its version; None if this is not all."""
        item = self._store.get(_LEASES, route.namespace, route.name)
        if item is None or "?" in request.path or not request.body:
            return None
        old = represent.stored(item.raw)
        spec = _renewed_spec(request, old)
        if spec is None or "deletionTimestamp" in old["metadata"]:
            return None
        if spec == old["spec"]:
            return item.raw
        changed = {"metadata": old["metadata"], "spec": spec}
        return storage.put(self._store, _LEASES, route.namespace, route.name, changed)


def _renewed_spec(request: Request, old: Obj) -> Obj | None:
    """The spec of a Lease after a request that changes only its spec, to values that need no second look."""
    try:
        sent = msgspec.json.decode(request.body or b"")
    except msgspec.DecodeError:
        return None
    spec = sent.get("spec") if isinstance(sent, dict) else None
    if not isinstance(spec, dict) or not all(name in _LEASE_SPEC and _LEASE_SPEC[name](spec[name]) for name in spec):
        return None
    if request.method == "PUT" and sent.get("metadata") == old["metadata"]:
        return spec
    if request.method == "PATCH" and _media(request) == _MERGE and set(sent) == {"spec"}:
        return {**old["spec"], **spec}
    return None


def _media(request: Request) -> str:
    return request.headers.get("Content-Type", "application/json")


def _read(request: ApiRequest, served: ServedResource) -> ProposedObject:
    """The object in a body, whose managedFields are not kept."""
    proposed = body.read(request, served, "Ignore")
    served.strategy.default(proposed.obj)
    return proposed._replace(tracked=True)


@functools.lru_cache(4096)
def find_route(path: str) -> Route | None:
    """What a path to a built-in resource names; None for every other one."""
    info = received("POST", path, {}).info
    served = _resources().get(info.group, info.version, info.resource)
    if served is None or (info.name and served.namespaced != bool(info.namespace)):
        return None
    return Route(served, info.namespace if served.namespaced else "", info.name, info.subresource)


@functools.lru_cache(1)
def _resources() -> ResourceTable:
    return ResourceTable()
