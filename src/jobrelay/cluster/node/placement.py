"""Which node a pod goes to: pure functions over what is asked and what there is.

Each node passes the same filters in the same order as in kube-scheduler and is refused by the first that says no, in
kube-scheduler's words, so that people find what they know in `kubectl describe`. Of the nodes that remain, the one with the
most preferred terms wins, then the one with the most room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.cluster.node.demand import Demand, NodeInfo, Usage
from jobrelay.kinds.core import nodematch

UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
NO_MATCH: Final = "node(s) didn't match Pod's node affinity/selector"
NO_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY: Final = "Too many pods"
_EMPTY: Final = Usage()
_ANY: Final = "0.0.0.0"
_NOTHING: Final = Fraction(0)


class Refusal(NamedTuple):
    """Why a node cannot take a pod. `hopeless` means that it could not even if it were empty."""

    reasons: tuple[str, ...]
    hopeless: bool = True


@dataclass(frozen=True, slots=True)
class Placement:
    """A node's name, or why there is none: what each node has against it."""

    node: str = ""
    refused: Mapping[str, Refusal] = field(default_factory=dict)

    def message(self, preemption: str = "") -> str:
        """Why no node was found, as kube-scheduler says it; `preemption` is why pushing others aside did not help."""
        if not self.refused:
            return "no nodes available to schedule pods"
        why = histogram(Counter(reason for refusal in self.refused.values() for reason in refusal.reasons))
        after = f" no new claims to deallocate, preemption: {preemption}" if preemption else ""
        return f"0/{len(self.refused)} nodes are available: {why}.{after}"


def histogram(reasons: Counter[str]) -> str:
    """How often each reason was given, sorted."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items() if count))


def place(demand: Demand, nodes: Sequence[NodeInfo], usage: Mapping[str, Usage]) -> Placement:
    """The best node for a pod, or the reasons why there is none."""
    refused: dict[str, Refusal] = {}
    fitting: list[NodeInfo] = []
    for node in nodes:
        refusal = refuse(demand, node, usage.get(node.name, _EMPTY))
        if refusal is None:
            fitting.append(node)
        else:
            refused[node.name] = refusal

    def score(node: NodeInfo) -> tuple[int, Fraction]:
        return _preference(demand, node), _room(demand, node, usage.get(node.name, _EMPTY))

    if not fitting:
        return Placement("", refused)
    return Placement((max(fitting, key=score) if len(fitting) > 1 else fitting[0]).name)


def refuse(demand: Demand, node: NodeInfo, used: Usage) -> Refusal | None:
    """Why a node cannot take a pod; None when it can."""
    tolerations = _decoded(demand.tolerations)
    if node.unschedulable and not nodematch.tolerated(nodematch.UNSCHEDULABLE, tolerations):
        return Refusal((UNSCHEDULABLE,))
    if nodematch.untolerated(node.taints, tolerations):
        return Refusal((TAINTED,))
    if not nodematch.matches(demand.node_selector, _decoded(demand.affinity), node.name, node.labels):
        return Refusal((NO_MATCH,))
    if any(_conflicts(port, used) for port in demand.ports):
        return Refusal((NO_PORTS,), hopeless=False)
    return _insufficient(demand, node, used)


def _insufficient(demand: Demand, node: NodeInfo, used: Usage) -> Refusal | None:
    found, hopeless = [], False
    if used.pods + 1 > node.allocatable.get("pods", 0):
        found.append(TOO_MANY)
    for name, amount in demand.requests:
        has = node.allocatable.get(name, _NOTHING)
        if amount > has - used.requests.get(name, _NOTHING):
            found.append(f"Insufficient {name}")
            hopeless = hopeless or amount > has
    return Refusal(tuple(found), hopeless) if found else None


def _conflicts(port: tuple[str, str, int], used: Usage) -> bool:
    return any(
        count > 0
        and (taken[0], taken[2]) == (port[0], port[2])
        and (taken[1] == port[1] or _ANY in (taken[1], port[1]))
        for taken, count in used.ports.items()
    )


def _room(demand: Demand, node: NodeInfo, used: Usage) -> Fraction:
    """How much stays free, as a share of what there is: pods spread over equal nodes."""
    share = Fraction(0)
    wanted = dict(demand.requests)
    for name in ("cpu", "memory"):
        total = node.allocatable.get(name, Fraction(0))
        if total:
            share += 1 - (used.requests.get(name, Fraction(0)) + wanted.get(name, Fraction(0))) / total
    return share - Fraction(used.pods, 1_000_000)


def _preference(demand: Demand, node: NodeInfo) -> int:
    return nodematch.preference(_decoded(demand.affinity), node.name, node.labels)


@lru_cache(1024)
def _decoded(raw: bytes) -> Any:
    return msgspec.json.decode(raw)
