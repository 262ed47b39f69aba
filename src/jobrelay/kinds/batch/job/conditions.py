"""The conditions of a Job that every controller writes, whatever its type of times is.

A finishing Job first gets an interim condition (`SuccessCriteriaMet`, `FailureTarget`) and, once nothing of it runs any
more, the terminal one (`Complete`, `Failed`) with the same reason and message. Both may come in one write.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeVar

from jobrelay.kinds.batch.job.names import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED
from jobrelay.kinds.batch.job.views import JobCondition

Time = TypeVar("Time")
Conditions = tuple[JobCondition[Time], ...]


class EndConditions(NamedTuple):
    """The two conditions of one way to end: the one that announces it, and the final one."""

    interim: str
    terminal: str


SUCCESS: Final = EndConditions(SUCCESS_CRITERIA_MET, COMPLETE)
FAILURE: Final = EndConditions(FAILURE_TARGET, FAILED)
ENDS: Final = (SUCCESS, FAILURE)
RESERVED: Final = frozenset({*SUCCESS, *FAILURE, SUSPENDED})
"""The types whose meaning the API defines; a controller may have conditions of other types."""


def condition(type_: str, reason: str, message: str, when: Time | None, status: str = "True") -> JobCondition[Time]:
    return JobCondition(type_, status, when, when, reason, message)


def terminal(interim: JobCondition[Time], when: Time | None) -> JobCondition[Time]:
    """The terminal condition for an interim one."""
    type_ = next(end.terminal for end in ENDS if interim.type in end)
    return condition(type_, interim.reason, interim.message, when)


def suspension(suspended: bool, when: Time | None) -> JobCondition[Time]:
    """The condition of a Job that is suspended or resumed."""
    if suspended:
        return condition(SUSPENDED, "JobSuspended", "Job suspended", when)
    return condition(SUSPENDED, "JobResumed", "Job resumed", when, "False")


def by_type(conditions: Iterable[JobCondition[Time]]) -> dict[str, JobCondition[Time]]:
    """One condition per type; where a type repeats, the true one counts, as it does for the API server."""
    found: dict[str, JobCondition[Time]] = {}
    for one in conditions:
        if one.type not in found or one.true:
            found[one.type] = one
    return found


def with_condition(conditions: Conditions[Time], new: JobCondition[Time]) -> Conditions[Time] | None:
    """The conditions with this one set, None if nothing changes; a new condition is not added as False."""
    old = next((one for one in conditions if one.type == new.type), None)
    if old is None:
        return (*conditions, new) if new.status != "False" else None
    if (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return None
    return tuple(new if one is old else one for one in conditions)
