"""What runs beside the API server: controllers and nodes."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from jobrelay.cluster import node
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.controllers.catalog import (
    API_CONTROLLERS,
    CUSTOM_CONTROLLERS,
    NAMESPACE,
    STORE_CONTROLLERS,
    StoreController,
)
from jobrelay.cluster.controllers.namespaces import NamespaceController
from jobrelay.cluster.node import NodeSettings
from jobrelay.control import ControllerContext
from jobrelay.kube.clock import Clock
from jobrelay.kube.transport import Transport
from jobrelay.logs import get_logger

log = get_logger(__name__)


class ControlPlane:
    """Runs nodes, and those of the named controllers that work through the API.

    `nodes` and `collectors` are what the API server serves of them: logs and exec, and their part of `/metrics`.
    """

    def __init__(self, transport: Transport, names: frozenset[str], settings: NodeSettings, clock: Clock) -> None:
        context = ControllerContext(transport, clock=clock, timeout=None)
        for name, set_up in (API_CONTROLLERS | CUSTOM_CONTROLLERS).items():
            if name in names:
                set_up(context)
        self.nodes = node.set_up(context, settings)
        self.collectors = context.collectors
        self._manager = context.manager
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._manager.members:
            self._running = asyncio.create_task(self._manager.run(), name="controllers")
            self._running.add_done_callback(_log_failure)

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError, Exception):  # a failure was logged when it happened
                await self._running
            self._running = None


class StoreControllers:
    """Runs those of the named controllers that react to the store's commits."""

    def __init__(self, services: ServerContext, authority: bytes, names: frozenset[str]) -> None:
        self._running: list[StoreController] = [NamespaceController(services, authority)] if NAMESPACE in names else []
        self._running += [make(services) for name, make in STORE_CONTROLLERS.items() if name in names]

    def start(self) -> None:
        for controller in self._running:
            controller.start()

    def stop(self) -> None:
        for controller in self._running:
            controller.stop()


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the controllers have stopped", exc_info=error)
