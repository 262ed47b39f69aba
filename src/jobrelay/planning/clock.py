"""The virtual clock of a plan: it jumps from one event to the next."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualTimer:
    """An event that can be cancelled."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class VirtualClock:
    """A `jobrelay.kube.Clock`; `settle` is called after each event, before the time moves on."""

    def __init__(self, settle: Callable[[], None]) -> None:
        self._settle = settle
        self._time = 0.0
        self._order = 0
        self._events: list[tuple[float, int, VirtualTimer]] = []

    def now(self) -> datetime:
        return _START + timedelta(seconds=self._time)

    def monotonic(self) -> float:
        return self._time

    def call_later(self, seconds: float, callback: Callable[[], None]) -> VirtualTimer:
        """Call back in some seconds; events of the same time in the order of these calls."""
        timer = VirtualTimer(callback)
        self._order += 1
        heapq.heappush(self._events, (self._time + seconds, self._order, timer))
        return timer

    def run(self, until: float = math.inf) -> None:
        """Fire all events until a time, and move there; without one, until there are no more events."""
        while self._events and self._events[0][0] <= until:
            due, _, timer = heapq.heappop(self._events)
            if timer.callback is None:
                continue
            self._time = due
            timer.callback()
            self._settle()
        if until < math.inf:
            self._time = max(self._time, until)
