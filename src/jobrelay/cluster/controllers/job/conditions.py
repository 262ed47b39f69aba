"""The conditions of a Job and their words.

A Job's fate is first told by an interim condition (`FailureTarget`, `SuccessCriteriaMet`) and, once all pods have ended
and are counted, by the terminal one (`Failed`, `Complete`) with the same reason and message.
"""

from __future__ import annotations

from jobrelay.cluster.controllers.job.views import Condition, Status, Time
from jobrelay.kinds.batch.job.names import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET
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
    """The condition that an interim one, or itself, ends in."""
    type_ = COMPLETE if interim.type == SUCCESS_CRITERIA_MET else FAILED
    return condition(type_, interim.reason, interim.message, now)


def with_condition(status: Status, new: Condition) -> tuple[Condition, ...] | None:
    """The conditions with one set, None if that changes nothing; a condition never begins with False."""
    old = status.condition(new.type)
    if old is None:
        return (*status.conditions, new) if new.status != "False" else None
    if (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return None
    return tuple(new if one is old else one for one in status.conditions)
