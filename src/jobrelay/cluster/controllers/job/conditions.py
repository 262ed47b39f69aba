"""The conditions of a Job.

A finishing Job first gets an interim condition (`FailureTarget`, `SuccessCriteriaMet`) and, once all pods have ended
and are counted, the terminal one (`Failed`, `Complete`) with the same reason and message.
"""

from __future__ import annotations

from msgspec.structs import replace

from jobrelay.cluster.controllers.job.views import BatchJobStatus, Condition, Time
from jobrelay.kinds.batch.job import conditions
from jobrelay.kinds.batch.job.names import FAILURE_TARGET, SUCCESS_CRITERIA_MET


def condition(type_: str, reason: str, message: str, now: Time) -> Condition:
    return conditions.condition(type_, reason, message, now.replace(microsecond=0))


def failure(reason: str, message: str, now: Time) -> Condition:
    return condition(FAILURE_TARGET, reason, message, now)


def completions_reached(now: Time) -> Condition:
    message = "Reached expected number of succeeded pods"
    return condition(SUCCESS_CRITERIA_MET, "CompletionsReached", message, now)


def terminal(interim: Condition, now: Time) -> Condition:
    """The terminal condition for an interim one."""
    return conditions.terminal(interim, now.replace(microsecond=0))


def with_suspension(status: BatchJobStatus, *, suspend: bool, now: Time) -> BatchJobStatus | None:
    """The status with the Suspended condition, None if it has it already.

    A resumed Job gets a new start time: its active deadline counts only the time since then.
    """
    when = now.replace(microsecond=0)
    changed = conditions.with_condition(status.conditions, conditions.suspension(suspend, when))
    if changed is None:
        return None
    return replace(status, conditions=changed, start_time=status.start_time if suspend else when)
