"""The Suspended condition, and the start time of resumed Jobs."""

from __future__ import annotations

from msgspec.structs import replace

from jobrelay.cluster.controllers.job import conditions
from jobrelay.cluster.controllers.job.views import BatchJobStatus, Time
from jobrelay.kinds.batch.job.names import SUSPENDED


def with_suspension(status: BatchJobStatus, *, suspend: bool, now: Time) -> BatchJobStatus | None:
    """The status with the Suspended condition, None if it has it already.

    A resumed Job gets a new start time: its active deadline counts only the time since then.
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
