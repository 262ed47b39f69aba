"""Clocks that can be injected.

Everything that waits, expires or backs off uses a `Clock`, so that tests and simulations control the time. A clock has
three methods: wall-clock time for what is written into objects, monotonic time for what is measured, and timers.
Sleeping and deadlines are built on timers.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

__all__ = [
    "Clock", "FakeClock", "SystemClock", "Timer", "deadline", "idle_deadline", "sleep",
]  # fmt: skip

_TICK = 0.0015
"""Loops may count rounded milliseconds from the last full one. With this much more, no timer fires before its time."""


class Timer(Protocol):
    """A scheduled callback that can be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """A source of time."""

    def now(self) -> datetime:
        """Wall-clock time, always with timezone UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never decrease, from an arbitrary start."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` from the event loop once `seconds` have passed."""
        ...


class SystemClock:
    """The machine's clock, with the running event loop's timers."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds + _TICK if seconds > 0 else 0, callback)


async def sleep(clock: Clock, seconds: float) -> None:
    """Return after `seconds` of the clock's time."""
    if seconds <= 0:
        await asyncio.sleep(0)
        return
    woken = asyncio.get_running_loop().create_future()
    timer = clock.call_later(seconds, partial(_wake, woken))
    try:
        await woken
    finally:
        timer.cancel()


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


class Deadline:
    """`asyncio.timeout` by a `Clock`: raises TimeoutError when the block takes longer than `seconds`."""

    __slots__ = ("_cancelling", "_clock", "_expired", "_seconds", "_task", "_timer")

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, max(seconds, 0)
        self._expired = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._timer = self._clock.call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Turn a cancellation by this deadline alone into a TimeoutError; let any other one pass."""
        self._timer.cancel()
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error


def deadline(clock: Clock, seconds: float) -> Deadline:
    """A block that must not take longer than `seconds`."""
    return Deadline(clock, seconds)


@asynccontextmanager
async def idle_deadline(clock: Clock, seconds: float | None, last_activity: Callable[[], float]) -> AsyncIterator[None]:
    """Raise TimeoutError once the monotonic time `last_activity()` is `seconds` ago; never if `seconds` is None."""
    if seconds is None:
        yield
        return
    loop, limit = asyncio.get_running_loop(), seconds
    timer: Timer

    def check() -> None:
        nonlocal timer
        left = last_activity() + limit - clock.monotonic()
        if left <= 0:
            scope.reschedule(loop.time())
        else:
            timer = clock.call_later(left, check)

    async with asyncio.timeout(None) as scope:
        timer = clock.call_later(limit, check)
        try:
            yield
        finally:
            timer.cancel()


class _FakeTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """A clock for tests that moves only by `await clock.advance(seconds)`.

    That fires each timer at its own time and runs the event loop before the next, so that chains of sleeps behave as in
    real time.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, _FakeTimer]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        timer = _FakeTimer(callback)
        heapq.heappush(self._timers, (self._elapsed + max(seconds, 0), next(self._order), timer))
        return timer

    @property
    def next_timer(self) -> float | None:
        """Seconds until the earliest timer, None if there is none."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] - self._elapsed if self._timers else None

    async def advance(self, seconds: float) -> None:
        """Move the time forward and fire the timers that become due."""
        target = self._elapsed + seconds
        await self.settle()
        while (wait := self.next_timer) is not None and self._elapsed + wait <= target:
            due, _, timer = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, due)
            if timer.callback is not None:
                timer.callback()
            await self.settle()
        self._elapsed = target

    async def settle(self, turns: int = 25) -> None:
        """Run the tasks that are ready, without moving the time."""
        for _ in range(turns):
            await asyncio.sleep(0)
