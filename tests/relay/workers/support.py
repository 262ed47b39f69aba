"""A worker for tests: an embedded cluster in this process, behind a link that can be made to fail, on fake time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec

from jobrelay.cluster import Cluster
from jobrelay.kube import Connection, FakeClock, FaultyTransport, Request, Response, Transport
from jobrelay.kube.resource import JOBS
from jobrelay.relay.workers import UsableKubeconfig, WorkerConnection, WorkerSpec
from jobrelay.workloads import JobAdapter
from jobrelay.workloads.names import ORIGIN
from tests.relay.proofs import known_proofs, proven

ORIGIN_HERE = "test"


class Recording:
    """Passes requests on and remembers them."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        return await self.inner.send(request)

    def count(self, start: str) -> int:
        return sum(str(request).startswith(start) for request in self.requests)


class Worker:
    """A cluster, the faulty way to it, and the link over that."""

    def __init__(self, cluster: Cluster, link: WorkerConnection, faults: FaultyTransport, seen: Recording) -> None:
        self.cluster, self.link, self.faults, self.seen = cluster, link, faults, seen
        self.client = cluster.client()


def kubeconfig_access(digest: str = "1", server: str = "https://worker") -> UsableKubeconfig:
    return UsableKubeconfig(Connection(server), digest)


async def settle(clock: FakeClock) -> None:
    """Let everything that needs no time happen."""
    await clock.settle(200)


async def advance(clock: FakeClock, seconds: float, step: float = 1.0) -> None:
    """Move time on in small steps, with everything settled after each."""
    while seconds > 0:
        await clock.advance(min(step, seconds))
        await settle(clock)
        seconds -= step


@asynccontextmanager
async def running(*works: Any) -> AsyncIterator[None]:
    """Run these in the background."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            assert task.cancelled(), task.exception()


@asynccontextmanager
async def worker(
    clock: FakeClock, *, user: str | None = None, spec: WorkerSpec | None = None, **options: Any
) -> AsyncIterator[Worker]:
    """A running link to a fresh cluster without controllers."""
    async with Cluster(controllers="none") as cluster:
        seen = Recording(cluster.transport(user))
        faults = FaultyTransport(seen, clock=clock)
        made: dict[str, Any] = {
            "resources": [JOBS],
            "pod_owner": JobAdapter().pod_owner,
            "connect": lambda name, connection: faults,
            "proofs": known_proofs(ORIGIN_HERE),
            **options,
        }
        link = WorkerConnection(
            spec or WorkerSpec("w1", kubeconfig_access()),
            clock=clock,
            random=Random(1),
            **made,
        )
        async with running(link.run()):
            await settle(clock)
            yield Worker(cluster, link, faults, seen)


def job(name: str, namespace: str = "default", worker: str = "w1", **labels: str) -> dict[str, Any]:
    """A mirror on a worker; with another `jobrelay.dev/origin`, that of another relay."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
    return proven(made, labels.get(ORIGIN, ORIGIN_HERE), worker)


def node(name: str = "n1") -> dict[str, Any]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def kubeconfig(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> bytes:
    return msgspec.json.encode(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": "https://worker:6443"} | (cluster or {})}],
            "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        }
    )
