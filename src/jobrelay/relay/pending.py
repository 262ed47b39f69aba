"""Workloads that no worker can take at present.

They are tried again when something about the workers changes, but not all at once. Workloads of one shape get the same
answer, so only the first few of each shape are tried, and each one that is placed has the next one tried.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

from jobrelay.kube.clock import Clock, Timer

T = TypeVar("T", bound=Hashable)


class PendingWorkloads(Generic[T]):
    """Workloads by shape, first in first out; `enqueue` has one tried again."""

    def __init__(self, clock: Clock, enqueue: Callable[[T], None], *, pause: float = 0.1, few: int = 16) -> None:
        self._clock, self._enqueue, self._pause, self._few = clock, enqueue, pause, few
        self._shapes: dict[str, dict[T, None]] = {}
        self._shape_of: dict[T, str] = {}
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._shape_of)

    def __iter__(self) -> Iterator[T]:
        return iter(self._shape_of)

    def add(self, workload: T, shape: str) -> None:
        if self._shape_of.get(workload) == shape:
            return
        self.discard(workload)
        self._shape_of[workload] = shape
        self._shapes.setdefault(shape, {})[workload] = None

    def discard(self, workload: T) -> bool:
        """Remove a workload; returns whether it was pending."""
        shape = self._shape_of.pop(workload, None)
        if shape is None:
            return False
        alike = self._shapes[shape]
        del alike[workload]
        if not alike:
            del self._shapes[shape]
        return True

    def placed(self, workload: T) -> None:
        """Remove a workload that was placed, and have the next one of its shape tried."""
        shape = self._shape_of.get(workload)
        if self.discard(workload) and shape in self._shapes:
            self._enqueue(next(iter(self._shapes[shape])))

    def retry_soon(self) -> None:
        """Something about the workers changed: have the first few of each shape tried after a short pause."""
        if self._timer is None and self._shape_of:
            self._timer = self._clock.call_later(self._pause, self._retry)

    def close(self) -> None:
        """Cancel the timer of `retry_soon`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _retry(self) -> None:
        self._timer = None
        for alike in list(self._shapes.values()):
            for workload, _ in zip(list(alike), range(self._few), strict=False):
                self._enqueue(workload)
