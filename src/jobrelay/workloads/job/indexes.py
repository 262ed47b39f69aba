"""Sets of completion indexes, as the intervals that `completedIndexes` and `failedIndexes` write.

They stay intervals all the way: `0-99999` is one pair of numbers, and a Job of that size is merged as fast as a small one.
"""

from __future__ import annotations

from collections.abc import Iterable

from jobrelay.kinds.job.indexes import IndexesError, Interval, count_indexes, parse_indexes

__all__ = ["Interval", "count_indexes", "join", "read_indexes", "without", "write_indexes"]

_NO_LIMIT = 2**31


def read_indexes(text: str, completions: int) -> list[Interval]:
    """The intervals of a list that are below `completions`; a list that cannot be read is none."""
    try:
        found = parse_indexes(text, _NO_LIMIT)
    except IndexesError:
        return []
    return [(first, min(last, completions - 1)) for first, last in found if 0 <= first < completions]


def join(left: Iterable[Interval], right: Iterable[Interval]) -> list[Interval]:
    """The indexes in either; neighbours become one interval."""
    joined: list[Interval] = []
    for first, last in sorted((*left, *right)):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def without(left: Iterable[Interval], right: Iterable[Interval]) -> list[Interval]:
    """The indexes of the first that are not in the second; both are in order."""
    rest: list[Interval] = []
    gaps = list(right)
    at = 0
    for start, last in left:
        first = start
        while at < len(gaps) and gaps[at][0] <= last:
            low, high = gaps[at]
            if low > first:
                rest.append((first, low - 1))
            first = max(first, high + 1)
            if high > last:
                break
            at += 1
        if first <= last:
            rest.append((first, last))
    return rest


def write_indexes(intervals: Iterable[Interval]) -> str:
    """The text of intervals in order, as the Job controller writes it: two neighbours are no range."""
    return ",".join(
        f"{first}-{last}" if last - first > 1 else ",".join(map(str, range(first, last + 1)))
        for first, last in intervals
    )
