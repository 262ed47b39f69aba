"""Waiting a little, so that a burst of changes is looked at once.

A key is due when nothing more was heard of it for a `quiet` time, and at the latest a `longest` time after the first change.
So a Job whose only pod ended is looked at soon, and one of whose hundred pods ten end every millisecond not all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jobrelay.kube.clock import Clock
from jobrelay.kube.objects import Key


@dataclass(slots=True)
class _Waiting:
    due: float
    latest: float


class Batcher:
    def __init__(self, clock: Clock, ring: Callable[[Key], None], *, quiet: float, longest: float) -> None:
        self._clock, self._ring = clock, ring
        self._quiet, self._longest = quiet, longest
        self._waiting: dict[Key, _Waiting] = {}

    def add(self, key: Key) -> None:
        now = self._clock.monotonic()
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.due = min(now + self._quiet, waiting.latest)
            return
        self._waiting[key] = _Waiting(now + self._quiet, now + self._longest)
        self._clock.call_later(self._quiet, lambda: self._look(key))

    def _look(self, key: Key) -> None:
        """The time that was first thought of has come; it may have moved."""
        left = self._waiting[key].due - self._clock.monotonic()
        if left > 0:
            self._clock.call_later(left, lambda: self._look(key))
            return
        del self._waiting[key]
        self._ring(key)
