"""Whether the relay or Kueue itself is the controller of an AdmissionCheck.

Both would write the condition `Active` of the check, and Kueue's controller puts its own text back whenever it sees
another one. So the relay writes a text that names it. If that is still there after a while, nobody else is at work and
the check is ours; if it was replaced, Kueue's own controller is on, and the relay stays out and tries again much later.
A check that has our text when the relay starts has been ours all the time.
"""

from __future__ import annotations

from typing import Final

from jobrelay.kube import Clock

MARK: Final = "jobrelay is its controller"
"""Ends the message of our condition."""
SETTLE: Final = 3.0
"""How long our text must have stayed, in seconds."""
_STAY_OUT: Final = 120.0


class CheckClaims:
    """What is known of each check by its name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._claimed: dict[str, float] = {}
        """When our condition was first written, in monotonic time."""
        self._contested: dict[str, float] = {}
        """When it was found replaced."""

    def seen(self, check: str, message: str) -> None:
        """The message of a check's condition, as it is now."""
        ours, now = message.endswith(MARK), self._clock.monotonic()
        if ours and check not in self._claimed:
            self._claimed[check] = now - SETTLE  # it was there when this process started
        elif not ours and check in self._claimed:
            del self._claimed[check]
            self._contested[check] = now

    def written(self, check: str) -> None:
        """Our condition was written."""
        self._claimed.setdefault(check, self._clock.monotonic())

    def may_write(self, check: str) -> bool:
        """Whether our condition may be written: it is ours, or it is time to find out."""
        return self.stays_out(check) <= 0

    def stays_out(self, check: str) -> float:
        """How many more seconds the relay leaves the check to another controller."""
        since = self._contested.get(check)
        return max(0.0, since + _STAY_OUT - self._clock.monotonic()) if since is not None else 0.0

    def settles_in(self, check: str) -> float | None:
        """The seconds until a check is ours, 0 if it is; None if it was not claimed."""
        since = self._claimed.get(check)
        return max(0.0, since + SETTLE - self._clock.monotonic()) if since is not None else None

    def is_ours(self, check: str) -> bool:
        return self.settles_in(check) == 0.0

    def forget(self, check: str) -> None:
        """A check was deleted."""
        self._claimed.pop(check, None)
        self._contested.pop(check, None)
