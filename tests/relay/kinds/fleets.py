"""Fleets whose relay has adapters for more than Jobs, and what tests ask of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from jobrelay.kube import Client, NotFound, Object, Request, Resource, Response, Transport, merge_patch
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, EVENTS
from jobrelay.relay.explain import Explanation
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import Adapter, JobAdapter
from tests.relay.fleets import Fleet, fleet
from tests.relay.kinds.renders import RENDERS, RenderAdapter, definition

MANAGEMENT = "management"


class Broken:
    """Answers requests for Renders with an error while `code` is set."""

    def __init__(self, inner: Transport, code: int = 500, reason: str = "InternalError") -> None:
        self.inner, self.code, self.reason = inner, code, reason

    async def send(self, request: Request) -> Response:
        if self.code and "/renders" in request.path:
            body = f'{{"kind":"Status","code":{self.code},"reason":"{self.reason}","message":"conversion failed"}}'
            return Response(self.code, {}, body.encode())
        return await self.inner.send(request)


class KindsFleet:
    """A fleet, and one custom kind on it."""

    def __init__(self, inner: Fleet, resource: Resource = RENDERS) -> None:
        self.fleet, self.resource = inner, resource

    def on(self, cluster: str) -> Client:
        return self.fleet.client if cluster == MANAGEMENT else self.fleet.on(cluster)

    async def define(self, *clusters: str, **how: Any) -> None:
        for cluster in clusters:
            await self.on(cluster).create(CUSTOMRESOURCEDEFINITIONS, definition(self.resource, **how))

    async def undefine(self, cluster: str) -> None:
        await self.on(cluster).delete(CUSTOMRESOURCEDEFINITIONS, str(self.resource))

    async def get(self, cluster: str, name: str = "trailer") -> Object | None:
        try:
            return await self.on(cluster).get(self.resource, name, "default")
        except NotFound:
            return None

    async def mirror(self, cluster: str = "worker-1", name: str = "trailer") -> Object:
        """Wait for a mirror."""

        async def found() -> Object | None:
            return await self.get(cluster, name)

        mirror = await self.fleet.until(found)
        assert isinstance(mirror, Object)
        return mirror

    async def gone(self, cluster: str = "worker-1", name: str = "trailer") -> None:
        async def absent() -> bool:
            return await self.get(cluster, name) is None

        await self.fleet.until(absent)

    async def write_status(self, cluster: str, status: dict[str, Any], name: str = "trailer") -> None:
        patch = merge_patch({"status": status})
        await self.on(cluster).patch(self.resource, name, patch, "default", subresource="status")

    async def change(self, change: dict[str, Any], cluster: str = MANAGEMENT, name: str = "trailer") -> None:
        await self.on(cluster).patch(self.resource, name, merge_patch(change), "default")

    async def status(self, **wanted: Any) -> dict[str, Any]:
        """Wait until the original's status has these fields."""

        async def told() -> dict[str, Any] | None:
            original = await self.get(MANAGEMENT)
            status: dict[str, Any] = original.decode().get("status", {}) if original is not None else {}
            return status if all(status.get(key) == value for key, value in wanted.items()) else None

        return dict(await self.fleet.until(told))

    async def placed(self, name: str = "trailer") -> str:
        original = await self.get(MANAGEMENT, name)
        to = assignment_of(original) if original is not None else None
        return to.cluster if to is not None else ""

    def explanation(self, name: str = "trailer") -> Explanation | None:
        assert self.fleet.relay is not None
        return self.fleet.relay.explain(WorkloadRef(str(self.resource), Key("default", name)))

    async def explained(self, *words: str, name: str = "trailer") -> Explanation:
        """Wait until the explanation contains all of these words."""

        async def told() -> Explanation | None:
            found = self.explanation(name)
            text = "" if found is None else " ".join((found.sentence, *(each.sentence for each in found.workers)))
            return found if all(word in text for word in words) else None

        found = await self.fleet.until(told)
        assert isinstance(found, Explanation)
        return found

    async def told(self, reason: str) -> str:
        """Wait for an event on the management cluster; its note."""

        async def recorded() -> str:
            events = [each.decode() for each in (await self.fleet.client.list(EVENTS, "default")).items]
            return next((str(each.get("note")) for each in events if each.get("reason") == reason), "")

        return str(await self.fleet.until(recorded))


@asynccontextmanager
async def kinds_fleet(
    *defined: str, workers: int = 2, adapters: Sequence[Adapter] | None = None, start: bool = True, **settings: Any
) -> AsyncIterator[KindsFleet]:
    """A fleet with Renders; their definition is on the `defined` clusters before the relay starts."""
    async with fleet(workers, start=False, **settings) as inner:
        inner.adapters = adapters if adapters is not None else (JobAdapter(), RenderAdapter())
        made = KindsFleet(inner)
        await made.define(*defined)
        if start:
            await inner.start()
        yield made
