"""Asks the relay through its API, with the rights of the kubeconfig: see `jobrelay.relay.api`.

Callers need no rights but those to their own workloads. `NotServed` means that the management cluster has no such API,
or that no relay answers behind it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kube import (
    BadRequest,
    Client,
    Connection,
    Forbidden,
    KubeError,
    NotFound,
    ProtocolError,
    Resource,
    ServiceUnavailable,
    serves,
)
from jobrelay.kube.objects import decode_object
from jobrelay.kube.remote_command import LARGEST_MESSAGE, PROTOCOLS
from jobrelay.relay.api.failures import NOT_STARTED
from jobrelay.relay.api.names import API_SERVICE, GROUP, VERSION

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

__all__ = [
    "ApiPath", "NotServed", "NotStarted", "api_exec", "api_explanation", "api_log", "api_preview", "api_read",
    "api_stream", "api_workers", "api_workloads",
]  # fmt: skip

_WORKLOADS: Final = Resource(GROUP, VERSION, "workloads", "Workload")
_WORKERS: Final = Resource(GROUP, VERSION, "workers", "Worker", namespaced=False)
_OVERVIEW: Final = Resource(GROUP, VERSION, "overview", "Overview")
_PREVIEWS: Final = Resource(GROUP, VERSION, "previews", "Preview")


class NotServed(KubeError):
    """The management cluster does not serve the relay's API at present."""


class NotStarted(KubeError):
    """Nothing of a workload has started yet."""


async def api_workloads(client: Client, namespace: str | None) -> list[dict[str, Any]]:
    """The delegated workloads of a namespace, or of all, as `WorkloadView`s; raises KubeError."""
    found = await _read(client, _WORKLOADS.path(namespace))
    return [each["status"] for each in found["items"]]


async def api_preview(client: Client, workload: bytes) -> dict[str, Any]:
    """What would be decided about a workload that is not created; raises KubeError."""
    namespace = decode_object(workload).namespace
    spec = {"workload": msgspec.Raw(workload)}
    body = msgspec.json.encode({"apiVersion": _PREVIEWS.api_version, "kind": _PREVIEWS.kind, "spec": spec})
    async with _refusals(client):
        found = msgspec.json.decode(await client.call("POST", _PREVIEWS.path(namespace), body=body))
    status: dict[str, Any] = found["status"]
    return status


async def api_explanation(
    client: Client, kind: str, name: str, namespace: str, changes: Sequence[str] = ()
) -> dict[str, Any] | None:
    """Why a workload of a kind (`jobs.batch`) is where it is, with `changes` also what would be after them; None if the
    relay does not know it. Raises KubeError."""
    path = _WORKLOADS.path(namespace, f"{kind}:{name}")
    asked = f"{path}?{urlencode([('if', each) for each in changes])}" if changes else path
    try:
        found: dict[str, Any] = (await _read(client, asked))["status"]
    except NotFound:
        return None
    return found


async def api_workers(client: Client, namespace: str | None) -> list[dict[str, Any]]:
    """The workers, as `WorkerView`s; for users who may not read them, as the overview of their namespace shows them."""
    try:
        found: list[dict[str, Any]] = (await _read(client, _WORKERS.path()))["items"]
    except Forbidden:
        if namespace is None:
            raise
        found = (await _read(client, _OVERVIEW.path(namespace)))["workers"]
    return found


@asynccontextmanager
async def api_log(
    client: Client, kind: Resource, name: str, namespace: str, query: Mapping[str, Any]
) -> AsyncIterator[AsyncIterator[bytes]]:
    """The log of a workload in pieces; raises NotStarted, NotServed and other KubeErrors."""
    path = _WORKLOADS.path(namespace, f"{kind}:{name}", "log")
    async with _refusals(client), client.stream(path, query, accept="*/*") as chunks:
        yield chunks


@asynccontextmanager
async def api_exec(
    client: Client, connection: Connection, kind: Resource, name: str, namespace: str, query: list[tuple[str, str]]
) -> AsyncIterator[ClientWebSocketResponse]:
    """The streams of a command in a pod of a workload; raises NotStarted, NotServed and other KubeErrors."""
    from jobrelay.kube.websocket import open_websocket

    path = _WORKLOADS.path(namespace, f"{kind}:{name}", "exec")
    async with AsyncExitStack() as stack:
        async with _refusals(client):
            socket = await stack.enter_async_context(
                open_websocket(connection, path, query, protocols=PROTOCOLS, largest=LARGEST_MESSAGE)
            )
        yield socket


class ApiPath(NamedTuple):
    """What is read: a resource of a namespace, or of all, or one object of it, or a part of that."""

    plural: str
    namespace: str = ""
    name: str | None = None
    part: str | None = None

    def __str__(self) -> str:
        """The path; raises ValueError for a name that cannot be part of one."""
        return Resource(GROUP, VERSION, self.plural, "").path(self.namespace or None, self.name, self.part)


async def api_read(client: Client, path: ApiPath, query: Mapping[str, Any] | None = None) -> Any:
    """What the API has at a path; raises NotServed and other KubeErrors."""
    return await _read(client, str(path), query)


@asynccontextmanager
async def api_stream(
    client: Client, path: ApiPath, query: Mapping[str, Any] | None = None
) -> AsyncIterator[AsyncIterator[bytes]]:
    """The same in pieces, as they come; raises NotStarted, NotServed and other KubeErrors."""
    async with _refusals(client), client.stream(str(path), query, accept="*/*") as chunks:
        yield chunks


async def _read(client: Client, path: str, query: Mapping[str, Any] | None = None) -> Any:
    async with _refusals(client):
        raw = await client.call("GET", path, query)
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise ProtocolError(f"APIService {API_SERVICE} leads to something that is not a relay: {error}") from error


@asynccontextmanager
async def _refusals(client: Client) -> AsyncIterator[None]:
    try:
        yield
    except ServiceUnavailable as error:
        raise NotServed(f"no relay answers behind APIService {API_SERVICE}: {error}") from error
    except NotFound as error:
        if await serves(client, _WORKLOADS):
            raise
        raise NotServed(f"the management cluster has no APIService {API_SERVICE}") from error
    except BadRequest as error:
        if error.has_cause(NOT_STARTED):
            raise NotStarted(str(error)) from error
        raise
