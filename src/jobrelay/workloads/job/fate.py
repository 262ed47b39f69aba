"""The conditions of an original after those of its mirror.

A condition of the mirror replaces the one of the same type; types that only the original has stay, whoever wrote them. Three
things need more than that.

What was announced stays. `SuccessCriteriaMet` and `FailureTarget` can never be taken back. If the worker was lost after one
of them, no later run can change the end: the original ends as announced as soon as a mirror is seen that was made after
the announcement, or else when that mirror ends, in whatever way.

Workers are of many versions. Old ones end a Job without the interim condition that the management cluster asks for; it
is told together with the terminal one.

A mirror that is made when its original is resumed was itself never suspended, and says nothing of it. The original then
says what the Job controller would: that it was resumed when the mirror started.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from jobrelay.kinds.batch.job.names import (
    COMPLETE,
    DEADLINE_EXCEEDED,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
)
from jobrelay.kinds.batch.job.views import JobCondition
from jobrelay.workloads.job.views import Condition, Job

__all__ = ["merged_conditions", "start_time", "suspension"]


class _Course(NamedTuple):
    """The way that a Job ends: the condition that announces it, and the one that closes it."""

    interim: str
    terminal: str


_COURSES: Final = (_Course(SUCCESS_CRITERIA_MET, COMPLETE), _Course(FAILURE_TARGET, FAILED))
_Conditions = dict[str, Condition]


def merged_conditions(original: Job, mirror: Job, created: str | None) -> tuple[Condition, ...]:
    """The conditions to return; `created` is when the mirror was."""
    known, told = _by_type(original.status.conditions), _by_type(mirror.status.conditions)
    if _only_the_lease_ends(original, mirror, told):
        del told[FAILURE_TARGET]
    fate = _fate(known, told, created)
    for course in _COURSES:
        for type_ in course:
            told.pop(type_, None)
    if SUSPENDED not in told and _resumes(original, mirror):
        told[SUSPENDED] = suspension(False, mirror.status.start_time)
    told.update((one.type, one) for one in fate)
    return tuple((known | told).values())


def start_time(original: Job, mirror: Job) -> str | None:
    """When the original started: as the mirror says while it is suspended or when it is resumed; else the first one stays."""
    old, seen = original.status.start_time, mirror.status.start_time
    if old is None or seen == old:
        return seen
    if seen is None:
        return None if original.spec.suspend and mirror.status.true_condition(SUSPENDED) else old
    return seen if original.spec.suspend or _resumes(original, mirror) else old


def suspension(suspended: bool, when: str | None) -> Condition:
    """The condition by which the Job controller tells that a Job was suspended or resumed."""
    if suspended:
        return JobCondition(SUSPENDED, "True", when, when, "JobSuspended", "Job suspended")
    return JobCondition(SUSPENDED, "False", when, when, "JobResumed", "Job resumed")


def _by_type(conditions: Iterable[Condition]) -> _Conditions:
    """One condition per type; where a type repeats, the true one counts, as it does for the API server."""
    found: _Conditions = {}
    for one in conditions:
        if one.type not in found or one.true:
            found[one.type] = one
    return found


def _is_true(conditions: _Conditions, type_: str) -> bool:
    return type_ in conditions and conditions[type_].true


def _fate(known: _Conditions, told: _Conditions, created: str | None) -> list[Condition]:
    """The interim and terminal conditions that are new."""
    taken = next((course for course in _COURSES if _is_true(told, course.terminal)), None)
    ended = told[taken.terminal] if taken is not None else None
    taken = taken or next((course for course in _COURSES if _is_true(told, course.interim)), None)
    announced = next((course for course in _COURSES if _is_true(known, course.interim)), None)
    if announced is not None and announced is not taken:
        first = known[announced.interim]
        when = ended.last_transition_time if ended is not None else None
        if taken is None and created is not None and created >= (first.last_transition_time or created):
            when = created
        return [_at(when, first, announced.terminal)] if when is not None else []
    if taken is None:
        return []
    if ended is None:
        return [told[taken.interim]]
    interim = told[taken.interim] if _is_true(told, taken.interim) else replace(ended, type=taken.interim)
    return [interim, ended]


def _at(when: str, first: Condition, type_: str) -> Condition:
    return replace(first, type=type_, last_probe_time=when, last_transition_time=when)


def _resumes(original: Job, mirror: Job) -> bool:
    """Whether an original that says it is suspended will say that it was resumed."""
    if not _is_true(_by_type(original.status.conditions), SUSPENDED):
        return False
    if (told := _by_type(mirror.status.conditions).get(SUSPENDED)) is not None:
        return told.status == "False"
    return not (original.spec.suspend or mirror.spec.suspend or mirror.status.start_time is None)


def _only_the_lease_ends(original: Job, mirror: Job, told: _Conditions) -> bool:
    """Whether a mirror is being stopped by a deadline that is not its user's: that is not a fate to announce.

    What it means that such a mirror has ended is for the relay to say.
    """
    interim = told.get(FAILURE_TARGET)
    if interim is None or not interim.true or interim.reason != DEADLINE_EXCEEDED or mirror.status.finished:
        return False
    deadline = original.spec.active_deadline_seconds
    if deadline == mirror.spec.active_deadline_seconds:
        return False
    started = start_time(original, mirror)
    if deadline is None or started is None or interim.last_transition_time is None:
        return deadline is None
    end = datetime.fromisoformat(started) + timedelta(seconds=deadline - 1)
    return datetime.fromisoformat(interim.last_transition_time) < end
