"""Whom a pod that finds no room may push aside: pure functions, with kube-scheduler's rules and words.

On each node all pods of lower priority are taken away in thought; if the pod fits then, as many as possible are put back, the most
important first. The rest are the victims there. The node whose victims matter least is chosen.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from jobrelay.cluster.node.nodechoice import NodeChoice, histogram, run_filters
from jobrelay.cluster.node.nodeinfo import NodeInfo, NodeUsage, PodDemand
from jobrelay.kube.objects import Key

NEVER: Final = "not eligible due to preemptionPolicy=Never."
TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"


class Holder(NamedTuple):
    """A pod that holds room on a node."""

    key: Key
    priority: int
    since: str  # the earlier, the more important
    demand: PodDemand

    @property
    def importance(self) -> tuple[int, str, Key]:
        """Sorts the most important first."""
        return -self.priority, self.since, self.key


@dataclass(frozen=True, slots=True)
class Preemption:
    """A node and who has to leave it, or why that helps nowhere."""

    node: str = ""
    victims: Sequence[Holder] = ()
    why_not: str = ""


def preempt(
    demand: PodDemand,
    rejected: NodeChoice,
    nodes: Mapping[str, NodeInfo],
    usage: Mapping[str, NodeUsage],
    lower: Mapping[str, Sequence[Holder]],
) -> Preemption:
    """What to do for a pod that was rejected; `lower` are the pods of lower priority on each node."""
    found: list[Preemption] = []
    reasons: Counter[str] = Counter()
    for name, rejection in rejected.rejected.items():
        if rejection.unresolvable:
            reasons[NOT_HELPFUL] += 1
        elif not lower.get(name):
            reasons[NO_VICTIMS] += 1
        else:
            still, victims = _victims(demand, nodes[name], usage[name], lower[name])
            if still:
                reasons.update(still)
            else:
                found.append(Preemption(name, victims))
    if found:
        return min(found, key=_harm)
    return Preemption(why_not=f"0/{len(rejected.rejected)} nodes are available: {histogram(reasons)}.")


def _victims(
    demand: PodDemand, node: NodeInfo, used: NodeUsage, lower: Sequence[Holder]
) -> tuple[Sequence[str], Sequence[Holder]]:
    """Why a node could not take the pod even then, or who has to leave."""
    left = copy.deepcopy(used)
    for holder in lower:
        left.add(holder.demand, -1)
    rejection = run_filters(demand, node, left)
    if rejection is not None:
        return rejection.reasons, ()
    victims = []
    for holder in sorted(lower, key=lambda holder: holder.importance):
        left.add(holder.demand)
        if run_filters(demand, node, left) is not None:
            left.add(holder.demand, -1)
            victims.append(holder)
    return (), victims


def _harm(preemption: Preemption) -> tuple[int, int, int]:
    priorities = [victim.priority for victim in preemption.victims]
    return max(priorities), sum(priorities), len(priorities)
