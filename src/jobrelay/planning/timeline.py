"""How much of each worker is in use over time, in a fixed number of intervals.

A level that changes in steps is kept as sums: by interval, the steps, and the steps times the moments at which they
happen. That is two additions for a step however long it lasts. The intervals double when time goes on beyond the last.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Final

_INTERVALS: Final = 240
_FIRST: Final = 1.0


class UseTimeline:
    """The level of each worker; workers are named by their position."""

    def __init__(self, workers: int) -> None:
        self.width = _FIRST
        """Seconds of one interval."""
        self._steps = [[0.0] * _INTERVALS for _ in range(workers)]
        self._moments = [[0.0] * _INTERVALS for _ in range(workers)]

    def step(self, worker: int, time: float, amount: float) -> None:
        """The level of a worker changes by an amount."""
        while time >= _INTERVALS * self.width:
            self._double()
        index = int(time / self.width)
        self._steps[worker][index] += amount
        self._moments[worker][index] += amount * time

    def means(self, worker: int, until: float) -> list[float]:
        """The mean level in each interval until a time, the last one up to that time."""
        while until > _INTERVALS * self.width:
            self._double()
        steps, moments, width = self._steps[worker], self._moments[worker], self.width
        count = math.ceil(until / width)
        before = accumulate(steps[:count], initial=0.0)
        means = []
        for index, level in zip(range(count), before, strict=False):
            end = min((index + 1) * width, until)
            means.append(level + (steps[index] * end - moments[index]) / (end - index * width))
        return means

    def _double(self) -> None:
        self.width *= 2
        for sums in (self._steps, self._moments):
            for row in sums:
                row[:] = [sum(row[at : at + 2]) for at in range(0, _INTERVALS, 2)] + [0.0] * (_INTERVALS // 2)
