"""Checks that a worker is still alive.

Watches last minutes, and a dead connection or a hung server looks like a quiet one. So after some silence, when a watch
has broken, or when requests are unanswered, the worker's `/readyz` is requested with a short timeout. While events,
bookmarks or replies arrive nothing is requested. A worker that runs nothing for us may be silent for longer.

After a broken watch the identity is checked too: if the watch can be reopened at once, the server may have been
replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from jobrelay.kube import Client, Clock, Forbidden, MethodNotAllowed, NotFound, TooManyRequests
from jobrelay.kube.clock import deadline
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.transport import WorkerTransport

_ALIVE = (Forbidden, NotFound, MethodNotAllowed, TooManyRequests)


class Heartbeat:
    """Checks one worker; more often while it is `busy`.

    `check_identity` raises KubeError if it is not the same cluster as before; `answered` is called after each success.
    """

    def __init__(
        self,
        transport: WorkerTransport,
        check_identity: Callable[[], Awaitable[None]],
        answered: Callable[[], None],
        busy: Callable[[], bool],
        *,
        clock: Clock,
        timing: Timing,
    ) -> None:
        self._transport, self._check_identity, self._answered = transport, check_identity, answered
        self._busy, self._clock, self._timing = busy, clock, timing
        self._client = Client(transport, clock=clock, timeout=timing.answer, retries=0)
        self._request = asyncio.Event()

    def check_now(self) -> None:
        """Check at once, identity included."""
        self._request.set()

    async def run(self) -> None:
        """Check until cancelled; raises KubeError when the worker does not answer or is another cluster."""
        while True:
            requested = await self._requested(min(self._left(), self._timing.quiet))
            if not requested and self._left() > 0:
                continue
            self._request.clear()
            with suppress(*_ALIVE):
                await self._client.call("GET", "/readyz")
            if requested:
                await self._check_identity()
            self._answered()

    def _left(self) -> float:
        """The seconds until the silence is long enough for a heartbeat."""
        quiet = self._timing.quiet if self._busy() else self._timing.idle_quiet
        return self._transport.heard_at + quiet - self._clock.monotonic()

    async def _requested(self, within: float) -> bool:
        try:
            async with deadline(self._clock, within):
                await self._request.wait()
        except TimeoutError:
            return False
        return True
