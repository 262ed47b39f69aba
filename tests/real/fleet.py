"""The fleet of `tests/relay/fleets.py` on real clusters, which all tests share.

Its relay is who it would be in production: on the management cluster the service account of `jobrelay install`, on each
worker that of `jobrelay worker join`, with a role in namespace `default` alone. Tests themselves act as administrators.
There are two exceptions, which are all there are: a test that is about nodes joins its workers with the right to read
them, and one in which the relay is to create namespaces gives it administrators' kubeconfigs, as `jobrelay worker add`
would, since `join` has no such right to give.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import AlreadyExists, Connection, FaultyTransport, Kubeconfig
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import NAMESPACES
from jobrelay.operate.applying import ignore
from jobrelay.operate.joining import JoinRequest, join
from jobrelay.operate.registry import unregister_worker
from jobrelay.relay.workers import Timing
from tests.operate.fleets import install, worker_kubeconfig
from tests.real.clusters import Planes, RealCluster, empty, reached
from tests.relay.fleets import NAMESPACE, ORIGIN, QUICK, Fleet, worker_names
from tools.kube.nodes import nodes as running_nodes

MANAGEMENT = "management"
SERVED = ("default",)


class RealFleet(Fleet):
    """A fleet whose relay has an identity of its own on each cluster."""

    planes: Planes
    stack: AsyncExitStack

    async def limit(self, *, cluster_wide: bool, workers_too: bool) -> None:
        """Exchange the ways to all clusters, and say what they serve."""
        known = dict(self.planes.ways)
        if MANAGEMENT not in known:
            self.planes.ways[MANAGEMENT] = None, await install(self)
        self.home = await self._link(self.planes.ways[MANAGEMENT][1])
        for name in self.workers if workers_too else ():
            await self._join(name, SERVED, cluster_wide=cluster_wide)
        if known != self.planes.ways:
            await empty(self.client)

    async def open_namespace(self, namespace: str, *workers: str) -> None:
        await super().open_namespace(namespace, *workers)
        for name in workers:
            await self._join(name, (*SERVED, namespace))

    async def be_own_worker(self, worker: str) -> None:
        self.workers[worker] = self.management
        await self._join(worker, SERVED)

    async def _join(self, worker: str, namespaces: tuple[str, ...], *, cluster_wide: bool = False) -> None:
        """Identities outlast tests, and are made again only if a test wants other rights."""
        there = self.workers[worker]
        asked = JoinRequest(
            name=worker, namespaces=namespaces, relay_namespace=NAMESPACE, origin=ORIGIN, cluster_wide=cluster_wide
        )
        known = self.planes.ways.get(str(there.kubeconfig))
        if known is None or known[0] != asked:
            assert isinstance(there, RealCluster)
            await join(self.client, there.client(), there.connection, asked, ignore)
            known = asked, Kubeconfig.inline(await worker_kubeconfig(self, worker)).connection()
            self.planes.ways[str(there.kubeconfig)] = known
            await unregister_worker(self.client, worker, NAMESPACE)
        self.links[worker] = await self._link(known[1])
        specs = self.source.specs
        self.source.change(specs | {worker: replace(specs[worker], namespaces=namespaces)})

    async def _link(self, way: Connection) -> FaultyTransport:
        return FaultyTransport(await self.stack.enter_async_context(NetworkTransport(way)))


class RealFleets:
    """Makes fleets of the planes of a session, one at a time: who comes meanwhile waits."""

    def __init__(self, planes: Planes) -> None:
        self._planes = planes
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def fleet(
        self,
        workers: int = 2,
        *,
        start: bool = True,
        nodes: NodeSettings | None = None,
        timing: Timing = QUICK,
        **settings: Any,
    ) -> AsyncIterator[Fleet]:
        """A running fleet; all of it but the clusters ends with it."""
        names = worker_names(workers)
        planes = self._planes.get([MANAGEMENT, *names])
        async with self._turn, AsyncExitStack() as stack:
            home, *others = await asyncio.gather(*(stack.enter_async_context(reached(plane)) for plane in planes))
            for each in others:
                await stack.enter_async_context(running_nodes(each.connection, nodes))
            with suppress(AlreadyExists):
                await home.client().create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
            found = RealFleet(home, dict(zip(names, others, strict=True)), timing, **settings)
            found.planes, found.stack = self._planes, stack
            await found.limit(cluster_wide=nodes is not None, workers_too=not settings.get("create_namespaces"))
            stack.push_async_callback(found.kill)
            if start:
                await found.start()
            yield found
