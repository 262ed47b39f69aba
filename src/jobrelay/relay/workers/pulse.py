"""Whether a worker is still there.

Watches last minutes, and a dead connection or a hung server looks just like a quiet one. So after some silence, or when
something else casts doubt on the worker, it is asked for a sign of life, and has little time to give it. While events,
bookmarks or answers arrive nothing is asked at all.

Doubt also asks who it is: a watch that breaks and can be opened again at once may mean that the server was replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from jobrelay.kube import Client, Clock, Forbidden, MethodNotAllowed, NotFound, TooManyRequests
from jobrelay.kube.clock import deadline
from jobrelay.relay.workers.guard import Guard
from jobrelay.relay.workers.timing import Timing

__all__ = ["Pulse"]

_ALIVE_ALL_THE_SAME = (Forbidden, NotFound, MethodNotAllowed, TooManyRequests)


class Pulse:
    """Feels the pulse of one worker; `recognise` raises KubeError if it is not the one that it was."""

    def __init__(self, guard: Guard, recognise: Callable[[], Awaitable[None]], *, clock: Clock, timing: Timing) -> None:
        self._recognise = recognise
        self._guard = guard
        self._clock = clock
        self._quiet = timing.quiet
        self._client = Client(guard, clock=clock, timeout=timing.answer, retries=0)
        self._doubt = asyncio.Event()

    def doubt(self) -> None:
        """Ask at once."""
        self._doubt.set()

    async def run(self) -> None:
        """Watch over a worker that is there; raises KubeError when it no longer is."""
        while True:
            left = self._guard.heard_at + self._quiet - self._clock.monotonic()
            doubted = await self._doubted(left)
            if left > 0 and not doubted:
                continue
            self._doubt.clear()
            await self._ask()
            if doubted:
                await self._recognise()

    async def _doubted(self, within: float) -> bool:
        try:
            async with deadline(self._clock, within):
                await self._doubt.wait()
        except TimeoutError:
            return False
        return True

    async def _ask(self) -> None:
        try:
            await self._client.call("GET", "/readyz")
        except _ALIVE_ALL_THE_SAME:
            return
