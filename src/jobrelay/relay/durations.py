"""How long workloads of each shape ran lately. Held in memory only: after a restart it is learnt anew."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

_FEWEST: Final = 3
"""Of fewer runs nothing is concluded."""
_LATELY: Final = 32
_MOST_SHAPES: Final = 4096


class DurationRange(NamedTuple):
    """In seconds: a quarter of the runs was shorter than `low`, a tenth longer than `high`."""

    low: float
    high: float

    def left(self, elapsed: float) -> DurationRange:
        """How much longer a run takes; one that already takes long may take as long again."""
        return DurationRange(max(self.low - elapsed, 0.0), self.high - elapsed if elapsed < self.high else elapsed)


class RunDurations:
    """The durations of the last runs by shape."""

    def __init__(self) -> None:
        self._runs: dict[str, deque[float]] = {}

    def add(self, shape: str, seconds: float) -> None:
        """A run of this shape has ended."""
        runs = self._runs.pop(shape, None) or deque(maxlen=_LATELY)
        runs.append(max(seconds, 0.0))
        if len(self._runs) >= _MOST_SHAPES:
            del self._runs[next(iter(self._runs))]  # the one that ended longest ago
        self._runs[shape] = runs

    def of(self, shape: str) -> DurationRange | None:
        """How long a run of this shape is expected to take; None if too few have ended."""
        runs = sorted(self._runs.get(shape, ()))
        if len(runs) < _FEWEST:
            return None
        return DurationRange(runs[len(runs) // 4], runs[-1 - len(runs) // 10])
