"""What an object gets when it is created: the default queue of its namespace, and the suspension in which it waits.

An object whose queue sends workloads to other clusters is delegated by `managedBy`. A delegated object is run by the
relay, which asks whether it is admitted; it is not suspended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.queueing import names
from jobrelay.queueing.integrations.suspending import suspension_patch
from jobrelay.workloads import Adapter
from jobrelay.workloads.declared.paths import plain
from jobrelay.workloads.names import MULTIKUEUE

DEFAULT_QUEUE: Final = "default"
"""The LocalQueue of objects that name none, in namespaces that have it."""

_NATIVE: Final = "kubernetes.io/job-controller"
Patch = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class QueueLookup:
    """What is looked up about queues.

    `queue_of` returns the LocalQueue of an object, None if it is not queued; `has_default` whether objects of a
    namespace that name no queue are queued in its default one; `sends_on` whether a LocalQueue, given by namespace and
    name, sends workloads to other clusters.
    """

    queue_of: Callable[[Adapter, Object], str | None]
    has_default: Callable[[str], bool]
    sends_on: Callable[[str, str], bool]


def default_patch(adapter: Adapter, obj: Object, queues: QueueLookup) -> Patch:
    """JSON patch operations on a new object."""
    queue = queues.queue_of(adapter, obj)
    patch: Patch = []
    if not queue and names.QUEUE_NAME not in obj.metadata.labels and queues.has_default(obj.namespace):
        queue = DEFAULT_QUEUE
        patch += _label(obj, names.QUEUE_NAME, queue)
    if queue is None:
        return patch
    facts = adapter.read(obj)
    if facts.managed_by in ("", None, _NATIVE) and not adapter.runs_anyway and queues.sends_on(obj.namespace, queue):
        return [*patch, *_merged(obj.decode(), _delegation(adapter))]
    if facts.suspended or facts.managed_by in adapter.managers:
        return patch
    return [*patch, *_merged(obj.decode(), suspension_patch(adapter, suspend=True) or {})]


def _delegation(adapter: Adapter) -> dict[str, Any]:
    """A merge patch that hands an object to the relay, by the value that Kueue uses where its kind accepts that."""
    manager: Any = MULTIKUEUE if MULTIKUEUE in adapter.managers else min(adapter.managers)
    for part in reversed(plain(adapter.managed_by_path)):
        manager = {part: manager}
    found: dict[str, Any] = manager
    return found


def _label(obj: Object, name: str, value: str) -> Patch:
    if not obj.metadata.labels:
        return [{"op": "add", "path": "/metadata/labels", "value": {name: value}}]
    return [{"op": "add", "path": f"/metadata/labels/{_escaped(name)}", "value": value}]


def _merged(at: dict[str, Any], merge: dict[str, Any], path: str = "") -> Patch:
    """A merge patch as JSON patch operations; maps that are missing are added whole."""
    patch: Patch = []
    for name, value in merge.items():
        where, present = f"{path}/{_escaped(name)}", at.get(name)
        if isinstance(value, dict) and isinstance(present, dict):
            patch += _merged(present, value, where)
        else:
            patch.append({"op": "add", "path": where, "value": value})
    return patch


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
