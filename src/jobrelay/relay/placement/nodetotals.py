"""A worker's nodes added up for one set of requirements, and updated node by node.

Adding up is the expensive part of placement, and usually one node of many has changed since the last time. Each node
contributes a row of numbers. `NodeTotals` keeps the sum of the rows; for a node that changed it subtracts the old row
and adds the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from jobrelay.kinds.core import nodematch
from jobrelay.relay.model import NodeFacts

from .amounts import floor_milli
from .requirements import PodSetRequirements, WorkloadRequirements

_TEMPORARY_TAINT: Final = "node.kubernetes.io/"
_HEAD: Final = 4
_MANY: Final = 2**62


class NodeResources:
    """A node with its allocatable and free amounts in thousandths."""

    __slots__ = ("allocatable", "free", "node")

    def __init__(self, node: NodeFacts) -> None:
        self.node = node
        self.allocatable = {name: floor_milli(amount) for name, amount in node.allocatable.items()}
        used = {name: floor_milli(amount) for name, amount in node.used.items()}
        self.free = {name: max(amount - used.get(name, 0), 0) for name, amount in self.allocatable.items()}


def sum_nodes(nodes: Sequence[NodeResources]) -> dict[str, tuple[int, int]]:
    """By resource: allocatable and free on all nodes together; empty if some node does not take every pod."""
    sums: dict[str, tuple[int, int]] = {}
    for info in nodes:
        if info.node.taints or not info.node.schedulable:
            return {}
        for name, amount in info.allocatable.items():
            allocatable, free = sums.get(name, (0, 0))
            sums[name] = allocatable + amount, free + info.free[name]
    return sums


class NodeTotals:
    """Sums over the nodes of one worker for one set of requirements."""

    __slots__ = ("_any_node", "_prefers", "_requirements", "_total", "nodes", "resources")

    def __init__(self, requirements: WorkloadRequirements) -> None:
        self._requirements = requirements
        self.resources = _resources(requirements)
        """Name, average request of a pod, request of all pods."""
        self.nodes: Sequence[NodeResources] = ()
        self._any_node = any(not pods.selects_nodes for pods in requirements.pod_sets)
        self._prefers = any(pods.affinity for pods in requirements.pod_sets)
        self._total = [0] * (_HEAD + 4 * len(self.resources))

    def update(self, nodes: Sequence[NodeResources]) -> None:
        """Bring the sums up to date with these nodes."""
        if len(nodes) != len(self.nodes):
            self.nodes, self._total = (), [0] * len(self._total)
        for old, new in zip_longest(self.nodes, nodes):
            if old is new or (old is not None and self._shift(old, new)):
                continue
            before = self._row(old) if old is not None else [0] * len(self._total)
            rows = zip(self._total, before, self._row(new), strict=True)
            self._total = [total - less + more for total, less, more in rows]
        self.nodes = nodes

    def _shift(self, old: NodeResources, new: NodeResources) -> bool:
        """Take over a node of which only the requests of its pods have changed; False if it is not such a node."""
        before, after = old.node, new.node
        if not self._any_node or not after.schedulable or after.taints or before.taints or not before.schedulable:
            return False
        if before.allocatable is not after.allocatable or before.labels is not after.labels:
            return False
        total, at, least, fewest = self._total, _HEAD, _MANY, _MANY
        for name, each, _ in self.resources:
            was, now = old.free.get(name, 0), new.free.get(name, 0)
            held = holds = was // each
            if was != now:
                holds = now // each
                total[at + 1] += now - was
                total[at + 2] += holds - held
            least, fewest = min(least, held), min(fewest, holds)
            at += 4
        total[2] += fewest - least
        return True

    @property
    def head(self) -> tuple[int, int, int, int]:
        """Nodes that accept the pods, those of them in service, and how many pods fit now and on empty nodes."""
        eligible, serving, now, empty = self._total[:_HEAD]
        pod_sets, nodes = self._requirements.pod_sets, self.nodes
        if len(pod_sets) == 1:
            return eligible, serving, now, empty
        if not all(any(_accepts(info.node, pods, empty=True) for info in nodes) for pods in pod_sets if pods.count):
            return 0, 0, 0, 0
        return eligible, serving, _packed(pod_sets, nodes, empty=False), _packed(pod_sets, nodes, empty=True)

    @property
    def sums(self) -> list[list[int]]:
        """Of each resource: allocatable and free on nodes in service, pods that fit by it, and free on other nodes."""
        return [self._total[index : index + 4] for index in range(_HEAD, len(self._total), 4)]

    @property
    def preference(self) -> float:
        """How well the best node in service meets the preferred node affinity: 0 to 1."""
        if not self._prefers:
            return 0.0
        return max(_preference(pods, self.nodes) for pods in self._requirements.pod_sets)

    def _row(self, info: NodeResources) -> list[int]:
        """The contribution of one node to the sums."""
        node, pod_sets = info.node, self._requirements.pod_sets
        plain = node.schedulable and not node.taints
        accepted = (plain and self._any_node) or any(_accepts(node, pods, empty=True) for pods in pod_sets)
        serving = accepted if plain else any(_accepts(node, pods, empty=False) for pods in pod_sets)
        row = [accepted, serving, 0, 0]
        now, empty = [], []
        for name, each, _ in self.resources:
            allocatable, free = info.allocatable.get(name, 0), info.free.get(name, 0)
            fitting = free // each
            empty.append(allocatable // each)
            now.append(fitting)
            row += (allocatable, free, fitting, 0) if serving else (0, 0, 0, free if node.schedulable else 0)
        row[2:_HEAD] = min(now) if serving else 0, min(empty) if accepted else 0
        return row


def _resources(requirements: WorkloadRequirements) -> list[tuple[str, int, int]]:
    wanted: dict[str, int] = {}
    for pods in requirements.pod_sets:
        for name, amount in pods.requests:
            wanted[name] = wanted.get(name, 0) + amount * pods.count
    single = dict(requirements.pod_sets[0].requests) if len(requirements.pod_sets) == 1 else {}
    count = max(requirements.pods, 1)
    return [(name, single.get(name) or max(-(-total // count), 1), total) for name, total in wanted.items()]


def _accepts(node: NodeFacts, pods: PodSetRequirements, *, empty: bool) -> bool:
    """Whether labels and taints of a node admit these pods; `empty` ignores cordons and taints that are temporary."""
    if not empty and not node.schedulable and not nodematch.tolerated(nodematch.UNSCHEDULABLE, pods.tolerations):
        return False
    if node.taints:
        taints: Iterable[Mapping[str, Any]] = node.taints
        if empty:
            taints = [taint for taint in taints if not str(taint.get("key", "")).startswith(_TEMPORARY_TAINT)]
        if nodematch.untolerated(taints, pods.tolerations):
            return False
    return not pods.selects_nodes or nodematch.matches(pods.selector, pods.affinity, node.name, node.labels)


def _packed(pod_sets: Sequence[PodSetRequirements], nodes: Sequence[NodeResources], *, empty: bool) -> int:
    """How many pods of several sets fit, packed set by set and node by node; 0 if no pod of one set fits."""
    left = [dict(info.allocatable if empty else info.free) for info in nodes]
    placed = 0
    for pods in pod_sets:
        missing = pods.count
        for info, free in zip(nodes, left, strict=True):
            if not missing:
                break
            if not _accepts(info.node, pods, empty=empty):
                continue
            count = min(missing, *[free.get(name, 0) // amount for name, amount in pods.requests])
            for name, amount in pods.requests if count else ():
                free[name] -= count * amount
            missing -= count
        if pods.count and missing == pods.count:
            return 0
        placed += pods.count - missing
    return placed


def _preference(pods: PodSetRequirements, infos: Sequence[NodeResources]) -> float:
    preferred = (pods.affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution")
    if not preferred:
        return 0.0
    most = sum(term.get("weight", 0) for term in preferred)
    nodes = [info.node for info in infos if _accepts(info.node, pods, empty=False)]
    best = max((nodematch.preference(pods.affinity, node.name, node.labels) for node in nodes), default=0)
    return best / most if most else 0.0
