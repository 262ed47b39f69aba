"""What the status of a declared kind means, and how it is returned.

The whole status is the mirror's, so that the original shows what its worker shows, step by step. The exceptions keep
what the original's users rely on:

- An end is final. Controllers go on changing counters after it: those changes are returned as long as the mirror has
  ended in the same way and is not being deleted. Nothing else is.
- A mirror without a status, and one that is being deleted before it has ended, says nothing about the workload: what
  its controller writes then is about the mirror (`Terminating`).
- Counters of `neverDecrease` are the larger of both: a second run after the loss of a worker counts from zero.
- A schema that demands something in a status never meets an empty one.
- Nulls are left out. Tekton writes some, but a merge patch cannot carry them, and servers drop them or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.workloads.adapter import Urgency, Workload, WorkloadOutcome
from jobrelay.workloads.declared import paths
from jobrelay.workloads.declared.description import KindDescription, Predicate, Rule, many
from jobrelay.workloads.declared.predicates import condition, count, holds, matching, parse_time, text, time


def read(kind: KindDescription, obj: Object) -> Workload:
    """The facts about an original or a mirror."""
    whole, rules, suspension = paths.decoded(obj), kind.status, kind.suspension
    managed_by = paths.first(kind.managed_by.path, whole)
    deadline = paths.first(kind.deadline.path, whole) if kind.deadline is not None else None
    return Workload(
        key=obj.key,
        uid=obj.uid,
        managed_by=managed_by if isinstance(managed_by, str) else None,
        suspended=suspension is not None and paths.first(suspension.path, whole) == suspension.suspended,
        started=time(rules.started_at, whole) if holds(rules.started, whole) else None,
        active=count(rules.active, whole),
        end=outcome(kind, whole),
        deleting=obj.deleting,
        deadline=deadline if type(deadline) is int else None,
        halted=suspension is not None and holds(suspension.halted, whole),
    )


def outcome(kind: KindDescription, whole: Mapping[str, Any]) -> WorkloadOutcome | None:
    """How a workload ended; None if it has not."""
    rules = kind.status
    succeeded = matching(rules.succeeded, whole)
    sign = succeeded or matching(rules.failed, whole)
    if sign is None:
        return None
    told = condition(sign.condition, whole) if sign.condition else {}
    reason = text(rules.reason, whole) or str(told.get("reason") or "")
    return WorkloadOutcome(
        succeeded=succeeded is not None,
        at=time(rules.ended_at, whole) or parse_time(told.get("lastTransitionTime")),
        reason=reason,
        message=text(rules.message, whole) or str(told.get("message") or ""),
        deadline_exceeded=succeeded is None and kind.deadline is not None and reason == kind.deadline.reason,
    )


def merged_status(kind: KindDescription, original: Object, mirror: Object) -> dict[str, Any] | None:
    """The complete new status of an original, None if it is the old one."""
    whole, seen = original.decode(), mirror.decode()
    old, new = _status(whole), _status(seen)
    end = outcome(kind, seen)
    if not new or (mirror.deleting and end is None):
        return None
    ended = outcome(kind, whole)
    if ended is not None and (mirror.deleting or end is None or end.succeeded != ended.succeeded):
        return None
    for path in kind.status.never_decrease:
        before, now = paths.first(path, whole), paths.first(path, seen)
        if type(before) is int and before > (now if type(now) is int else 0):
            paths.put(paths.plain(path), {"status": new}, before)
    return new if new != old else None


def reduced_status(kind: KindDescription, original: Object, mirror: Object) -> list[dict[str, Any]]:
    """The original's status with nothing new but what says how the workload goes: for a management cluster whose
    schema does not allow all that a worker's does."""
    new = merged_status(kind, original, mirror)
    if new is None:
        return []
    old = _status(original.decode())
    telling = _telling_fields(kind)
    smaller = {key: value for key, value in old.items() if key not in telling}
    smaller |= {key: value for key, value in new.items() if key in telling}
    return [smaller] if smaller and smaller not in (old, new) else []


def suspended_status(kind: KindDescription, original: Object, now: datetime) -> dict[str, Any] | None:
    """The status of a suspended original without a mirror: what the kind's own controller would show."""
    whole, rule = original.decode(), kind.suspension
    if rule is None or outcome(kind, whole) is not None or paths.first(rule.path, whole) != rule.suspended:
        return None
    old = _status(whole)
    new: dict[str, Any] = {**old, **rule.status}
    shown = rule.condition
    if shown is not None and condition(shown.type, whole).get("status") != shown.status:
        known = [one for one in paths.values("status.conditions.*", whole) if isinstance(one, dict)]
        others = [one for one in known if one.get("type") != shown.type]
        times = dict.fromkeys(kind.status.condition_times, format_time(now))
        message = shown.message.replace("{name}", original.name)
        told = {"type": shown.type, "status": shown.status, "reason": shown.reason, "message": message}
        new["conditions"] = [*others, told | times]
    return new if new != old else None


def urgency(kind: KindDescription, original: Object, status: Mapping[str, Any]) -> Urgency:
    """What users and programs wait for is written at once: readiness, ends, and what changes the conditions of these.

    Counts, and what a controller shows on the way to readiness, follow soon: more comes after it.
    """
    before = original.decode()
    after = {**before, "status": status}
    if not (_settled(kind, before) or _settled(kind, after)):
        return Urgency.SOON
    return Urgency.SOON if _signs(kind, before) == _signs(kind, after) else Urgency.NOW


def _settled(kind: KindDescription, whole: Mapping[str, Any]) -> bool:
    """Whether a workload is ready or has ended."""
    rules = kind.status
    return any(holds(rule, whole) for rule in (rules.ready, rules.succeeded, rules.failed))


def _signs(kind: KindDescription, whole: Mapping[str, Any]) -> list[Any]:
    rules = kind.status
    signs: list[Any] = [holds(rule, whole) for rule in (rules.started, rules.ready, rules.succeeded, rules.failed)]
    signs += [value for path in _watched(kind) for value in paths.values(path, whole) if isinstance(value, str)]
    for one in paths.values("status.conditions.*", whole):
        signs.append((one.get("type"), one.get("status"), one.get("reason")) if isinstance(one, dict) else one)
    return signs


def _watched(kind: KindDescription) -> list[str]:
    """The paths that the rules of a kind read."""
    rules = kind.status
    return [path for rule in (rules.started, rules.ready, rules.succeeded, rules.failed) for path in _paths(rule)]


def _paths(rule: Rule) -> list[str]:
    given = (rule,) if isinstance(rule, Predicate) else rule
    found = [each.path for each in given if each.path]
    for each in given:
        for other in (each.and_, each.unless):
            found += _paths(other) if other is not None else []
    return found


def _telling_fields(kind: KindDescription) -> frozenset[str]:
    """The fields of a status that say how a workload goes, and those that its schema demands."""
    rules, suspension = kind.status, kind.suspension
    several = (rules.started_at, rules.ended_at, rules.reason, rules.message)
    named = [*_watched(kind), *(path for each in several for path in many(each))]
    steps = [paths.parse(path) for path in named]
    fields = {each[1] for each in steps if len(each) > 1 and each[0] == "status"}
    demanded = suspension.status if suspension is not None else {}
    return frozenset(step for step in fields if isinstance(step, str)) | {"conditions", *demanded}


def _status(whole: Mapping[str, Any]) -> dict[str, Any]:
    found = whole.get("status")
    return _without_nulls(found) if isinstance(found, dict) else {}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
