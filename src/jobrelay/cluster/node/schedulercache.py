"""What the scheduler knows about nodes and the pods on them.

A pod counts as soon as it is assumed, before the watch shows its binding, so that no two pods get the same free
resources.
"""

from __future__ import annotations

from collections import Counter

from jobrelay.cluster.node.nodechoice import NodeChoice, NodeRejection, choose_node
from jobrelay.cluster.node.nodeinfo import AssignedPod, NodeInfo, NodeUsage, PodDemand
from jobrelay.cluster.node.preemption import PreemptionResult, preempt
from jobrelay.kube.objects import Key

LowerPods = dict[str, list[AssignedPod]]


class SchedulerCache:
    """Nodes, the pods assigned to them, and what these have taken."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        self._usage: dict[str, NodeUsage] = {}
        self._assigned: dict[Key, AssignedPod] = {}
        self._reserved: list[tuple[str, PodDemand]] = []
        self._priorities: Counter[int] = Counter()

    def update_node(self, info: NodeInfo) -> bool:
        """Stores a node; returns whether it differs from what was known."""
        changed = self._nodes.get(info.name) != info
        self._nodes[info.name] = info
        return changed

    def remove_node(self, name: str) -> None:
        self._nodes.pop(name, None)

    def assigned(self, key: Key) -> AssignedPod | None:
        return self._assigned.get(key)

    def assume(self, pod: AssignedPod) -> None:
        """Counts a pod against its node."""
        self._assigned[pod.key] = pod
        self._priorities[pod.priority] += 1
        self._usage.setdefault(pod.node, NodeUsage()).add(pod.demand)

    def forget(self, key: Key) -> bool:
        """Stops counting a pod; returns whether that freed anything."""
        pod = self._assigned.pop(key, None)
        if pod is None:
            return False
        self._usage[pod.node].add(pod.demand, -1)
        self._priorities[pod.priority] -= 1
        return True

    def choose(self, demand: PodDemand) -> NodeChoice:
        return choose_node(demand, list(self._nodes.values()), self._usage)

    def refuse(self, why: str) -> NodeChoice:
        """No node, for a reason that is not about nodes."""
        return NodeChoice("", dict.fromkeys(self._nodes, NodeRejection((why,))), why)

    def preempt(self, demand: PodDemand, choice: NodeChoice, lower: LowerPods) -> PreemptionResult:
        return preempt(demand, choice, self._nodes, self._usage, lower)

    def lower_pods(self, priority: int) -> LowerPods:
        """The pods of lower priority on each node."""
        lower: LowerPods = {}
        if not any(count and held < priority for held, count in self._priorities.items()):
            return lower
        for pod in self._assigned.values():
            if pod.priority < priority:
                lower.setdefault(pod.node, []).append(pod)
        return lower

    def reserve(self, node: str, demand: PodDemand) -> None:
        """Counts a nominated pod's demand against its node, until `release_reservations`."""
        if node in self._usage:
            self._usage[node].add(demand)
            self._reserved.append((node, demand))

    def release_reservations(self) -> None:
        for node, demand in self._reserved:
            self._usage[node].add(demand, -1)
        self._reserved.clear()
