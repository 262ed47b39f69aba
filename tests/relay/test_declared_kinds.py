"""Every declared kind through a whole relay: taken over, mirrored, followed and finished, by scripted status writers.

The clusters serve each kind by a definition with an open schema; nobody but the test writes statuses there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Client, NotFound, Object, Resource, merge_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, SECRETS, SERVICEACCOUNTS
from jobrelay.relay.relay import RelayManager
from jobrelay.workloads import JobAdapter, status_patch
from jobrelay.workloads.builtin import built_in_descriptions
from tests.workloads.declared_kinds import ADAPTERS, KINDS, Obj, at, case, original

from .fleets import NAMESPACE, Fleet, fleet


def named(name: str, namespace: str = "") -> Obj:
    return {"metadata": {"name": name} | ({"namespace": namespace} if namespace else {})}


NODES = NodeSettings(runtime="scripted", cpu="32", memory="64Gi", labels={"disk": "fast"})
COMPANIONS = (
    (
        Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False),
        {"value": 1} | named("high"),
    ),
    (SERVICEACCOUNTS, named("builder", "default")),
    (SECRETS, named("hub", "default")),
)
"""What some of the originals name beside themselves."""
RELAYED = [kind for kind in KINDS if not ADAPTERS[kind].runs_anyway]


def definition(kind: str) -> Obj:
    resource = ADAPTERS[kind].resource
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": schema,
        "subresources": {"status": {}},
    }
    names = {"plural": resource.plural, "kind": resource.kind}
    spec = {"group": resource.group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": str(resource)}, "spec": spec}


class Run:
    """One object of a kind on a fleet."""

    def __init__(self, kind: str, clusters: Fleet) -> None:
        self.kind, self.fleet = kind, clusters
        self.adapter = ADAPTERS[kind]
        self.name: str = case(kind)["original"]["metadata"]["name"]

    async def submit(self, change: Obj | None = None) -> None:
        body = original(self.kind, change=change)
        body["metadata"] = case(self.kind)["original"]["metadata"] | {"namespace": "default"}
        await self.fleet.client.create(self.adapter.resource, body)

    async def get(self, client: Client) -> Object | None:
        try:
            return await client.get(self.adapter.resource, self.name, "default")
        except NotFound:
            return None

    async def mirrored(self) -> str:
        """Wait for the mirror; where it is."""

        async def found() -> str:
            for worker in self.fleet.workers:
                if await self.get(self.fleet.on(worker)) is not None:
                    return worker
            return ""

        return str(await self.fleet.until(found))

    async def write(self, worker: str, status: Obj) -> None:
        """Do what the kind's controller on a worker would do."""
        client = self.fleet.on(worker)
        mirror = await self.get(client)
        assert mirror is not None
        patch = merge_patch({"status": status_patch(mirror.decode().get("status") or {}, status)})
        await client.patch(self.adapter.resource, self.name, patch, "default", subresource="status")

    async def has_status(self) -> bool:
        found = await self.get(self.fleet.client)
        return found is not None and bool(found.decode().get("status"))

    async def shows(self, status: Obj) -> None:
        """Wait until the original has exactly this status."""

        async def equal() -> bool:
            found = await self.get(self.fleet.client)
            return found is not None and found.decode().get("status") == status

        await self.fleet.until(equal)


@asynccontextmanager
async def run(kind: str, workers: int = 1) -> AsyncIterator[Run]:
    async with fleet(workers, start=False, nodes=NODES, coalesce=0.02) as found:
        for client in (found.client, *map(found.on, found.workers)):
            await client.create(CUSTOMRESOURCEDEFINITIONS, definition(kind))
            for resource, body in COMPANIONS:
                await client.create(resource, body)
        relay = RelayManager(
            Client(found.home),
            found.source,
            found.settings,
            namespace=NAMESPACE,
            connect=found.connect,
            timing=found.timing,
            adapters=[ADAPTERS[kind], JobAdapter()],
        )
        running = asyncio.create_task(relay.run())
        await relay.manager.ready.wait()
        await relay.registry.wait_ready(10)
        try:
            yield Run(kind, found)
        finally:
            running.cancel()
            await asyncio.wait({running})


@pytest.mark.parametrize("kind", RELAYED)
async def test_the_original_shows_what_its_mirror_shows_step_by_step(kind: str) -> None:
    async with run(kind) as one:
        await one.submit()
        worker = await one.mirrored()
        for step in case(kind)["steps"]:
            if (status := step.get("status")) is not None:
                await one.write(worker, status)
                await one.shows(status)
                if step["is"] == "succeeded":
                    break


@pytest.mark.parametrize("kind", RELAYED)
async def test_a_suspended_original_waits_and_runs_when_it_is_resumed(kind: str) -> None:
    rule = built_in_descriptions()[ADAPTERS[kind].resource.kind].suspension
    assert rule is not None
    async with run(kind) as one:
        await one.submit(at(rule.path, rule.suspended))
        if rule.status or rule.condition:
            await one.fleet.until(one.has_status)
        resumed = merge_patch({"spec": at(rule.path, rule.running)})
        await one.fleet.client.patch(one.adapter.resource, one.name, resumed, "default")
        worker = await one.mirrored()
        status = next(step["status"] for step in case(kind)["steps"] if step.get("is") == "started")
        await one.write(worker, status)
        await one.shows(status)


@pytest.mark.parametrize("kind", RELAYED)
async def test_a_mirror_follows_its_original_and_comes_back_if_somebody_deletes_it(kind: str) -> None:
    async with run(kind) as one:
        await one.submit()
        worker = await one.mirrored()
        first = await one.get(one.fleet.on(worker))
        assert first is not None
        await one.fleet.on(worker).delete(one.adapter.resource, one.name, "default")

        async def again() -> bool:
            found = await one.get(one.fleet.on(worker))
            return found is not None and found.uid != first.uid

        async def gone() -> bool:
            return await one.get(one.fleet.on(worker)) is None

        await one.fleet.until(again)
        await one.fleet.client.delete(one.adapter.resource, one.name, "default")
        await one.fleet.until(gone)
