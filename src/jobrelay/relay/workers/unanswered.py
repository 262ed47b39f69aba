"""Notices a worker that hangs by the requests that it does not answer.

A server that hangs keeps its connections open, so nothing breaks. While there are requests, silence is suspicious after
a few seconds; without any, only the `Heartbeat` finds out.

Time in which this process itself was stopped proves nothing: answers may have come and are not read yet. A timer that
is late shows it, and the time is counted anew.
"""

from __future__ import annotations

from collections.abc import Callable

from jobrelay.kube import Clock
from jobrelay.kube.clock import Timer

_LATE = 1.0


class UnansweredRequests:
    """Since when a worker has sent nothing although it was asked; `suspect` is called every `after` seconds of that."""

    def __init__(self, clock: Clock, after: float, suspect: Callable[[], None]) -> None:
        self._clock, self._after, self._suspect = clock, after, suspect
        self._pending = 0
        self._since: float | None = None
        self._timer: Timer | None = None
        self._timer_due = 0.0

    @property
    def silence(self) -> float:
        """For how many seconds requests have been unanswered; 0 if none is."""
        if self._since is None:
            return 0.0
        now = self._clock.monotonic()
        if self._timer is not None and now > self._timer_due + _LATE:
            self._since = now
            self.close()
            self._watch(self._after)
        return now - self._since

    @property
    def suspicious(self) -> bool:
        return self._since is not None and self.silence >= self._after

    @property
    def suspicion(self) -> float:
        """The silence, once it is suspicious; 0 before."""
        silence = self.silence
        return silence if silence >= self._after else 0.0

    def sent(self) -> None:
        """A request is sent."""
        self._pending += 1
        if self._since is None:
            self._since = self._clock.monotonic()
            self._watch(self._after)

    def ended(self) -> None:
        """A request has got its answer, or will get none."""
        self._pending -= 1

    def heard(self) -> None:
        """The worker has sent something."""
        self._since = self._clock.monotonic() if self._pending else None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self, seconds: float) -> None:
        if self._timer is None:
            self._timer_due = self._clock.monotonic() + seconds
            self._timer = self._clock.call_later(seconds, self._check)

    def _check(self) -> None:
        silence = self.silence
        self.close()
        if self._since is None:
            return
        suspicious = silence >= self._after
        self._watch(self._after if suspicious else self._after - silence)
        if suspicious:
            self._suspect()
