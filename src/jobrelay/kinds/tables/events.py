"""The event table, one for both APIs: core and events.k8s.io hold the same facts under other field names."""

from __future__ import annotations

import datetime as dt
from typing import Final

from jobrelay.kinds.tables.ages import since
from jobrelay.kinds.tables.columns import Obj, TableSpec, at, col, field, wide


def _first_seen(event: Obj, now: dt.datetime) -> str:
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")
    return since(first or event.get("eventTime"), now)


def _last_seen(event: Obj, now: dt.datetime) -> str:
    if (series := event.get("series")) is not None:
        return since(series.get("lastObservedTime"), now)
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    return since(last, now) if last else _first_seen(event, now)


def _about(event: Obj) -> Obj:
    about: Obj = event.get("involvedObject") or event.get("regarding") or {}
    return about


def _object(event: Obj, now: dt.datetime) -> str:
    kind, name = _about(event).get("kind", "").lower(), _about(event).get("name", "")
    return f"{kind}/{name}" if name else kind


def _subobject(event: Obj, now: dt.datetime) -> str:
    path: str = _about(event).get("fieldPath", "")
    return path


def _source(event: Obj, now: dt.datetime) -> str:
    source = event.get("source") or event.get("deprecatedSource") or {}
    component = source.get("component") or event.get("reportingComponent") or event.get("reportingController") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _message(event: Obj, now: dt.datetime) -> str:
    message: str = event.get("message") or event.get("note") or ""
    return message.strip()


def _count(event: Obj, now: dt.datetime) -> int:
    if (series := event.get("series")) is not None:
        return int(series.get("count", 0))
    return event.get("count") or event.get("deprecatedCount") or 1


EVENTS: Final = TableSpec(
    (
        col("Last Seen", _last_seen, "core.v1.Event.lastTimestamp"),
        field("Type", "type", "core.v1.Event"),
        field("Reason", "reason", "core.v1.Event"),
        col("Object", _object, "core.v1.Event.involvedObject"),
        wide("Subobject", _subobject, "core.v1.ObjectReference.fieldPath"),
        wide("Source", _source, "core.v1.Event.source"),
        col("Message", _message, "core.v1.Event.message"),
        wide("First Seen", _first_seen, "core.v1.Event.firstTimestamp"),
        wide("Count", _count, "core.v1.Event.count"),
        wide("Name", at("metadata.name"), "meta.v1.ObjectMeta.name", format="name"),
    )
)

TABLES: Final[dict[tuple[str, str], TableSpec]] = {("", "events"): EVENTS, ("events.k8s.io", "events"): EVENTS}
