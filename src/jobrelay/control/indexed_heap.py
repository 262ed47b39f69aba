"""A heap whose entries can be replaced and removed by key.

`heapq` cannot remove from the middle, so removed entries stay in the heap and are skipped at its top. When they are
more than half, the heap is rebuilt, which keeps operations logarithmic and memory proportional to the number of keys.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["IndexedHeap"]

K = TypeVar("K", bound=Hashable)

_REBUILD_FROM = 64


class IndexedHeap(Generic[K]):
    """Keys ordered by rank, the lowest first; equal ranks in the order of `push`."""

    def __init__(self) -> None:
        self._entries: dict[K, tuple[float, int, K]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def rank(self, key: K) -> float | None:
        """The rank of a key, None if it is not in the heap."""
        entry = self._entries.get(key)
        return entry[0] if entry else None

    def push(self, key: K, rank: float) -> None:
        """Add a key, or give it a new rank."""
        entry = self._entries[key] = (rank, next(self._order), key)
        heapq.heappush(self._heap, entry)
        if len(self._heap) > max(_REBUILD_FROM, 2 * len(self._entries)):
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)

    def discard(self, key: K) -> None:
        """Remove a key if it is in the heap."""
        self._entries.pop(key, None)

    def first(self) -> tuple[K, float] | None:
        """The key with the lowest rank, and that rank."""
        while self._heap:
            rank, _, key = entry = self._heap[0]
            if self._entries.get(key) is entry:
                return key, rank
            heapq.heappop(self._heap)
        return None

    def oldest(self) -> K:
        """The key that was pushed first, whatever its rank."""
        return next(iter(self._entries))

    def clear(self) -> None:
        """Remove everything."""
        self._entries.clear()
        self._heap.clear()
