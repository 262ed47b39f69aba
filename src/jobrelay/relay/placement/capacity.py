"""What a worker's nodes offer and what their pods request, kept up to date from watch events.

Pods are counted as the scheduler counts them: from the moment they are bound to a node until they end. Each event
changes the sums of one node, and a snapshot replaces only the facts of nodes that changed since the last one. The
others stay the same objects, by which placement recognises that they need not be added up again.

A pod's requests are read once and shared among equal pods; later events read only its node and phase.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.apimachinery import quantity
from jobrelay.kube import Object
from jobrelay.kube.errors import ProtocolError
from jobrelay.kube.objects import Key
from jobrelay.relay.model import Capacity, NodeFacts
from jobrelay.relay.signal import Signal
from jobrelay.workloads.requests import pod_requests

POD_OWNER: Final = "jobrelay.dev/mirror-uid"
"""The label by which pods say whose they are, in the form in which they are kept here."""
_ENDED: Final = ("Succeeded", "Failed")
_MOST_SHARED: Final = 4096
_Requests = tuple[tuple[str, Fraction], ...]


class _PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    scheduling_gates: tuple[Any, ...] = ()


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True, gc=False):
    spec: _PodSpec = _PodSpec()
    status: _Status = _Status()


class _NodeSpec(msgspec.Struct, frozen=True, gc=False):
    taints: tuple[dict[str, Any], ...] = ()
    unschedulable: bool = False


class _NodeStatus(msgspec.Struct, frozen=True, gc=False):
    allocatable: dict[str, str] = {}


class _Node(msgspec.Struct, frozen=True, gc=False):
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _CountedPod(NamedTuple):
    """A pod that is counted: on a node, or waiting for one if `node` is empty."""

    node: str
    requests: _Requests
    owner: str
    generation: int


class CapacityTracker:
    """The capacity of one worker. `node` and `pod` are event handlers for caches of these kinds."""

    def __init__(self, unknown: str = "it has not been read yet") -> None:
        self._unknown = unknown
        self._nodes: dict[str, NodeFacts] = {}
        """Every node, without the requests of its pods."""
        self._used: dict[str, dict[str, Fraction]] = {}
        self._pods: dict[Key, _CountedPod] = {}
        self._shared: dict[_Requests, _Requests] = {}
        self._bound: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._facts: dict[str, NodeFacts] = {}
        self._changed: dict[str, None] = {}
        self._last = Capacity(0, unknown=unknown)
        self._pod_bound: Signal[[str, Mapping[str, Fraction]]] = Signal()

    def subscribe(self, callback: Callable[[str, Mapping[str, Fraction]], None]) -> Callable[[], None]:
        """Have `callback` called for each pod of a mirror that is counted on a node from now on; how to unsubscribe.

        It gets the uid of the mirror and what the pod requests, `pods` included.
        """
        return self._pod_bound.subscribe(callback)

    def known(self, unknown: str = "") -> None:
        """Set whether nodes and pods have been read completely; if not, `unknown` says why."""
        self._unknown = unknown

    @property
    def is_known(self) -> bool:
        return not self._unknown

    def node(self, old: Object | None, new: Object | None) -> None:
        """A node was added, changed or removed."""
        obj = new or old
        if obj is None:
            return
        before = self._nodes.pop(obj.name, None)
        after = _node_facts(new) if new is not None else None
        if after is not None:
            self._nodes[obj.name] = after
        if after != before:
            self._changed[obj.name] = None

    def pod(self, old: Object | None, new: Object | None) -> None:
        """A pod was added, changed or removed."""
        obj = new or old
        if obj is None:
            return
        before = self._pods.pop(obj.key, None)
        after = self._read(new, before) if new is not None else None
        if after is not None:
            self._pods[obj.key] = after
        if after != before:
            self._count(before, -1)
            self._count(after, 1)
            if after is not None and after.node and after.owner and (before is None or not before.node):
                self._pod_bound(after.owner, {**dict(after.requests), "pods": Fraction(1)})

    def snapshot(self) -> Capacity:
        """The capacity now; the same object as before if nothing changed."""
        if not self._changed and self._unknown == self._last.unknown:
            return self._last
        for name in self._changed:
            if name in self._nodes:
                self._facts[name] = replace(self._nodes[name], used=dict(self._used.get(name, {})))
            else:
                self._facts.pop(name, None)
        self._changed.clear()
        nodes = () if self._unknown else tuple(self._facts.values())
        self._last = Capacity(self._last.version + 1, nodes, self._unknown)
        return self._last

    def pending(self, owners: Container[str] | None = None) -> int:
        """How many pods of these mirrors (by uid; None for all) wait for a node, without gated ones."""
        return sum(count for owner, count in self._waiting.items() if owners is None or owner in owners)

    def bound(self, owner: str) -> int:
        """How many pods of a mirror (by uid) are counted on nodes and need no reservation any more."""
        return self._bound[owner]

    def _read(self, pod: Object, before: _CountedPod | None) -> _CountedPod | None:
        """A pod as it is counted; None if it has ended, is gated, or is malformed."""
        try:
            view = pod.decode(_Pod)
            if view.status.phase in _ENDED:
                return None
            if not view.spec.node_name and (view.spec.scheduling_gates or pod.deleting):
                return None
            metadata = pod.metadata
            if before is not None and before.generation == metadata.generation:
                requests = before.requests
            else:
                requests = tuple(sorted(pod_requests(pod.decode()["spec"]).items()))
        except (ProtocolError, ValueError, TypeError, KeyError, AttributeError):
            return None
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        shared = self._shared.setdefault(requests, requests)
        return _CountedPod(view.spec.node_name, shared, metadata.labels.get(POD_OWNER, ""), metadata.generation)

    def _count(self, counted: _CountedPod | None, times: int) -> None:
        if counted is None:
            return
        owners = self._bound if counted.node else self._waiting
        owners[counted.owner] += times
        if not owners[counted.owner]:
            del owners[counted.owner]
        if counted.node:
            used = self._used.setdefault(counted.node, {"pods": Fraction(0)})
            used["pods"] += times
            for name, amount in counted.requests:
                used[name] = used.get(name, Fraction(0)) + times * amount
            if not used["pods"]:
                del self._used[counted.node]
            self._changed[counted.node] = None


def _node_facts(node: Object) -> NodeFacts | None:
    """A node without its pods; None if it is malformed, so that nothing is placed on it."""
    try:
        view = node.decode(_Node)
        allocatable = {name: quantity.number(text) for name, text in view.status.allocatable.items()}
    except (ProtocolError, ValueError):
        return None
    return NodeFacts(node.name, node.metadata.labels, view.spec.taints, allocatable, {}, not view.spec.unschedulable)
