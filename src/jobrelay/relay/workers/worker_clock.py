"""A worker's clock, read from the `Date` of its answers.

Leases end by the worker's clock, so the relay reckons them in it. An answer was dated between the request and its
arrival, and the header has whole seconds: that gives an interval for the difference between the worker's clock and this
process's monotonic time, whatever the time on this machine's own wall is. Each answer narrows the interval. One that
contradicts it proves that the worker's clock was put forward or back, and the reckoning starts over.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from jobrelay.kube import Clock
from jobrelay.relay.model import ClockReading

_RESOLUTION: Final = 1.0
_DRIFT: Final = 0.001
"""How fast the two clocks may drift apart, in seconds per second: clocks are slewed at no more than half of this."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class WorkerClock:
    """Keeps the best estimate of one worker's clock; `clock` is that of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_date = ""
        self._bounds: tuple[float, float] | None = None
        """The least and the greatest difference between the worker's time and this process's monotonic time."""
        self._at = 0.0
        """When the bounds were found."""
        self._jump = 0.0
        self._steady_since = 0.0

    def answered(self, date: str, sent: float) -> None:
        """An answer with this `Date` arrived just now; `sent` is when the request was sent, in monotonic time.

        Of answers with the same date only the first counts, so that this costs next to nothing.
        """
        if not date or date == self._last_date:
            return
        self._last_date = date
        try:
            dated = (parsedate_to_datetime(date).astimezone(UTC) - _EPOCH).total_seconds()
        except (ValueError, OverflowError):
            return
        self._narrow(dated - self._clock.monotonic(), dated + _RESOLUTION - sent)

    def start_over(self) -> None:
        """Forget everything: the worker is another cluster."""
        self._last_date, self._bounds, self._jump = "", None, 0.0

    @property
    def reading(self) -> ClockReading | None:
        """The worker's clock now; None while it is unknown."""
        bounds, now = self._widened(), self._clock.monotonic()
        if bounds is None:
            return None
        least, greatest = bounds
        earliest = _EPOCH + timedelta(seconds=now + least)
        return ClockReading(earliest, greatest - least, self._jump, now - self._steady_since)

    def _widened(self) -> tuple[float, float] | None:
        if self._bounds is None:
            return None
        drift = _DRIFT * (self._clock.monotonic() - self._at)
        return self._bounds[0] - drift, self._bounds[1] + drift

    def _narrow(self, least: float, greatest: float) -> None:
        known, now = self._widened(), self._clock.monotonic()
        if known is None:
            self._steady_since = now
        elif greatest < known[0] or known[1] < least:
            self._jump, self._steady_since = (least + greatest - known[0] - known[1]) / 2, now
        else:
            least, greatest = max(least, known[0]), min(greatest, known[1])
        self._bounds, self._at = (least, greatest), now
