"""What the pages show, read from the management cluster and the relay's API with the viewer's rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec
import yaml

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Client, Clock, Forbidden, KubeError, NotFound, Object, Resource, serves
from jobrelay.kube.objects import decode_list
from jobrelay.kube.resource import NAMESPACES
from jobrelay.operate.relay_client import ApiPath, api_read, api_stream
from jobrelay.queueing.resources import CLUSTER_QUEUES, LOCAL_QUEUES
from jobrelay.queueing.resources import WORKLOADS as QUEUED_WORKLOADS
from jobrelay.relay.original_decision import Stage
from jobrelay.sdk.relay import AsyncRelay
from jobrelay.sdk.timeline import timeline
from jobrelay.sdk.workloads import find_adapter, get_workload
from jobrelay.web.queues import QueueSummary, pending_rows, queue_state
from jobrelay.workloads import Adapter

_REMEMBERED: Final = 30.0
_MOST_NAMESPACES: Final = 500
_MOST_QUEUED: Final = 500
_SCREENED: Final = ("managedFields",)
"""Parts of metadata that are left out of the YAML, as kubectl does."""


class WorkloadDetails(msgspec.Struct, frozen=True):
    """One workload: what the relay says, its timeline, and the object."""

    found: dict[str, Any]
    events: list[dict[str, Any]]
    moments: list[dict[str, Any]]
    manifest: str


class QueueListing(msgspec.Struct, frozen=True):
    """The queues that the viewer may list, and some of what waits in them; `problem` says what they may not list."""

    cluster: list[QueueSummary] = []
    local: list[QueueSummary] = []
    pending: list[dict[str, Any]] = []
    problem: str = ""


class DashboardBackend:
    """Reads with the rights of `client`. `namespace` is shown where the viewer may not see all; empty if none is known.

    Methods raise KubeError, and ValueError for invalid names.
    """

    def __init__(self, client: Client, namespace: str, clock: Clock) -> None:
        self._client, self._own, self._clock = client, namespace, clock
        self._relay = AsyncRelay(client, namespace or "default")
        self._everywhere: tuple[float, bool] = 0.0, False
        self._queues: tuple[float, bool] = 0.0, False

    async def scope(self, asked: str) -> str:
        """The namespace that is shown; empty for all."""
        if asked:
            return asked
        until, allowed = self._everywhere
        if self._clock.monotonic() >= until:
            allowed = await self._sees_all()
            self._everywhere = self._clock.monotonic() + _REMEMBERED, allowed
        return "" if allowed else self._own

    async def _sees_all(self) -> bool:
        try:
            await api_read(self._client, ApiPath("activity"))
        except Forbidden:
            if not self._own:
                raise
            return False
        return True

    async def activity(self, namespace: str) -> dict[str, Any]:
        """How many workloads have each status, now and in the past hour, and the workers."""
        found: dict[str, Any] = await api_read(self._client, ApiPath("activity", namespace))
        return found

    async def page(self, namespace: str, query: Mapping[str, str]) -> dict[str, Any]:
        """One page of the workloads."""
        found: dict[str, Any] = await api_read(self._client, ApiPath("workloads", namespace), query)
        return found

    async def workload(self, namespace: str, name: str) -> WorkloadDetails:
        """One workload by its name in the API (`job:train`)."""
        path = ApiPath("workloads", namespace, name)
        found, events, (adapter, original) = await together(
            api_read(self._client, path),
            api_read(self._client, path._replace(part="events")),
            self._original(namespace, name),
        )
        items: list[dict[str, Any]] = events["items"]
        moments = [
            {"time": format_time(each.time), "after": each.after, "what": each.what}
            for each in timeline(adapter, original, [each | {"lastTimestamp": each["time"]} for each in items])
        ]
        return WorkloadDetails(found, items[::-1], moments, manifest_text(original))

    async def _original(self, namespace: str, name: str) -> tuple[Adapter, Object]:
        kind, _, own = name.rpartition(":")
        adapter = find_adapter(kind or "job", await self._relay.adapters())
        return adapter, await get_workload(self._client, adapter, own, namespace)

    async def has_ended(self, namespace: str, name: str) -> bool:
        """Whether a workload has ended, so that nothing is added to its log."""
        found = await api_read(self._client, ApiPath("workloads", namespace, name))
        return bool(found["status"]["stage"] == Stage.FINISHED)

    def log(self, namespace: str, name: str, *, follow: bool) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The log of a workload in pieces."""
        query = {"follow": "true", "tailLines": "2000"} if follow else {}
        return api_stream(self._client, ApiPath("workloads", namespace, name, "log"), {"prefix": "true", **query})

    def changes(self, namespace: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Something for each change, for some minutes."""
        return api_stream(self._client, ApiPath("activity", namespace), {"watch": "true"})

    async def namespaces(self) -> list[str]:
        """The names that can be suggested; none if the viewer may not list them."""
        try:
            found = await self._client.list(NAMESPACES)
        except Forbidden:
            return []
        return [each.name for each in found.items[:_MOST_NAMESPACES]]

    async def has_queues(self) -> bool:
        """Whether the management cluster serves queues."""
        until, known = self._queues
        if self._clock.monotonic() >= until:
            try:
                known = await serves(self._client, CLUSTER_QUEUES)
            except KubeError:
                known = False
            self._queues = self._clock.monotonic() + _REMEMBERED, known
        return known

    async def queues(self, namespace: str) -> QueueListing:
        """The queues, by their objects."""
        found: list[tuple[Object, ...]] = []
        problem = ""
        for resource, where in ((CLUSTER_QUEUES, ""), (LOCAL_QUEUES, namespace), (QUEUED_WORKLOADS, namespace)):
            try:
                found.append(await self._first(resource, where))
            except (NotFound, Forbidden) as error:
                found.append(())
                problem = str(error)
        cluster, local, workloads = found
        return QueueListing(
            [queue_state(each) for each in cluster],
            [queue_state(each) for each in local],
            pending_rows(workloads),
            problem,
        )

    async def _first(self, resource: Resource, namespace: str) -> tuple[Object, ...]:
        """The first objects of a list, which may be long."""
        raw = await self._client.call("GET", resource.path(namespace or None), {"limit": _MOST_QUEUED})
        return tuple(decode_list(raw, resource).items)


async def together(*reads: Any) -> list[Any]:
    """What several reads give; if one fails, the others are ended."""
    tasks = [asyncio.ensure_future(each) for each in reads]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def manifest_text(original: Object) -> str:
    """An object as YAML."""
    body = original.decode()
    metadata = {name: value for name, value in body["metadata"].items() if name not in _SCREENED}
    return yaml.safe_dump(body | {"metadata": metadata}, sort_keys=False, allow_unicode=True, width=120)
