"""Sets of completion indexes as ordered intervals, the form in which they are kept in a Job's status.

Reading is lenient: a fragment that is no interval is skipped, and what lies beyond the Job's completions is forgotten,
which is how an Indexed Job shrinks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

from jobrelay.kinds.job.indexes import Interval

_INTEGER = re.compile(r"[+-]?[0-9]+")


class Indexes:
    """An immutable set of indexes."""

    __slots__ = ("_intervals",)

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self._intervals: tuple[Interval, ...] = tuple(intervals)

    @classmethod
    def of(cls, indexes: Iterable[int]) -> Indexes:
        return cls(_joined((index, index) for index in sorted(set(indexes))))

    @classmethod
    def parse(cls, text: str, completions: int) -> Indexes:
        """Read what a status or a rule says, as far as it lies below `completions`."""
        found: list[Interval] = []
        for part in text.split(",") if text else ():
            limits = part.split("-")
            if not all(_INTEGER.fullmatch(limit) for limit in limits[:2]):
                continue
            first = int(limits[0])
            if first >= completions:
                break
            last = min(int(limits[1]), completions - 1) if len(limits) > 1 else first
            if found and found[-1][1] == first - 1:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
        return cls(found)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self._intervals)

    def __bool__(self) -> bool:
        return bool(self._intervals)

    def __contains__(self, index: int) -> bool:
        place = bisect_left(self._intervals, index, key=lambda interval: interval[1])
        return place < len(self._intervals) and self._intervals[place][0] <= index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and self._intervals == other._intervals

    def __hash__(self) -> int:
        return hash(self._intervals)

    def __or__(self, other: Indexes) -> Indexes:
        if not other:
            return self
        return Indexes(_joined(sorted(self._intervals + other._intervals)))

    def common(self, other: Indexes) -> int:
        """How many indexes are in both."""
        count = i = j = 0
        mine, theirs = self._intervals, other._intervals
        while i < len(mine) and j < len(theirs):
            overlap = min(mine[i][1], theirs[j][1]) - max(mine[i][0], theirs[j][0]) + 1
            count += max(overlap, 0)
            if mine[i][1] <= theirs[j][1]:
                i += 1
            else:
                j += 1
        return count

    def missing(self, below: int) -> Iterator[int]:
        """The indexes below a limit that are not here, lowest first."""
        candidate = 0
        for first, last in self._intervals:
            yield from range(candidate, min(first, below))
            candidate = max(candidate, last + 1)
        yield from range(candidate, below)

    def __str__(self) -> str:
        """Runs of three and more as `a-b`, two as `a,b`."""
        parts = []
        for first, last in self._intervals:
            if last == first:
                parts.append(str(first))
            else:
                parts.append(f"{first}{',' if last == first + 1 else '-'}{last}")
        return ",".join(parts)

    __repr__ = __str__


def _joined(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Ordered intervals with those that touch made one."""
    held: Interval | None = None
    for first, last in intervals:
        if held is None:
            held = (first, last)
        elif first > held[1] + 1:
            yield held
            held = (first, last)
        else:
            held = (held[0], max(held[1], last))
    if held is not None:
        yield held


NONE: Final = Indexes()
