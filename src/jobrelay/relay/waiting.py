"""Workloads that no worker can take at present.

They are looked at again when something about the workers changes, and not all at once: workloads of one shape get the same
answer, so only the first few of each shape are tried, and each that finds a place calls up the next.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from jobrelay.kube.clock import Clock, Timer

__all__ = ["Waiting"]

T = TypeVar("T", bound=Hashable)


class Waiting(Generic[T]):
    """Tasks by shape, first come first served."""

    def __init__(self, clock: Clock, wake: Callable[[T], None], *, pause: float = 0.1, few: int = 16) -> None:
        self._clock, self._wake, self._pause, self._few = clock, wake, pause, few
        self._shapes: dict[str, dict[T, None]] = {}
        self._shape_of: dict[T, str] = {}
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._shape_of)

    def add(self, task: T, shape: str) -> None:
        if self._shape_of.get(task) == shape:
            return
        self.discard(task)
        self._shape_of[task] = shape
        self._shapes.setdefault(shape, {})[task] = None

    def discard(self, task: T) -> bool:
        """Forgets a task; whether it was waiting."""
        shape = self._shape_of.pop(task, None)
        if shape is None:
            return False
        alike = self._shapes[shape]
        del alike[task]
        if not alike:
            del self._shapes[shape]
        return True

    def placed(self, task: T) -> None:
        """One found a place: the next of its shape may find one too."""
        shape = self._shape_of.get(task)
        if self.discard(task) and shape in self._shapes:
            self._wake(next(iter(self._shapes[shape])))

    def changed(self) -> None:
        """Something about the workers changed; soon the first few are tried again."""
        if self._timer is None and self._shape_of:
            self._timer = self._clock.call_later(self._pause, self._try)

    def _try(self) -> None:
        self._timer = None
        for alike in list(self._shapes.values()):
            for task, _ in zip(list(alike), range(self._few), strict=False):
                self._wake(task)
