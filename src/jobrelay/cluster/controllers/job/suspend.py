"""Suspending and resuming: the condition that tells it, and the clock that starts anew."""

from __future__ import annotations

from msgspec.structs import replace

from jobrelay.cluster.controllers.job import conditions
from jobrelay.cluster.controllers.job.views import Status, Time
from jobrelay.kinds.batch.job.names import SUSPENDED


def with_suspension(status: Status, *, suspend: bool, now: Time) -> Status | None:
    """The status of a Job that is or is not suspended, None if it says so already.

    A resumed Job starts anew: its active deadline counts the time it runs without interruption.
    """
    if suspend:
        new = conditions.condition(SUSPENDED, "JobSuspended", "Job suspended", now)
    else:
        new = conditions.condition(SUSPENDED, "JobResumed", "Job resumed", now, "False")
    changed = conditions.with_condition(status, new)
    if changed is None:
        return None
    start = status.start_time if suspend else now.replace(microsecond=0)
    return replace(status, conditions=changed, start_time=start)
