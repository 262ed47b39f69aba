"""Events as events.k8s.io shows them. There is one store of events, in the core form; this is the other view of it.

The two forms hold the same data under other names. The rules of this API are stricter than the core one's, and their
errors use the core names.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import meta
from jobrelay.apimachinery.field import FieldError, Path, invalid, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.core import events as core
from jobrelay.kinds.core.checks import unsupported_label
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_SAME: Final = ("metadata", "reason", "type", "eventTime", "series", "action", "related")
_RENAMED: Final = {
    # core: events.k8s.io
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
    "reportingInstance": "reportingInstance",
}
_ALWAYS_IN_CORE: Final[dict[str, Any]] = {"reportingComponent": "", "reportingInstance": ""}
_LABELS: Final = {
    name.replace("involvedObject", "regarding").replace("reportingComponent", "reportingController"): name
    for name in core.FIELD_LABELS
    if name != "source"
}


def to_core(event: Obj) -> Obj:
    """The stored form of an event of events.k8s.io."""
    out: Obj = {"apiVersion": "v1", "kind": "Event", **_ALWAYS_IN_CORE}
    out |= {name: event[name] for name in _SAME if name in event}
    return out | {name: event[other] for name, other in _RENAMED.items() if other in event}


def from_core(event: Obj) -> Obj:
    """A stored event as events.k8s.io shows it."""
    out: Obj = {"apiVersion": "events.k8s.io/v1", "kind": "Event"}
    out |= {name: event[name] for name in _SAME if name in event}
    for name, other in _RENAMED.items():
        if name in event and event[name] != _ALWAYS_IN_CORE.get(name, ()):
            out[other] = event[name]
    return out


def _validate_series(event: Obj) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors: list[FieldError] = []
    if series.get("count", 0) < 2:
        errors.append(invalid(Path("series.count"), "", "should be at least 2"))
    if series.get("lastObservedTime") is None:
        errors.append(required(Path("series.lastObservedTime")))
    return errors


def validate(event: Obj) -> list[FieldError]:
    stored = to_core(event)
    errors = core.validate(stored, "reportingController")
    errors += meta.validate_object_meta(event["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    errors += _validate_series(stored)
    if stored.get("eventTime") is None:
        errors.append(required(Path("eventTime")))
    if stored.get("type") not in ("Normal", "Warning"):
        errors.append(invalid(Path("type"), "", f"has invalid value: {stored.get('type', '')}"))
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if stored.get(name):
            errors.append(invalid(Path(name), "", "needs to be unset"))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    after, before = to_core(new), to_core(old)
    errors = core.validate(after, "reportingController")
    errors += meta.validate_object_meta_update(new["metadata"], old["metadata"])
    if after.get("series") != before.get("series"):
        errors += _validate_series(after)
    errors += _unchanged_struct(after, before, "involvedObject", "ObjectReference")
    errors += _unchanged(after, before, "reason", "message")
    errors += _unchanged_struct(after, before, "source", "EventSource")
    errors += _unchanged(
        after, before, "firstTimestamp", "lastTimestamp", "count", "reason", "type", "eventTime", "action"
    )
    errors += _unchanged_struct(after, before, "related", "ObjectReference")
    for name, shown in (("reportingComponent", "reportingController"), ("reportingInstance", "reportingInstance")):
        errors += meta.validate_immutable_field(after[name], before[name], Path(shown))
    return errors


_ZERO: Final[dict[str, Any]] = {"count": 0, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None}


def _unchanged(new: Obj, old: Obj, *names: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in names:
        zero = _ZERO.get(name, "")
        errors += meta.validate_immutable_field(new.get(name, zero), old.get(name, zero), Path(name))
    return errors


def _unchanged_struct(new: Obj, old: Obj, name: str, type_name: str) -> list[FieldError]:
    if new.get(name) == old.get(name):
        return []
    return [invalid(Path(name), struct_value(new.get(name), f"io.k8s.api.core.v1.{type_name}"), meta.IMMUTABLE)]


def fields(event: Obj) -> dict[str, str]:
    values = core.fields(to_core(event))
    return {label: values[name] for label, name in _LABELS.items()}


STRATEGIES: Final = {
    ("events.k8s.io", "events"): Strategy(
        validate_create=validate,
        update=UpdateStrategy(validate=validate_update),
        create_on_update=True,
        fields=fields,
        field_labels=frozenset(_LABELS),
        unsupported_field=unsupported_label,
    )
}
