"""The timeline of a workload, from its object, its conditions and its events.

Objects and conditions have times in whole seconds, newer events in microseconds. All are taken in whole seconds: a
fraction would order what happened in one second wrongly, and durations would not fit the times beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobrelay.apimachinery.times import TimeError, parse_time
from jobrelay.kube import Object
from jobrelay.relay.worker_assignment import WorkerAssignment, assignment_of
from jobrelay.sdk.explaining import event_time
from jobrelay.workloads import Adapter

__all__ = ["Moment", "timeline"]


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened; `after` is the seconds since what happened before, None for the first."""

    time: datetime
    what: str
    after: float | None = None


def timeline(adapter: Adapter, obj: Object, events: Iterable[Mapping[str, Any]]) -> list[Moment]:
    """All that is known, the oldest first; of what happened in one second, in the order of a workload's life."""
    found = sorted((*_of_object(adapter, obj), *_of_events(events)), key=lambda each: each.time)
    earlier = [None, *(each.time for each in found)]
    return [
        Moment(each.time, each.what, (each.time - before).total_seconds() if before is not None else None)
        for each, before in zip(found, earlier, strict=False)
    ]


def _of_object(adapter: Adapter, obj: Object) -> Iterator[Moment]:
    facts, to = adapter.read(obj), assignment_of(obj)
    yield from _at(obj.metadata.creation_timestamp, "created")
    if to is not None:
        yield from _of_runs(to)
    if facts.started is not None:
        yield Moment(facts.started.replace(microsecond=0), "started")
    yield from _of_conditions(obj.decode().get("status"))
    yield from _at(obj.metadata.deletion_timestamp, "deletion asked for")


def _of_runs(to: WorkerAssignment) -> Iterator[Moment]:
    for past in to.earlier:
        yield from _at(past.since, f"assigned to {past.cluster} (run {past.epoch})")
        yield from _at(past.until, f"left {past.cluster} (run {past.epoch}): {past.why or 'it was placed again'}")
    if not to.waiting:
        yield from _at(to.since, f"assigned to {to.cluster} (run {to.epoch})")


def _of_conditions(status: Any) -> Iterator[Moment]:
    """Objects of custom resources may have any shape."""
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("status") == "True":
            yield from _at(each.get("lastTransitionTime"), _text(f"{each.get('type')}", each))


def _of_events(events: Iterable[Mapping[str, Any]]) -> Iterator[Moment]:
    for each in events:
        count = (each.get("series") or {}).get("count") or each.get("count") or 1
        warning = "Warning: " if each.get("type") == "Warning" else ""
        times = f" ({count} times)" if count > 1 else ""
        yield from _at(event_time(dict(each)), f"{warning}{each.get('reason')}: {each.get('message')}{times}")


def _text(kind: str, condition: Mapping[str, Any]) -> str:
    return ": ".join([kind, *(str(condition[key]) for key in ("reason", "message") if condition.get(key))])


def _at(written: object, what: str) -> Iterator[Moment]:
    try:
        if written:
            yield Moment(parse_time(str(written)).replace(microsecond=0), what)
    except TimeError:
        return
