"""The status of an original, merged with that of its mirror so that the result is always legal.

The API server has rules for every update of a Job's status, and most of them forbid to take something back. A mirror
does take things back: one that was started again elsewhere counts from zero, a resumed one starts anew, a worker's
clock is wrong. So the mirror's status is never copied; each field is merged with what the original already has.

- Live numbers (`active`, `ready`, `terminating`) are the mirror's.
- `failed`, and `succeeded` of a Job without indexes, are the larger of both numbers. They count the pods of the run
  that got furthest; the sum of all runs would show more successes than there are completions, and would need a
  memory.
- Completed indexes are those of all runs, since a success did happen even if its worker was lost; `succeeded` counts
  them. Failed indexes are those of the present run, since a new run tries them again. An index that failed in this
  run is not completed. Both are limited to the completions that the original asks for now.
- `startTime` follows the mirror where that is allowed: while the original is suspended, and when it is resumed.
  Otherwise the first one stays.
- `completionTime` is the mirror's, but not before `startTime`.
- Conditions: see `conditions`.
- `uncountedTerminatedPods` is left out. It is how the worker's Job controller counts each pod once, and names pods
  that do not exist on the management cluster.
- Other fields of the original stay. Other fields of the mirror are dropped: the management cluster may not know them.

The result is for the original as it was read; an update must name its resourceVersion. Merging the same mirror again
changes nothing, and a finished original never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from jobrelay.apimachinery.times import format_time
from jobrelay.kinds.batch.job.conditions import suspension
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.merging import MergeJob, MergeStatus, encoded_status, ended, succeeded_count
from jobrelay.kinds.batch.job.names import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED
from jobrelay.kinds.batch.job.status import broken_rules
from jobrelay.kube import Object
from jobrelay.workloads.adapter import Urgency
from jobrelay.workloads.job.conditions import merged_conditions, start_time
from jobrelay.workloads.job.views import UntypedStatus
from jobrelay.workloads.metadata import is_queued

_INTERIM: Final = frozenset({SUCCESS_CRITERIA_MET, FAILURE_TARGET})
_END_CONDITIONS: Final = _INTERIM | {COMPLETE, FAILED}


def merged_status(original: Object, mirror: Object) -> dict[str, Any] | None:
    """The complete new status of an original, None if it is the old one."""
    job = original.decode(MergeJob)
    new = _merged(job, mirror.decode(MergeJob), mirror)
    return None if new == job.status else _complete(original, new)


def _merged(original: MergeJob, mirror: MergeJob, source: Object) -> MergeStatus:
    old, seen = original.status, mirror.status
    if old.finished:
        return old
    status = MergeStatus(
        conditions=merged_conditions(original, mirror, source.metadata.creation_timestamp, queued=is_queued(source)),
        active=seen.active,
        succeeded=max(old.succeeded, seen.succeeded),
        failed=max(old.failed, seen.failed),
        ready=None if seen.ready is None else min(seen.ready, seen.active),
        terminating=seen.terminating,
    )
    if original.spec.indexed:
        status = _with_indexes(original, mirror, status)
    status = replace(status, start_time=start_time(original, mirror))
    if not status.finished:
        return status
    last = next(one for one in status.conditions if one.type in (COMPLETE, FAILED) and one.true)
    end = seen.completion_time or last.last_transition_time or source.metadata.creation_timestamp
    return ended(original.spec, status, end)


def _with_indexes(original: MergeJob, mirror: MergeJob, status: MergeStatus) -> MergeStatus:
    spec, old, seen = original.spec, original.status, mirror.status
    most = spec.completions or 0
    text = old.failed_indexes if seen.failed_indexes is None else seen.failed_indexes
    failed = Indexes.parse(text or "", most)
    completed = (Indexes.parse(old.completed_indexes, most) | Indexes.parse(seen.completed_indexes, most)) - failed
    return replace(
        status,
        succeeded=succeeded_count(spec, old.succeeded, completed),
        completed_indexes=str(completed),
        failed_indexes=None if text is None or spec.backoff_limit_per_index is None else str(failed),
    )


def _complete(original: Object, new: MergeStatus) -> dict[str, Any]:
    """The status as it is sent, including the original's fields that are not known here."""
    return encoded_status(original.decode(UntypedStatus).status, new)


def reduced_statuses(original: Object, mirror: Object) -> list[dict[str, Any]]:
    """Smaller and smaller parts of `merged_status`, each of them legal by the rules that are known here.

    First without what differs between versions of Kubernetes or is rarely needed, then only how it ended, then only
    the counters.
    """
    job, stored = original.decode(MergeJob), original.decode()
    new = _merged(job, mirror.decode(MergeJob), mirror)
    found: list[dict[str, Any]] = []
    for smaller in _smaller(job.status, new):
        status = _complete(original, smaller)
        if smaller in (job.status, new) or status in found or broken_rules(stored | {"status": status}, stored):
            continue
        found.append(status)
    return found


def _smaller(old: MergeStatus, new: MergeStatus) -> Iterator[MergeStatus]:
    if old.start_time is not None:
        start, end = old.start_time, new.completion_time
        new = replace(new, start_time=start, completion_time=max(start, end) if end is not None else None)
        yield new
    new = replace(new, completed_indexes=old.completed_indexes, failed_indexes=old.failed_indexes)
    yield new
    kept = tuple(one for one in old.conditions if one.type not in _END_CONDITIONS)
    ends = tuple(one for one in new.conditions if one.type in _END_CONDITIONS)
    new = replace(new, conditions=kept + ends)
    yield new
    live = {"active": new.active, "ready": new.ready, "terminating": new.terminating, "start_time": new.start_time}
    if new.finished:
        yield replace(new, succeeded=old.succeeded, failed=old.failed, ready=None, terminating=None)
    yield replace(old, succeeded=new.succeeded, failed=new.failed, **live)
    yield replace(old, succeeded=new.succeeded, failed=new.failed)
    yield replace(old, **live)


def suspended_status(original: Object, now: datetime) -> dict[str, Any] | None:
    """The status of a suspended original without a mirror: what the Job controller writes for a Job without pods."""
    job = original.decode(MergeJob)
    old = job.status
    if old.finished or not job.spec.suspend:
        return None
    suspended = old.true_condition(SUSPENDED) is not None
    if suspended and not (old.active or old.ready or old.terminating):
        return None
    conditions = {one.type: one for one in old.conditions}
    if not suspended:
        conditions[SUSPENDED] = suspension(True, format_time(now))
    gone = {"active": 0, "ready": 0, "terminating": 0, "uncounted_terminated_pods": None}
    return _complete(original, replace(old, conditions=tuple(conditions.values()), **gone))


def urgency(original: Object, status: Mapping[str, Any]) -> Urgency:
    """Conditions are written at once, counts and the start time soon.

    An announcement of the end when no pod is left may wait longest: the end itself follows at once, and both fit in
    one write.
    """
    old, new = original.decode(MergeJob).status, msgspec.convert(status, MergeStatus)
    known = set(old.conditions)
    types = {one.type for one in new.conditions if one not in known}
    pods_left = bool(new.active or new.terminating)
    if len(new.conditions) < len(old.conditions) or types - _INTERIM or (types and pods_left):
        return Urgency.NOW
    return Urgency.LATER if types else Urgency.SOON
