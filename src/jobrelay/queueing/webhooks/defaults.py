"""What an object gets when it is created: the default queue of its namespace, and the suspension in which it waits.

A delegated object is run by the relay, which asks whether it is admitted; it is not suspended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.queueing import names
from jobrelay.queueing.integrations.suspending import suspension_patch
from jobrelay.workloads import Adapter

DEFAULT_QUEUE: Final = "default"
"""The LocalQueue of objects that name none, in namespaces that have it."""

Patch = list[dict[str, Any]]


def default_patch(adapter: Adapter, obj: Object, queue: str | None, *, has_default: Callable[[str], bool]) -> Patch:
    """JSON patch operations on a new object; `queue` is its LocalQueue, None if it is not queued.

    `has_default` says of a namespace whether objects that name no queue are queued in its default one.
    """
    patch: Patch = []
    if not queue and names.QUEUE_NAME not in obj.metadata.labels and has_default(obj.namespace):
        queue = DEFAULT_QUEUE
        patch += _label(obj, names.QUEUE_NAME, queue)
    facts = adapter.read(obj)
    if queue is None or facts.suspended or facts.managed_by in adapter.managers:
        return patch
    return [*patch, *_suspension(obj.decode(), suspension_patch(adapter, suspend=True) or {})]


def _label(obj: Object, name: str, value: str) -> Patch:
    if not obj.metadata.labels:
        return [{"op": "add", "path": "/metadata/labels", "value": {name: value}}]
    return [{"op": "add", "path": f"/metadata/labels/{_escaped(name)}", "value": value}]


def _suspension(at: dict[str, Any], merge: dict[str, Any], path: str = "") -> Patch:
    """A merge patch as JSON patch operations; maps that are missing are added whole."""
    patch: Patch = []
    for name, value in merge.items():
        where, present = f"{path}/{_escaped(name)}", at.get(name)
        if isinstance(value, dict) and isinstance(present, dict):
            patch += _suspension(present, value, where)
        else:
            patch.append({"op": "add", "path": where, "value": value})
    return patch


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
