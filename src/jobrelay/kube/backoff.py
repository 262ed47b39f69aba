"""Exponential backoff with jitter."""

from __future__ import annotations

from random import Random

__all__ = ["Backoff"]


class Backoff:
    """Delays that grow by `factor` from `base` to `cap` seconds.

    Each is drawn between half and the whole of the current step, so that clients do not retry at the same time.
    """

    def __init__(self, base: float = 0.8, cap: float = 30.0, factor: float = 2.0, random: Random | None = None) -> None:
        self._base = base
        self._cap = cap
        self._factor = factor
        self._random = random or Random()
        self._step = base
        self.failures = 0

    def next(self) -> float:
        """The delay before the next attempt."""
        step, self._step = self._step, min(self._step * self._factor, self._cap)
        self.failures += 1
        return step * (0.5 + self._random.random() / 2)

    def reset(self) -> None:
        """Start again from the shortest delay, after a success."""
        self._step = self._base
        self.failures = 0
