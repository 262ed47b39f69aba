"""The conditions of an original, merged with those of its mirror.

A condition of the mirror replaces the one of the same type; types that only the original has stay, whoever wrote
them. Four cases need more than that.

An announced end is final. `SuccessCriteriaMet` and `FailureTarget` can never be taken back. If the worker was lost
after one of them, no later run can change the result: the original ends as announced as soon as a mirror is seen that
was created after the announcement, or else when that mirror ends, in whatever way.

Workers run different versions of Kubernetes. Old ones end a Job without the interim condition that the management
cluster requires; it is added together with the terminal one.

A mirror that is created when its original is resumed was itself never suspended and has no such condition. The
original then gets what the Job controller would write: that it was resumed when the mirror started.

A mirror may also be suspended by the relay, before it is released, which is not the user's concern. So `Suspended`
follows the mirror only where it answers the user: True while the original is to be suspended, False to end that. Where
the worker's Kueue starts the mirror, the original was suspended too until it was admitted, and False tells its start.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from jobrelay.kinds.batch.job.conditions import ENDS, by_type, suspension, terminal
from jobrelay.kinds.batch.job.merging import Condition, MergeJob
from jobrelay.kinds.batch.job.names import DEADLINE_EXCEEDED, FAILURE_TARGET, SUSPENDED

_Conditions = dict[str, Condition]


def merged_conditions(
    original: MergeJob, mirror: MergeJob, created: str | None, *, queued: bool = False
) -> tuple[Condition, ...]:
    """The conditions to write; `created` is when the mirror was created, `queued` whether Kueue starts it there."""
    known, told = by_type(original.status.conditions), by_type(mirror.status.conditions)
    if _stopped_by_lease_only(original, mirror, told):
        del told[FAILURE_TARGET]
    ended = _end_conditions(known, told, created)
    for end in ENDS:
        for type_ in end:
            told.pop(type_, None)
    if SUSPENDED in told and not _answers_user(original, told[SUSPENDED], known, queued):
        del told[SUSPENDED]
    elif SUSPENDED not in told and _resumes(original, mirror):
        told[SUSPENDED] = suspension(False, mirror.status.start_time)
    told.update((one.type, one) for one in ended)
    return tuple((known | told).values())


def start_time(original: MergeJob, mirror: MergeJob) -> str | None:
    """The start time to write: the mirror's if the original is suspended or was resumed, otherwise the first one."""
    old, seen = original.status.start_time, mirror.status.start_time
    if old is None or seen == old:
        return seen
    if seen is None:
        return None if original.spec.suspend and mirror.status.true_condition(SUSPENDED) else old
    return seen if original.spec.suspend or _resumes(original, mirror) else old


def _is_true(conditions: _Conditions, type_: str) -> bool:
    return type_ in conditions and conditions[type_].true


def _end_conditions(known: _Conditions, told: _Conditions, created: str | None) -> list[Condition]:
    """The interim and terminal conditions that are new."""
    taken = next((end for end in ENDS if _is_true(told, end.terminal)), None)
    ended = told[taken.terminal] if taken is not None else None
    taken = taken or next((end for end in ENDS if _is_true(told, end.interim)), None)
    announced = next((end for end in ENDS if _is_true(known, end.interim)), None)
    if announced is not None and announced is not taken:
        first = known[announced.interim]
        when = ended.last_transition_time if ended is not None else None
        if taken is None and created is not None and created >= (first.last_transition_time or created):
            when = created
        if when is None:
            return []
        return [terminal(first, when)]
    if taken is None:
        return []
    if ended is None:
        return [told[taken.interim]]
    interim = told[taken.interim] if _is_true(told, taken.interim) else replace(ended, type=taken.interim)
    return [interim, ended]


def _answers_user(original: MergeJob, told: Condition, known: _Conditions, queued: bool) -> bool:
    """Whether a mirror's suspension, or the end of one, is what the user of the original asked for."""
    return original.spec.suspend if told.true else queued or _is_true(known, SUSPENDED)


def _resumes(original: MergeJob, mirror: MergeJob) -> bool:
    """Whether the condition of a suspended original changes to resumed."""
    if not _is_true(by_type(original.status.conditions), SUSPENDED):
        return False
    if (told := by_type(mirror.status.conditions).get(SUSPENDED)) is not None:
        return told.status == "False"
    return not (original.spec.suspend or mirror.spec.suspend or mirror.status.start_time is None)


def _stopped_by_lease_only(original: MergeJob, mirror: MergeJob, told: _Conditions) -> bool:
    """Whether a mirror is being stopped by a deadline that is not its user's, which must not be announced on the
    original.

    What follows from the end of such a mirror is decided by the relay.
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
    took = datetime.fromisoformat(interim.last_transition_time) - datetime.fromisoformat(started)
    return took.total_seconds() < deadline - 1
