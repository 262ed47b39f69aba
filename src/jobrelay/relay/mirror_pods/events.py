"""The events about a mirror and its pods, or about an original."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jobrelay.kube import Client, Object
from jobrelay.kube.resource import EVENTS_CORE

_MOST_PODS: Final = 20


async def events_of(client: Client, objects: Iterable[Object], cluster: str = "") -> list[dict[str, Any]]:
    """The events about these objects of one cluster, which is the management cluster if it has no name; raises
    KubeError."""
    found = []
    for obj in list(objects)[: _MOST_PODS + 1]:
        selector = f"involvedObject.uid={obj.uid}"
        listed = await client.list(EVENTS_CORE, obj.namespace, field_selector=selector)
        found += [event_view(each.decode(), cluster) for each in listed.items]
    return found


def event_view(event: dict[str, Any], cluster: str = "") -> dict[str, Any]:
    """What is shown of an event."""
    about, series = event.get("involvedObject") or {}, event.get("series") or {}
    first = event.get("firstTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or ""
    last = event.get("lastTimestamp") or series.get("lastObservedTime") or first
    return {
        "time": last,
        "type": event.get("type", ""),
        "reason": event.get("reason", ""),
        "message": event.get("message", ""),
        "object": f"{about.get('kind', '')}/{about.get('name', '')}",
        "count": event.get("count") or series.get("count") or 1,
        "cluster": cluster,
    }
