"""A cluster in this process with nodes on fake time, and small pods for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from jobrelay.cluster.cluster import Cluster
from jobrelay.cluster.node import NodeSettings, set_up
from jobrelay.control import ControllerContext
from jobrelay.kube import Client, FakeClock
from jobrelay.kube.errors import NotFound
from jobrelay.kube.resource import PODS


class Nodes:
    """What a test holds: a client, the clock, and ways to wait."""

    def __init__(self, cluster: Cluster, context: ControllerContext, clock: FakeClock) -> None:
        self.cluster, self.context, self.clock = cluster, context, clock
        self.client: Client = cluster.client()

    async def create(self, pod: dict[str, Any]) -> None:
        await self.client.create(PODS, pod)

    async def pod(self, name: str = "p") -> dict[str, Any]:
        return (await self.client.get(PODS, name, "default")).decode()

    async def until(self, found: Callable[[dict[str, Any]], bool], name: str = "p") -> dict[str, Any]:
        """Lets things happen, without time passing, until a pod looks as it should."""
        for _ in range(200):
            pod = await self.pod(name)
            if found(pod):
                return pod
            await self.clock.settle()
        raise AssertionError(f"still {pod.get('status')}")

    async def phase(self, phase: str, name: str = "p") -> dict[str, Any]:
        return await self.until(lambda pod: pod["status"]["phase"] == phase, name)

    async def gone(self, name: str = "p") -> None:
        """Lets things happen until a pod is no more."""
        for _ in range(200):
            try:
                await self.pod(name)
            except NotFound:
                return
            await self.clock.settle()
        raise AssertionError(f"{name} is still there")


@asynccontextmanager
async def nodes(**settings: Any) -> AsyncIterator[Nodes]:
    clock = FakeClock()
    async with Cluster(memory=True, controllers="namespace-controller") as cluster:
        context = ControllerContext(cluster.transport(), clock=clock)
        set_up(context, NodeSettings(**({"runtime": "scripted"} | settings)))
        running = asyncio.create_task(context.manager.run())
        try:
            await asyncio.wait_for(context.manager.ready.wait(), 10)
            yield Nodes(cluster, context, clock)
        finally:
            running.cancel()
            await asyncio.wait({running})


def pod(
    name: str = "p", *, annotations: dict[str, str] | None = None, cpu: str | None = None, **spec: Any
) -> dict[str, Any]:
    """A pod of one container; annotations are those of scripts, without their prefix."""
    given = {f"jobrelay.dev/{key}": value for key, value in (annotations or {}).items()}
    container = {"name": "c", "image": "x"} | ({"resources": {"requests": {"cpu": cpu}}} if cpu else {})
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "annotations": given},
        "spec": {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]} | spec,
    }  # fmt: skip
