"""The conditions of a Job.

A finishing Job first gets an interim condition (`FailureTarget`, `SuccessCriteriaMet`) and, once all pods have ended
and are counted, the terminal one (`Failed`, `Complete`) with the same reason and message.
"""

from __future__ import annotations

from msgspec.structs import replace

from jobrelay.cluster.controllers.job.views import BatchJobStatus, Condition, Time
from jobrelay.kinds.batch.job.names import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED
from jobrelay.kinds.batch.job.views import JobCondition


def condition(type_: str, reason: str, message: str, now: Time, status: str = "True") -> Condition:
    when = now.replace(microsecond=0)
    return JobCondition(type_, status, when, when, reason, message)


def failure(reason: str, message: str, now: Time) -> Condition:
    return condition(FAILURE_TARGET, reason, message, now)


def completions_reached(now: Time) -> Condition:
    message = "Reached expected number of succeeded pods"
    return condition(SUCCESS_CRITERIA_MET, "CompletionsReached", message, now)


def terminal(interim: Condition, now: Time) -> Condition:
    """The terminal condition for an interim one."""
    type_ = COMPLETE if interim.type == SUCCESS_CRITERIA_MET else FAILED
    return condition(type_, interim.reason, interim.message, now)


def with_condition(status: BatchJobStatus, new: Condition) -> tuple[Condition, ...] | None:
    """The conditions with this one set, None if nothing changes; a new condition is not added as False."""
    old = status.condition(new.type)
    if old is None:
        return (*status.conditions, new) if new.status != "False" else None
    if (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return None
    return tuple(new if one is old else one for one in status.conditions)


def with_suspension(status: BatchJobStatus, *, suspend: bool, now: Time) -> BatchJobStatus | None:
    """The status with the Suspended condition, None if it has it already.

    A resumed Job gets a new start time: its active deadline counts only the time since then.
    """
    if suspend:
        new = condition(SUSPENDED, "JobSuspended", "Job suspended", now)
    else:
        new = condition(SUSPENDED, "JobResumed", "Job resumed", now, "False")
    changed = with_condition(status, new)
    if changed is None:
        return None
    start = status.start_time if suspend else now.replace(microsecond=0)
    return replace(status, conditions=changed, start_time=start)
