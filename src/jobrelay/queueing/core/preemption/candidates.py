"""Which workloads may be preempted for another one, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jobrelay.queueing.core.model import AdmittedWorkload, FlavorResource, PreemptionPolicy, WorkloadInfo
from jobrelay.queueing.core.tree import QueueNode

SortKey = tuple[bool, bool, int, float, str]


def allowed(policy: PreemptionPolicy, preemptor: WorkloadInfo, candidate: AdmittedWorkload) -> bool:
    """Whether a policy lets one workload preempt the other."""
    if policy == "Any":
        return True
    if policy == "Never":
        return False
    if preemptor.priority > candidate.priority:
        return True
    if policy == "LowerPriority" or preemptor.priority != candidate.priority:
        return False
    return preemptor.queued_at < candidate.queued_at


def uses(candidate: AdmittedWorkload, needed: Collection[FlavorResource]) -> bool:
    """Whether it holds any of what is needed."""
    usage = candidate.usage
    return any(each in usage for each in needed)


def order(candidate: AdmittedWorkload, queue: str) -> SortKey:
    """Those on their way out first, then other queues', lower priority, later admitted."""
    own = candidate.cluster_queue == queue
    return (not candidate.evicted, own, candidate.priority, -candidate.reserved_at, candidate.uid)


def members(
    node: QueueNode, policy: PreemptionPolicy, preemptor: WorkloadInfo, needed: Collection[FlavorResource]
) -> Iterator[AdmittedWorkload]:
    """The workloads of one queue that may be preempted."""
    if policy != "Never" and node.active:
        for each in node.workloads.values():
            if allowed(policy, preemptor, each) and uses(each, needed):
                yield each
