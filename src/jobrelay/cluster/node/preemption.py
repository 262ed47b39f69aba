"""Preemption: which pods a pod that fits nowhere may evict. Pure functions with kube-scheduler's rules and messages.

On each node all pods of lower priority are removed hypothetically. If the pod fits then, as many as possible are put
back, the most important first; the rest are the victims on that node. The node whose victims matter least is chosen.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jobrelay.cluster.node.nodechoice import NodeChoice, histogram, run_filters
from jobrelay.cluster.node.nodeinfo import AssignedPod, NodeInfo, NodeUsage, PodDemand

NEVER: Final = "not eligible due to preemptionPolicy=Never."
TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"


@dataclass(frozen=True, slots=True)
class PreemptionResult:
    """A node to nominate and its victims, or why preemption does not help on any node."""

    node: str = ""
    victims: Sequence[AssignedPod] = ()
    why_not: str = ""


def preempt(
    demand: PodDemand,
    choice: NodeChoice,
    nodes: Mapping[str, NodeInfo],
    usage: Mapping[str, NodeUsage],
    lower: Mapping[str, Sequence[AssignedPod]],
) -> PreemptionResult:
    """What to do for a pod that all nodes rejected; `lower` are the pods of lower priority on each node."""
    found: list[PreemptionResult] = []
    reasons: Counter[str] = Counter()
    for name, rejection in choice.rejected.items():
        if rejection.unresolvable:
            reasons[NOT_HELPFUL] += 1
        elif not lower.get(name):
            reasons[NO_VICTIMS] += 1
        else:
            remaining, victims = _victims(demand, nodes[name], usage[name], lower[name])
            if remaining:
                reasons.update(remaining)
            else:
                found.append(PreemptionResult(name, victims))
    if found:
        return min(found, key=_harm)
    return PreemptionResult(why_not=f"0/{len(choice.rejected)} nodes are available: {histogram(reasons)}.")


def _victims(
    demand: PodDemand, node: NodeInfo, used: NodeUsage, lower: Sequence[AssignedPod]
) -> tuple[Sequence[str], Sequence[AssignedPod]]:
    """The reasons that remain without any of the pods, or the pods that have to go."""
    left = copy.deepcopy(used)
    for pod in lower:
        left.add(pod.demand, -1)
    rejection = run_filters(demand, node, left)
    if rejection is not None:
        return rejection.reasons, ()
    victims = []
    for pod in sorted(lower, key=lambda pod: pod.importance):
        left.add(pod.demand)
        if run_filters(demand, node, left) is not None:
            left.add(pod.demand, -1)
            victims.append(pod)
    return (), victims


def _harm(preemption: PreemptionResult) -> tuple[int, int, int]:
    priorities = [victim.priority for victim in preemption.victims]
    return max(priorities), sum(priorities), len(priorities)
