"""A management cluster with registered workers, all embedded and in this process, and a registry over them."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Connection, FakeClock, FaultyTransport, Transport, merge_patch
from jobrelay.kube.resource import JOBS, SECRETS
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.workers import ObjectSource, Registry, ensure_crds, ensure_namespace
from jobrelay.relay.workers.multikueue import CLUSTERS, CONFIGS
from jobrelay.relay.workers.tasks import until_first
from jobrelay.workloads import JobAdapter
from tests.relay.proofs import known_proofs

from .support import ORIGIN_HERE, Recording, advance, kubeconfig, running, settle

NAMESPACE = "jobrelay-system"
MKC = CLUSTERS["v1beta2"]


def server(name: str) -> str:
    return f"https://{name}:6443"


class RunningRegistry(Registry):
    """A registry that runs what its source needs of the leader too."""

    def __init__(self, client: Client, source: ObjectSource, *, writes: Callable[[], bool], **options: Any) -> None:
        super().__init__(client, source, writes=writes, **options)
        self._leading = source.leader_runnables(client, self.workers, RelayMetrics(), writes)

    async def run(self) -> None:
        await until_first(super().run(), *(each.run() for each in self._leading))


class Fleet:
    """Clusters by name; `management` is the one that everything is registered on."""

    def __init__(self, clusters: dict[str, Cluster], clock: FakeClock) -> None:
        self.clock = clock
        self.clusters = clusters
        self.ways = {
            server(name): FaultyTransport(cluster.transport(), clock=clock) for name, cluster in clusters.items()
        }
        self.outside = clusters["management"].client()
        self.seen = Recording(clusters["management"].transport())
        self.client = Client(self.seen, clock=clock)
        self.connected: list[Connection] = []

    def connect(self, worker: str, connection: Connection) -> Transport:
        self.connected.append(connection)
        return self.ways[connection.server]

    def registry(self, config: str | None = None, writes: Callable[[], bool] = lambda: True) -> RunningRegistry:
        source = ObjectSource(self.client, namespace=NAMESPACE, clock=self.clock, config=config, random=Random(2))
        return RunningRegistry(
            self.client,
            source,
            resources=[JOBS],
            pod_owner=JobAdapter().pod_owner,
            proofs=known_proofs(ORIGIN_HERE),
            namespace=NAMESPACE,
            connect=self.connect,
            clock=self.clock,
            random=Random(3),
            writes=writes,
        )

    async def secret(self, name: str, text: bytes | None = None, **user: str) -> None:
        """Create or change the Secret of a worker."""
        content = text if text is not None else kubeconfig({"server": server(name)}, user or None)
        metadata = {"name": f"{name}-secret", "namespace": NAMESPACE}
        data = {"kubeconfig": base64.b64encode(content).decode()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        await self.outside.apply(SECRETS, body, field_manager="test", force=True)

    async def register(self, name: str, **metadata: Any) -> None:
        source = {"kubeConfig": {"location": f"{name}-secret"}}
        body = {
            "apiVersion": MKC.api_version,
            "kind": MKC.kind,
            "metadata": {"name": name, **metadata},
            "spec": {"clusterSource": source},
        }
        await self.outside.create(MKC, body)

    async def annotate(self, name: str, **annotations: str) -> None:
        changed = {f"jobrelay.dev/{key}": value for key, value in annotations.items()}
        await self.outside.patch(MKC, name, merge_patch({"metadata": {"annotations": changed}}))

    async def config(self, name: str, *clusters: str) -> None:
        resource = CONFIGS["v1beta2"]
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
        await self.outside.apply(resource, body | {"spec": {"clusters": list(clusters)}}, field_manager="test")

    async def conditions(self, name: str) -> dict[str, dict[str, Any]]:
        found = (await self.outside.get(MKC, name)).decode()
        return {one["type"]: one for one in found.get("status", {}).get("conditions", ())}


@asynccontextmanager
async def fleet(clock: FakeClock, *workers: str) -> AsyncIterator[Fleet]:
    """A management cluster and these workers, with a Secret for each and the definitions installed."""
    async with AsyncExitStack() as stack:
        clusters = {
            name: await stack.enter_async_context(Cluster(controllers="none")) for name in ("management", *workers)
        }
        made = Fleet(clusters, clock)
        await ensure_crds(made.outside)
        await ensure_namespace(made.outside, NAMESPACE)
        for name in workers:
            await made.secret(name)
        yield made


@asynccontextmanager
async def registered(
    clock: FakeClock, *workers: str, config: str | None = None
) -> AsyncIterator[tuple[Fleet, Registry]]:
    """The same with all workers registered and their registry running."""
    async with fleet(clock, *workers) as made:
        for name in workers:
            await made.register(name)
        registry = made.registry(config)
        async with running(registry.run()):
            await settle(clock)
            await advance(clock, 2)
            yield made, registry
