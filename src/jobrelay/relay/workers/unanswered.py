"""Notices a worker that hangs by the requests that it does not answer.

A server that hangs keeps its connections open, so nothing breaks. While there are requests, silence is suspicious after
a few seconds; without any, only the `Heartbeat` finds out.

Time in which this process itself was stopped proves nothing: answers may have come and are not read yet. So silence is
counted in short ticks, and one that comes late does not count. A process that merely gets little of its processor still
notices, only later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jobrelay.kube import Clock
from jobrelay.kube.clock import Timer

_LATE: Final = 1.0
_TICKS: Final = 4
"""In how many ticks silence becomes suspicious."""
_SHORTEST: Final = 0.01
"""A tick is never so short that the clock does not go on."""


class UnansweredRequests:
    """How long a worker has sent nothing although it was asked; `suspect` is called every `after` seconds of that."""

    def __init__(self, clock: Clock, after: float, suspect: Callable[[], None]) -> None:
        self._clock, self._after, self._suspect = clock, after, suspect
        self._tick = after / _TICKS
        self._pending = 0
        self._silence: float | None = None
        self._counted_at = 0.0
        self._suspect_at = after
        self._timer: Timer | None = None

    @property
    def silence(self) -> float:
        """For how many seconds requests have been unanswered; 0 if none is."""
        if self._silence is None:
            return 0.0
        now = self._clock.monotonic()
        elapsed, self._counted_at = now - self._counted_at, now
        if elapsed <= self._tick + _LATE:
            self._silence += elapsed
        return self._silence

    @property
    def suspicious(self) -> bool:
        return self.suspicion > 0

    @property
    def suspicion(self) -> float:
        """The silence, once it is suspicious; 0 before."""
        silence = self.silence
        return silence if silence >= self._after else 0.0

    def sent(self) -> None:
        """A request is sent."""
        self._pending += 1
        if self._silence is None:
            self._begin()

    def ended(self) -> None:
        """A request has got its answer, or will get none."""
        self._pending -= 1

    def heard(self) -> None:
        """The worker has sent something."""
        if self._pending:
            self._begin()
        else:
            self._silence = None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        self._silence, self._counted_at, self._suspect_at = 0.0, self._clock.monotonic(), self._after
        self._watch(self._tick)

    def _watch(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = self._clock.call_later(seconds, self._check)

    def _check(self) -> None:
        self.close()
        if self._silence is None:
            return
        silence = self.silence
        suspicious = silence >= self._suspect_at
        if suspicious:
            self._suspect_at = silence + self._after
        self._watch(min(self._tick, max(self._suspect_at - silence, _SHORTEST)))
        if suspicious:
            self._suspect()
