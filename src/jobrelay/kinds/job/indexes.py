"""Index lists such as `0,2-5,9`: how `completedIndexes`, `failedIndexes` and `succeededIndexes` are written.

A list is a row of intervals in strictly increasing order, every index below the Job's completions. Errors are the
server's own words, because they end up in field errors.
"""

from __future__ import annotations

import re

from jobrelay.kinds.field import go_quote

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


def count_indexes(intervals: list[Interval]) -> int:
    return sum(last - first + 1 for first, last in intervals)


def format_indexes(indexes: list[int]) -> str:
    """The text of sorted, distinct indexes: runs of three or more become `a-b`, two stay `a,b`."""
    parts: list[str] = []
    start = 0
    for position, index in enumerate(indexes):
        if position + 1 < len(indexes) and indexes[position + 1] == index + 1:
            continue
        first, length = indexes[start], position - start + 1
        if length > 2:
            parts.append(f"{first}-{index}")
        else:
            parts.extend(str(i) for i in indexes[start : position + 1])
        start = position + 1
    return ",".join(parts)


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
    if not _INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return int(text)


def _not_increasing(previous: int, current: int) -> str:
    return f"non-increasing order, previous: {previous}, current: {current}"
