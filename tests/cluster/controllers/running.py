"""Controllers at work on an API server without a network, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from jobrelay.cluster.controllers.garbage import GarbageCollector
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.control import ControllerContext
from jobrelay.kube.clock import FakeClock

from ..apiserver.serving import ADMIN, START, Server


class World:
    """A server, a clock that both share, and a context for controllers."""

    def __init__(self) -> None:
        self.server = Server()
        self.clock = FakeClock(START)
        self.server.services.now = self.clock.now
        self.context = ControllerContext(InProcessTransport(lambda: self.server.api, ADMIN), clock=self.clock)

    async def pass_(self, seconds: float = 0) -> None:
        """Lets time pass, and everything that follows from it happen."""
        await self.clock.advance(seconds)
        for _ in range(8):
            await self.clock.settle()

    async def get(self, path: str) -> dict[str, Any]:
        return await self.server.ok("GET", path)

    async def names(self, path: str) -> list[str]:
        return (await self.server.call("GET", path)).names


@asynccontextmanager
async def world(*set_ups: Callable[[ControllerContext], None]) -> AsyncIterator[World]:
    """A world with these controllers and the garbage collector."""
    made = World()
    GarbageCollector(made.server.services).start()
    for set_up in set_ups:
        set_up(made.context)
    running = asyncio.create_task(made.context.manager.run())
    await made.pass_()
    try:
        yield made
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        made.server.api.watches.close()
