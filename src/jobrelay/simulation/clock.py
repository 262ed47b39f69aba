"""The clocks of simulated machines: one time for all, and what each machine takes it for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from jobrelay.kube import Clock
from jobrelay.kube.clock import Timer
from jobrelay.simulation.loop import VirtualLoop

START = datetime(2026, 1, 1, tzinfo=UTC)
_TICK = 1e-6  # time passes between any two looks at a clock, however short the wait


class SimulatedClock(Clock):
    """Virtual time, read off a clock on the wall that may be `ahead` of it by some seconds, or behind."""

    def __init__(self, loop: VirtualLoop, ahead: float = 0.0) -> None:
        self._loop = loop
        self.ahead = ahead

    def now(self) -> datetime:
        return START + timedelta(seconds=self._loop.time() + self.ahead)

    def monotonic(self) -> float:
        return self._loop.time()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return self._loop.call_later(max(seconds, _TICK), callback)
