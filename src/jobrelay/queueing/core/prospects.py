"""Whether a workload that did not fit might fit now: a cheap test that never says no wrongly.

Quota that was given back wakes only workloads that pass it. For each pod set and resource there has to be a flavor of
which enough is available, with what could be preempted in the workload's own queue. What can be reclaimed from other
queues is bounded only where the rules are simple: a cohort without a parent, no `borrowWithinCohort`, no fair sharing.
There a queue reclaims up to its own quota.
"""

from __future__ import annotations

from .model import PODS, FlavorResource, PodSetInfo, WorkloadInfo
from .tree import QueueNode


def may_fit(queue: QueueNode, workload: WorkloadInfo, *, fair: bool) -> bool:
    """Whether a search for flavors could end well, with all pods or with fewer."""
    if unbounded(queue, fair=fair):
        return True
    for pods, count in zip(workload.pod_sets, workload.counts(), strict=True):
        fewest = count if pods.min_count is None else min(count, pods.min_count)
        if not _holds(queue, workload.priority, pods, fewest):
            return False
    return True


def unbounded(queue: QueueNode, *, fair: bool) -> bool:
    """Whether what can be reclaimed is not bounded by the queue's own quota."""
    policy = queue.spec.preemption
    if queue.parent is None or policy.reclaim_within_cohort == "Never":
        return False
    return fair or policy.borrow_within_cohort != "Never" or queue.parent.parent is not None


def reachable(queue: QueueNode, each: FlavorResource, priority: int) -> int:
    """At most so much could be had of a quota by a workload of this priority, unless `unbounded`."""
    own = _own(queue, each, priority)
    most = max(0, queue.available(each)) + own
    if queue.parent is not None and queue.spec.preemption.reclaim_within_cohort != "Never":
        most = max(most, queue.nominal(each) - queue.usage.get(each, 0) + own)
    return most


def _own(queue: QueueNode, each: FlavorResource, priority: int) -> int:
    """What workloads of the same queue hold that may be preempted."""
    policy = queue.spec.preemption.within_cluster_queue
    if policy == "Never":
        return 0
    if policy == "LowerOrNewerEqualPriority":
        priority += 1
    return sum(used.get(each, 0) for of, used in queue.by_priority.items() if of < priority or policy == "Any")


def _holds(queue: QueueNode, priority: int, pods: PodSetInfo, count: int) -> bool:
    requests = [(name, each * count) for name, each in pods.requests.items()]
    if PODS in queue.group_of:
        requests.append((PODS, count))
    for name, amount in requests:
        group = queue.group_of.get(name)
        if group is not None and not any(
            amount <= reachable(queue, (each.flavor, name), priority) for each in group.flavors
        ):
            return False
    return True
