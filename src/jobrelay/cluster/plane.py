"""The control plane beside the API server: controllers and nodes, started and stopped together."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from jobrelay.cluster import node
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.controllers.catalog import AT_ONCE, NAMESPACE, THROUGH_API
from jobrelay.cluster.controllers.context import Context
from jobrelay.cluster.controllers.namespaces import Namespaces
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube.clock import Clock
from jobrelay.kube.transport import Transport

log = structlog.get_logger(__name__)


class ControlPlane:
    """Runs the controllers whose names are given, and the nodes that the settings describe."""

    def __init__(
        self,
        services: Services,
        transport: Transport,
        authority: bytes,
        names: frozenset[str],
        nodes: NodeSettings,
        clock: Clock | None = None,
    ) -> None:
        self._services, self._names, self._nodes = services, names, nodes
        self._namespaces = Namespaces(services, authority)
        self._context = Context(transport, clock=clock, timeout=None)
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        if NAMESPACE in self._names:
            self._namespaces.start()
        for name, start in AT_ONCE.items():
            if name in self._names:
                start(self._services)
        chosen = [set_up for name, set_up in THROUGH_API.items() if name in self._names]
        for set_up in chosen:
            set_up(self._context)
        pool = node.set_up(self._context, self._nodes)
        self._services.nodes = pool
        self._services.collectors = list(self._context.collectors)
        if chosen or pool is not None:
            self._running = asyncio.create_task(self._context.manager.run(), name="controllers")
            self._running.add_done_callback(_tell_end)

    async def stop(self) -> None:
        self._namespaces.stop()
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError, Exception):  # what ended it was told when it happened
                await self._running
            self._running = None


def _tell_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the controllers have ended", exc_info=error)
