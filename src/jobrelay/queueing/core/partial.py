"""Partial admission: the largest number of pods, between the minimum and all, with which a workload can start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from .model import PodSetInfo

Found = TypeVar("Found")


def fewer_pods(pod_sets: Iterable[PodSetInfo], attempt: Callable[[tuple[int, ...]], Found | None]) -> Found | None:
    """The first success of `attempt` with the counts of a binary search; None where there is none.

    Pod sets shrink together: each by the same part of what it may lose.
    """
    counts = [each.count for each in pod_sets]
    spare = [each.count - (each.count if each.min_count is None else each.min_count) for each in pod_sets]
    total = sum(spare)
    low, high, best, best_at = 0, total + 1, None, -1
    while total > 0 and low < high:
        middle = (low + high) // 2
        reduced = tuple(count - lose * middle // total for count, lose in zip(counts, spare, strict=True))
        found = attempt(reduced)
        if found is None:
            low = middle + 1
        else:
            high, best, best_at = middle, found, middle
    return best if low == best_at else None
