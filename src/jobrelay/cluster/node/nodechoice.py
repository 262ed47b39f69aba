"""Filtering and scoring: which node a pod goes to, as pure functions.

Nodes pass the same filters in the same order as in kube-scheduler. The first filter that fails rejects the node with
kube-scheduler's message, so that `kubectl describe` shows familiar reasons. Of the nodes that remain, the one that
matches the most preferred terms wins, then the one with the most free resources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.cluster.node.nodeinfo import NodeInfo, NodeUsage, PodDemand
from jobrelay.kinds.core import nodematch

UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
NO_MATCH: Final = "node(s) didn't match Pod's node affinity/selector"
NO_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY: Final = "Too many pods"
_EMPTY: Final = NodeUsage()
_ANY: Final = "0.0.0.0"
_NOTHING: Final = Fraction(0)


class NodeRejection(NamedTuple):
    """Why a node cannot take a pod. `unresolvable` means that it could not even if it were empty."""

    reasons: tuple[str, ...]
    unresolvable: bool = True


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """The name of the chosen node, or each node's rejection if none fits.

    `before` is why no node was tried; it then stands for the rejections, which all are the same.
    """

    node: str = ""
    rejected: Mapping[str, NodeRejection] = field(default_factory=dict)
    before: str = ""

    def message(self, preemption: str = "") -> str:
        """Why no node was found, in kube-scheduler's format; `preemption` is why preemption did not help."""
        if not self.rejected:
            return "no nodes available to schedule pods"
        found = Counter(reason for rejection in self.rejected.values() for reason in rejection.reasons)
        reasons = self.before or histogram(found)
        after = f" no new claims to deallocate, preemption: {preemption}" if preemption else ""
        return f"0/{len(self.rejected)} nodes are available: {reasons}.{after}"


def histogram(reasons: Counter[str]) -> str:
    """The reasons with their counts, sorted."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items() if count))


def choose_node(demand: PodDemand, nodes: Sequence[NodeInfo], usage: Mapping[str, NodeUsage]) -> NodeChoice:
    """The best node for a pod, or why no node fits."""
    rejected: dict[str, NodeRejection] = {}
    fitting: list[NodeInfo] = []
    for node in nodes:
        rejection = run_filters(demand, node, usage.get(node.name, _EMPTY))
        if rejection is None:
            fitting.append(node)
        else:
            rejected[node.name] = rejection

    def score(node: NodeInfo) -> tuple[int, Fraction]:
        preference = nodematch.preference(_decoded(demand.affinity), node.name, node.labels)
        return preference, _free_share(demand, node, usage.get(node.name, _EMPTY))

    if not fitting:
        return NodeChoice("", rejected)
    return NodeChoice((max(fitting, key=score) if len(fitting) > 1 else fitting[0]).name)


def run_filters(demand: PodDemand, node: NodeInfo, used: NodeUsage) -> NodeRejection | None:
    """Why a node cannot take a pod; None if it can."""
    tolerations = _decoded(demand.tolerations)
    if node.unschedulable and not nodematch.tolerated(nodematch.UNSCHEDULABLE, tolerations):
        return NodeRejection((UNSCHEDULABLE,))
    if nodematch.untolerated(node.taints, tolerations):
        return NodeRejection((TAINTED,))
    if not nodematch.matches(demand.node_selector, _decoded(demand.affinity), node.name, node.labels):
        return NodeRejection((NO_MATCH,))
    if any(_conflicts(port, used) for port in demand.ports):
        return NodeRejection((NO_PORTS,), unresolvable=False)
    return _insufficient(demand, node, used)


def _insufficient(demand: PodDemand, node: NodeInfo, used: NodeUsage) -> NodeRejection | None:
    found, unresolvable = [], False
    if used.pods + 1 > node.allocatable.get("pods", 0):
        found.append(TOO_MANY)
    for name, amount in demand.requests:
        has = node.allocatable.get(name, _NOTHING)
        if amount > has - used.requests.get(name, _NOTHING):
            found.append(f"Insufficient {name}")
            unresolvable = unresolvable or amount > has
    return NodeRejection(tuple(found), unresolvable) if found else None


def _conflicts(port: tuple[str, str, int], used: NodeUsage) -> bool:
    return any(
        count > 0
        and (taken[0], taken[2]) == (port[0], port[2])
        and (taken[1] == port[1] or _ANY in (taken[1], port[1]))
        for taken, count in used.ports.items()
    )


def _free_share(demand: PodDemand, node: NodeInfo, used: NodeUsage) -> Fraction:
    """The share of CPU and memory that stays free, so that pods spread over equal nodes."""
    share = Fraction(0)
    wanted = dict(demand.requests)
    for name in ("cpu", "memory"):
        total = node.allocatable.get(name, Fraction(0))
        if total:
            share += 1 - (used.requests.get(name, Fraction(0)) + wanted.get(name, Fraction(0))) / total
    return share - Fraction(used.pods, 1_000_000)


@lru_cache(1024)
def _decoded(raw: bytes) -> Any:
    return msgspec.json.decode(raw)
