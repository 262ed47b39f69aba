"""The backoff delay before a failed pod is replaced.

The delay doubles with each failure of the Job since its last success. With a backoff limit per index, each index has
its own delay, which the annotations of its last failed pod determine.
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
    """The number of failures since the last success, and the time of the last one."""

    failures: int = 0
    last: Time | None = None

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> BackoffRecord:
        """The record after these pods have ended; only failures after the latest success count."""
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
    """Seconds until the last failed pod of an index may be replaced."""
    if last_failed is None:
        return 0.0
    failures = index_failures(last_failed) + index_ignored_failures(last_failed) + 1
    return BackoffRecord(failures, finish_time(last_failed)).remaining(now)


NEVER_FAILED: Final = BackoffRecord()
