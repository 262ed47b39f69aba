"""How long a failed pod waits for its replacement.

A Job remembers its failures since the last success and when the last of them was; each doubles the delay. With a limit
per index every index waits on its own, and its state are the annotations of its last failed pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jobrelay.cluster.controllers.job.pods import finish_time, index_failures, index_ignored_failures
from jobrelay.cluster.controllers.job.views import Pod, Time

FIRST_DELAY: Final = 10.0
LONGEST_DELAY: Final = 600.0


@dataclass(frozen=True, slots=True)
class BackoffRecord:
    """Failures in a row and the time of the last one."""

    failures: int = 0
    last: Time | None = None

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> BackoffRecord:
        """What is remembered once these pods have ended: only failures later than the latest success matter."""
        failures = sorted(finish_time(pod) for pod in failed)
        if not succeeded:
            return BackoffRecord(self.failures + len(failures), failures[-1]) if failures else self
        latest = max(finish_time(pod) for pod in succeeded)
        since = [time for time in failures if time > latest]
        return BackoffRecord(len(since), since[-1]) if since else BackoffRecord()

    def remaining(self, now: Time) -> float:
        """Seconds until the next pod may be created."""
        if self.failures == 0 or self.last is None:
            return 0.0
        delay = min(FIRST_DELAY * 2.0 ** min(self.failures - 1, 16), LONGEST_DELAY)
        return max(delay - (now - self.last).total_seconds(), 0.0)


def index_remaining(last_failed: Pod | None, now: Time) -> float:
    """Seconds until an index may run again after the failure of its last pod."""
    if last_failed is None:
        return 0.0
    failures = index_failures(last_failed) + index_ignored_failures(last_failed) + 1
    return BackoffRecord(failures, finish_time(last_failed)).remaining(now)


NEVER_FAILED: Final = BackoffRecord()
