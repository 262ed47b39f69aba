"""When waiting workloads will start: a range, from what is free, what runs, and how long earlier runs took.

The line is played twice, once with short and once with long durations: each workload starts when enough of those before
it have ended. All workers count as one, and no workload overtakes another, so it is an estimate and not a promise. Work
whose duration is not known keeps its room for ever; a workload that would need that room gets no estimate.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from jobrelay.relay.durations import DurationRange

Amounts: TypeAlias = Mapping[str, Fraction]


class LineWork(NamedTuple):
    """A workload that waits or runs: what all of its pods need, and how much longer it runs; None if not known."""

    needs: Amounts
    takes: DurationRange | None


class StartRange(NamedTuple):
    """In how many seconds a workload will start."""

    earliest: float
    latest: float


def estimate_starts(free: Amounts, running: Sequence[LineWork], waiting: Sequence[LineWork]) -> list[StartRange | None]:
    """The start of each waiting workload, in the order of the line; None where nothing is known."""
    low = _play(free, [(work.needs, work.takes and work.takes.low) for work in running], _durations(waiting, "low"))
    high = _play(free, [(work.needs, work.takes and work.takes.high) for work in running], _durations(waiting, "high"))
    known = [StartRange(*pair) for pair in zip(low, high, strict=False)]
    return [*known, *([None] * (len(waiting) - len(known)))]


def _durations(work: Iterable[LineWork], which: str) -> list[tuple[Amounts, float | None]]:
    return [(each.needs, getattr(each.takes, which, None)) for each in work]


def _play(
    free: Amounts, running: Iterable[tuple[Amounts, float | None]], waiting: Iterable[tuple[Amounts, float | None]]
) -> list[float]:
    """The starts of those that wait, up to the first that is not known."""
    now, left, starts = 0.0, dict(free), list[float]()
    ends = [(takes, number, needs) for number, (needs, takes) in enumerate(running) if takes is not None]
    heapq.heapify(ends)
    for number, (needs, takes) in enumerate(waiting, len(ends)):
        while any(left.get(name, 0) < amount for name, amount in needs.items()):
            if not ends:
                return starts
            now, _, ended = heapq.heappop(ends)
            for name, amount in ended.items():
                left[name] = left.get(name, Fraction(0)) + amount
        for name, amount in needs.items():
            left[name] -= amount
        starts.append(now)
        if takes is not None:
            heapq.heappush(ends, (now + takes, -1 - number, needs))
    return starts
