"""The status of an original after what its mirror says: a merge that is always legal.

The API server has rules for every write to a Job's status, and most of them forbid to take something back. A mirror does
take things back: one that was started again elsewhere counts from zero, a resumed one starts anew, a worker's clock is
wrong. So the mirror's status is never copied; each field is merged with what the original already says.

- Live numbers (`active`, `ready`, `terminating`) are the mirror's.
- `failed`, and `succeeded` of a Job without indexes, are the larger of both numbers. They count the pods of the run that
  got furthest; adding up the runs would tell of more successes than there are completions, and needs a memory.
- Completed indexes are those of all runs, for a success did happen even if its worker was lost; `succeeded` counts them.
  Failed indexes are those of the present run, for a failure is mended by a run that tries again. An index that failed
  in this run is not completed. Both are kept below the completions that the original asks for now.
- `startTime` follows the mirror where that is allowed: while the original is suspended, and when it is resumed.
  Otherwise the first one stays.
- `completionTime` is the mirror's, but not before `startTime`.
- Conditions: see `fate`.
- `uncountedTerminatedPods` is left out. It is how the worker's Job controller counts each pod once, and names pods that do
  not exist on the management cluster.
- Other fields of the original stay. Other fields of the mirror are left: the management cluster may not know them.

What is returned is for the original as it was read; a write must name its resourceVersion. Merging the same mirror again
changes nothing, and a finished original never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from jobrelay.apimachinery.times import format_time
from jobrelay.kinds.batch.job import broken_rules
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.names import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED
from jobrelay.kube import Object
from jobrelay.workloads.adapter import Haste
from jobrelay.workloads.job.fate import merged_conditions, start_time, suspension
from jobrelay.workloads.job.views import STATUS_FIELDS, Job, RawStatus, Status

__all__ = ["haste", "idle", "returned", "subsets"]

_INTERIM: Final = frozenset({SUCCESS_CRITERIA_MET, FAILURE_TARGET})
_FATES: Final = _INTERIM | {COMPLETE, FAILED}


def returned(obj: Object, mirror: Object) -> dict[str, Any] | None:
    """The whole new status of an original, None if it is the old one."""
    original = obj.decode(Job)
    new = _merged(original, mirror.decode(Job), mirror)
    return None if new == original.status else _whole(obj, new)


def _merged(original: Job, mirror: Job, source: Object) -> Status:
    old, seen = original.status, mirror.status
    if old.finished:
        return old
    status = Status(
        conditions=merged_conditions(original, mirror, source.metadata.creation_timestamp),
        active=seen.active,
        succeeded=max(old.succeeded, seen.succeeded),
        failed=max(old.failed, seen.failed),
        ready=None if seen.ready is None else min(seen.ready, seen.active),
        terminating=seen.terminating,
    )
    if original.spec.indexed:
        status = _with_indexes(original, mirror, status)
    status = replace(status, start_time=start_time(original, mirror))
    return _ended(original, mirror, status, source) if status.finished else status


def _with_indexes(original: Job, mirror: Job, status: Status) -> Status:
    spec, old, seen = original.spec, original.status, mirror.status
    most = spec.completions or 0
    text = old.failed_indexes if seen.failed_indexes is None else seen.failed_indexes
    failed = Indexes.parse(text or "", most)
    completed = (Indexes.parse(old.completed_indexes, most) | Indexes.parse(seen.completed_indexes, most)) - failed
    count = len(completed)
    return replace(
        status,
        succeeded=count if spec.elastic else max(old.succeeded, count),
        completed_indexes=str(completed),
        failed_indexes=None if text is None or spec.backoff_limit_per_index is None else str(failed),
    )


def _ended(original: Job, mirror: Job, status: Status, source: Object) -> Status:
    """A finished Job has started, and has no pods that run, end or are to be counted."""
    last = next(one for one in status.conditions if one.type in (COMPLETE, FAILED) and one.true)
    end = mirror.status.completion_time or last.last_transition_time or source.metadata.creation_timestamp
    start = status.start_time
    never_ran = original.spec.suspend and original.spec.completions == 0
    if start is None and not never_ran:
        start = end
    complete = last.type == COMPLETE
    return replace(
        status,
        start_time=start,
        completion_time=max(end or "", start or "") if complete else None,
        active=0,
        ready=None if status.ready is None else 0,
        terminating=None if status.terminating is None else 0,
    )


def _whole(obj: Object, new: Status) -> dict[str, Any]:
    """The status as it goes over the wire, with what the original has in fields that are not known here."""
    others = {name: value for name, value in obj.decode(RawStatus).status.items() if name not in STATUS_FIELDS}
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(new))
    return others | told


def subsets(obj: Object, mirror: Object) -> list[dict[str, Any]]:
    """Smaller and smaller parts of what `returned` says, each of them legal by the rules that are known here.

    First without what differs between versions of Kubernetes or is rarely needed, then only how it ended, then only
    the counters.
    """
    original = obj.decode(Job)
    new = _merged(original, mirror.decode(Job), mirror)
    stored = obj.decode()
    found: list[dict[str, Any]] = []
    for smaller in _smaller(original.status, new):
        status = _whole(obj, smaller)
        if smaller in (original.status, new) or status in found or broken_rules(stored | {"status": status}, stored):
            continue
        found.append(status)
    return found


def _smaller(old: Status, new: Status) -> Iterator[Status]:
    if old.start_time is not None:
        start, end = old.start_time, new.completion_time
        new = replace(new, start_time=start, completion_time=max(start, end) if end is not None else None)
        yield new
    new = replace(new, completed_indexes=old.completed_indexes, failed_indexes=old.failed_indexes)
    yield new
    kept = tuple(one for one in old.conditions if one.type not in _FATES)
    fates = tuple(one for one in new.conditions if one.type in _FATES)
    new = replace(new, conditions=kept + fates)
    yield new
    live = {"active": new.active, "ready": new.ready, "terminating": new.terminating, "start_time": new.start_time}
    if new.finished:
        yield replace(new, succeeded=old.succeeded, failed=old.failed, ready=None, terminating=None)
    yield replace(old, succeeded=new.succeeded, failed=new.failed, **live)
    yield replace(old, succeeded=new.succeeded, failed=new.failed)
    yield replace(old, **live)


def idle(obj: Object, now: datetime) -> dict[str, Any] | None:
    """The status of a suspended original without a mirror: what the Job controller writes for a Job without pods."""
    original = obj.decode(Job)
    old = original.status
    if old.finished or not original.spec.suspend:
        return None
    suspended = old.true_condition(SUSPENDED) is not None
    if suspended and not (old.active or old.ready or old.terminating):
        return None
    conditions = {one.type: one for one in old.conditions}
    if not suspended:
        conditions[SUSPENDED] = suspension(True, format_time(now))
    gone = {"active": 0, "ready": 0, "terminating": 0, "uncounted_terminated_pods": None}
    return _whole(obj, replace(old, conditions=tuple(conditions.values()), **gone))


def haste(obj: Object, status: Mapping[str, Any]) -> Haste:
    """Conditions are written at once, counts and the start soon.

    An end that is announced when no pod is left may wait longest: the end itself follows at once, and both fit in one write.
    """
    old, new = obj.decode(Job).status, msgspec.convert(status, Status)
    known = set(old.conditions)
    types = {one.type for one in new.conditions if one not in known}
    pods_left = bool(new.active or new.terminating)
    if len(new.conditions) < len(old.conditions) or types - _INTERIM or (types and pods_left):
        return Haste.NOW
    return Haste.LATER if types else Haste.SOON
