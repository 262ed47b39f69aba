"""Index lists such as `0,2-5,9`: how `completedIndexes`, `failedIndexes` and `succeededIndexes` are written.

A list is a row of intervals in strictly increasing order, every index below the Job's completions. It is read in two
ways. The API server checks it (`parse_indexes`); errors have the server's texts, because they become field errors.
Controllers read a stored list leniently (`Indexes.parse`): a fragment that is out of order or no interval is skipped,
and indexes beyond the Job's completions are dropped, which is how an Indexed Job is scaled down.

Sets of indexes stay intervals all the way: `0-99999` is one pair of numbers, and a Job of that size costs what a small
one does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.goint import read_int

Interval = tuple[int, int]
_INTEGER = re.compile(r"[+-]?[0-9]+")


class IndexesError(ValueError):
    """A text that is not a list of indexes."""


def parse_indexes(text: str, completions: int) -> list[Interval]:
    """The intervals of a list, both ends included; raises IndexesError."""
    found: list[Interval] = []
    for part in text.split(",") if text else ():
        interval = _parse_interval(part, completions)
        if found and found[-1][1] >= interval[0]:
            raise IndexesError(_not_increasing(found[-1][1], interval[0]))
        found.append(interval)
    return found


def count_indexes(intervals: Iterable[Interval]) -> int:
    return sum(last - first + 1 for first, last in intervals)


def first_overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that is in both lists. Intervals that cannot be read are skipped: another check names them."""
    left, right = _readable(completed, completions), _readable(failed, completions)
    i = j = 0
    while i < len(left) and j < len(right):
        (low, high), (other_low, other_high) = left[i], right[j]
        if low <= other_high and other_low <= high:
            return max(low, other_low)
        if low <= other_low:
            i += 1
        else:
            j += 1
    return None


def _readable(text: str, completions: int) -> list[Interval]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(_parse_interval(part, completions))
        except IndexesError:
            continue
    return found


def _parse_interval(part: str, completions: int) -> Interval:
    limits = part.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f"the fragment {go_quote(part)} violates the requirement that an index interval can have at most two parts "
            "separated by '-'"
        )
    first = _parse_index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    last = _parse_index(limits[1], completions)
    if first >= last:
        raise IndexesError(_not_increasing(first, last))
    return first, last


def _parse_index(text: str, completions: int) -> int:
    if not _INTEGER.fullmatch(text) or not -(2**63) <= (index := read_int(text)) < 2**63:
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    if index >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return index


def _not_increasing(previous: int, current: int) -> str:
    return f"non-increasing order, previous: {previous}, current: {current}"


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
        """Reads the indexes of a status or a rule that are below `completions`."""
        found: list[Interval] = []
        for part in text.split(",") if text else ():
            limits = part.split("-")
            if not all(_INTEGER.fullmatch(limit) for limit in limits[:2]):
                continue
            first, last = read_int(limits[0]), read_int(limits[1] if len(limits) > 1 else limits[0])
            if first >= completions:
                break
            if last < first or (found and first <= found[-1][1]):
                continue
            last = min(last, completions - 1)
            if found and found[-1][1] == first - 1:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
        return cls(found)

    def __len__(self) -> int:
        return count_indexes(self._intervals)

    def __bool__(self) -> bool:
        return bool(self._intervals)

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(range(first, last + 1) for first, last in self._intervals)

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

    def __sub__(self, other: Indexes) -> Indexes:
        return Indexes(_without(self._intervals, other._intervals))

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


def _without(left: Iterable[Interval], right: Sequence[Interval]) -> Iterator[Interval]:
    """What the first has and the second has not; both are in order."""
    at = 0
    for start, last in left:
        first = start
        while at < len(right) and right[at][0] <= last:
            low, high = right[at]
            if low > first:
                yield first, low - 1
            first = max(first, high + 1)
            if high > last:
                break
            at += 1
        if first <= last:
            yield first, last


NONE: Final = Indexes()
