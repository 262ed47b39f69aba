"""What a worker's nodes have and what their pods take, kept up to date from watch events.

Pods are counted as the scheduler counts them: from the moment they are bound to a node until they end. Each event changes the
sums of one node, and a snapshot makes new facts of those nodes only that changed since the last one; the others stay the
same objects, by which placement sees that nothing has to be counted again.

A pod's requests are read once and shared among equal pods; later events look at its node and phase only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.apimachinery import quantity
from jobrelay.kinds.batch.job.names import CONTROLLER_UID
from jobrelay.kube import Object
from jobrelay.kube.errors import ProtocolError
from jobrelay.kube.objects import Key
from jobrelay.relay.model import Capacity, NodeFacts
from jobrelay.workloads.requests import pod_requests

__all__ = ["CapacityTracker"]

_ENDED: Final = ("Succeeded", "Failed")
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


class _Held(NamedTuple):
    """A pod that counts: on a node, or waiting for one if `node` is empty."""

    node: str
    requests: _Requests
    owner: str
    generation: int


class CapacityTracker:
    """The capacity of one worker. `node` and `pod` are handlers for stores of these kinds."""

    def __init__(self, unknown: str = "it has not been read yet") -> None:
        self._unknown = unknown
        self._nodes: dict[str, NodeFacts] = {}
        """Every node, without what its pods take."""
        self._used: dict[str, dict[str, Fraction]] = {}
        self._pods: dict[Key, _Held] = {}
        self._shared: dict[_Requests, _Requests] = {}
        self._bound: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._facts: dict[str, NodeFacts] = {}
        self._changed: dict[str, None] = {}
        self._last = Capacity(0, unknown=unknown)

    def known(self, unknown: str = "") -> None:
        """Say that nodes and pods are read completely, or why they are not."""
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
        """How many pods of these Jobs (by uid; None for all) wait for a node, gated ones left out."""
        return sum(count for owner, count in self._waiting.items() if owners is None or owner in owners)

    def bound(self, owner: str) -> int:
        """How many pods of a Job (by uid) are counted on nodes: what of it need not be reserved any more."""
        return self._bound[owner]

    def _read(self, pod: Object, before: _Held | None) -> _Held | None:
        """What a pod counts for; None if it has ended, is gated, or makes no sense."""
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
        shared = self._shared.setdefault(requests, requests)
        return _Held(view.spec.node_name, shared, metadata.labels.get(CONTROLLER_UID, ""), metadata.generation)

    def _count(self, held: _Held | None, times: int) -> None:
        if held is None:
            return
        owners = self._bound if held.node else self._waiting
        owners[held.owner] += times
        if not owners[held.owner]:
            del owners[held.owner]
        if held.node:
            used = self._used.setdefault(held.node, {"pods": Fraction(0)})
            used["pods"] += times
            for name, amount in held.requests:
                used[name] = used.get(name, Fraction(0)) + times * amount
            if not used["pods"]:
                del self._used[held.node]
            self._changed[held.node] = None


def _node_facts(node: Object) -> NodeFacts | None:
    """A node without its pods; None if it makes no sense, so that nobody counts on it."""
    try:
        view = node.decode(_Node)
        allocatable = {name: quantity.number(text) for name, text in view.status.allocatable.items()}
    except (ProtocolError, ValueError):
        return None
    return NodeFacts(node.name, node.metadata.labels, view.spec.taints, allocatable, {}, not view.spec.unschedulable)
