"""The fleet of `tests/relay/fleets.py` on real clusters, which all tests share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import AlreadyExists
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.workers import Timing
from tests.real.clusters import Planes, reached
from tests.relay.fleets import NAMESPACE, QUICK, Fleet, worker_names
from tools.kube.nodes import nodes as running_nodes


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
        planes = self._planes.get(["management", *names])
        async with self._turn, AsyncExitStack() as stack:
            home, *others = await asyncio.gather(*(stack.enter_async_context(reached(plane)) for plane in planes))
            for each in others:
                await stack.enter_async_context(running_nodes(each.connection, nodes))
            with suppress(AlreadyExists):
                await home.client().create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
            found = Fleet(home, dict(zip(names, others, strict=True)), timing, **settings)
            stack.push_async_callback(found.kill)
            if start:
                await found.start()
            yield found
