"""The two APIs for Events: how a series is written in each."""

from __future__ import annotations

from typing import Any, Protocol

from jobrelay.apimachinery.times import format_micro_time, format_time
from jobrelay.kube.patch import Patch, merge_patch, strategic_patch
from jobrelay.kube.resource import EVENTS, EVENTS_CORE, Resource

from .correlation import CorrelationRules, EventSeries

__all__ = ["CORE_V1", "EVENTS_V1", "EventApi"]

_LONGEST_NOTE = 1024


class EventApi(Protocol):
    """One of the APIs: `EVENTS_V1` or `CORE_V1`."""

    resource: Resource
    rules: CorrelationRules

    def body(self, series: EventSeries, controller: str, instance: str) -> dict[str, Any]:
        """A new Event."""
        ...

    def change(self, series: EventSeries) -> Patch:
        """What repetitions change of it."""
        ...


class _EventsV1:
    resource = EVENTS
    rules = CorrelationRules(refresh=30.0, series_timeout=360.0)

    def body(self, series: EventSeries, controller: str, instance: str) -> dict[str, Any]:
        message = series.message
        body = _common(EVENTS, series) | {
            "eventTime": format_micro_time(series.first),
            "action": message.action or message.reason,
            "note": _shorten(series.note),
            "regarding": message.regarding.encode(),
            "reportingController": controller,
            "reportingInstance": instance[:128],
        }
        if message.related is not None:
            body["related"] = message.related.encode()
        return body | _repeated(series) if series.count > 1 else body

    def change(self, series: EventSeries) -> Patch:
        return merge_patch(_repeated(series))


class _CoreV1:
    resource = EVENTS_CORE
    rules = CorrelationRules(combine_from=10)

    def body(self, series: EventSeries, controller: str, instance: str) -> dict[str, Any]:
        message = series.message
        version = {"resourceVersion": message.version} if message.version else {}
        body = _common(EVENTS_CORE, series) | {
            "involvedObject": message.regarding.encode() | version,
            "message": series.note,
            "source": {"component": controller},
            "firstTimestamp": format_time(series.first),
            "lastTimestamp": format_time(series.last),
            "count": series.count,
        }
        return body if series.combined else body | {"reportingComponent": controller}

    def change(self, series: EventSeries) -> Patch:
        last = format_time(series.last)
        return strategic_patch({"count": series.count, "lastTimestamp": last, "message": series.note})


EVENTS_V1: EventApi = _EventsV1()
CORE_V1: EventApi = _CoreV1()


def _common(resource: Resource, series: EventSeries) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": series.name, "namespace": series.namespace},
        "type": series.message.type,
        "reason": series.message.reason,
    }


def _shorten(note: str) -> str:
    """At most as many bytes as the API server takes, not cut inside a character."""
    return note.encode()[:_LONGEST_NOTE].decode("utf-8", "ignore")


def _repeated(series: EventSeries) -> dict[str, Any]:
    return {"series": {"count": series.count, "lastObservedTime": format_micro_time(series.last)}}
