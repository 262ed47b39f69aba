"""The values that admission is decided from: quotas, flavors, queues, and workloads that wait or hold quota.

Amounts are integers, thousandths for `cpu` and units for everything else (`amounts`); times are seconds since the
epoch. Everything here is immutable. What changes, usage above all, is in `Snapshot`, and the pending workloads are in
`PendingQueues`.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from jobrelay.apimachinery.selectors import Selector

FlavorResource = tuple[str, str]
"""The name of a ResourceFlavor and of a resource: quota is kept for each such pair."""
Usage = Mapping[FlavorResource, int]
"""Amounts by flavor and resource."""

PreemptionPolicy = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"]
QueueingStrategy = Literal["BestEffortFIFO", "StrictFIFO"]
StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
FungibilityPolicy = Literal["MayStopSearch", "TryNextFlavor"]

PODS: Final = "pods"
"""The resource that counts pods: no pod requests it, each pod takes one where a queue covers it."""


class Quota(msgspec.Struct, frozen=True):
    """What one queue or cohort has of one resource in one flavor."""

    nominal: int
    borrowing_limit: int | None = None
    """How much more than its own it may use; None: whatever the cohort has left."""
    lending_limit: int | None = None
    """How much of its own others may use; None: all of it."""


class FlavorQuotas(msgspec.Struct, frozen=True):
    """The quotas of one flavor, by resource."""

    flavor: str
    quotas: Mapping[str, Quota]


class ResourceGroup(msgspec.Struct, frozen=True):
    """Resources that get their flavor together, and the flavors in the order in which they are tried."""

    resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class FlavorSpec(msgspec.Struct, frozen=True):
    """A ResourceFlavor: the nodes that it stands for."""

    name: str
    node_labels: Mapping[str, str] = {}
    node_taints: tuple[Mapping[str, Any], ...] = ()
    tolerations: tuple[Mapping[str, Any], ...] = ()


class FlavorFungibility(msgspec.Struct, frozen=True):
    """When the search continues after a flavor was found that would do."""

    when_can_borrow: FungibilityPolicy = "MayStopSearch"
    when_can_preempt: FungibilityPolicy = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] = "BorrowingOverPreemption"


class PreemptionSpec(msgspec.Struct, frozen=True):
    """Which workloads one of this queue may preempt."""

    within_cluster_queue: PreemptionPolicy = "Never"
    reclaim_within_cohort: PreemptionPolicy = "Never"
    borrow_within_cohort: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None
    """borrow_within_cohort takes only victims of at most this priority."""


class AdmissionCheckRule(msgspec.Struct, frozen=True):
    """An admission check, and the flavors that it is for; all if empty."""

    name: str
    on_flavors: frozenset[str] = frozenset()


class CohortSpec(msgspec.Struct, frozen=True):
    """A Cohort. One that is only named by a queue has no quota and no parent."""

    name: str
    parent: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    weight: float = 1.0
    """Its weight in fair sharing."""


class ClusterQueueSpec(msgspec.Struct, frozen=True):
    """A ClusterQueue."""

    name: str
    groups: tuple[ResourceGroup, ...] = ()
    cohort: str | None = None
    strategy: QueueingStrategy = "BestEffortFIFO"
    namespace_selector: Selector = Selector()
    fungibility: FlavorFungibility = FlavorFungibility()
    preemption: PreemptionSpec = PreemptionSpec()
    weight: float = 1.0
    stop_policy: StopPolicy = "None"
    checks: tuple[AdmissionCheckRule, ...] = ()
    active: bool = True
    """False if something that it names is missing; a stopped queue is inactive too (`takes_workloads`)."""

    @property
    def takes_workloads(self) -> bool:
        """Whether workloads may get quota from it."""
        return self.active and self.stop_policy == "None"


class PodSetInfo(msgspec.Struct, frozen=True):
    """Pods of one workload that are alike."""

    name: str
    count: int
    requests: Mapping[str, int]
    """What one pod requests."""
    min_count: int | None = None
    """With fewer pods than `count` but at least as many as this the workload can start, too."""
    node_selector: Mapping[str, str] = {}
    node_affinity: Mapping[str, Any] | None = None
    """The pod's `affinity.nodeAffinity`."""
    tolerations: tuple[Mapping[str, Any], ...] = ()


class PodSetAssignment(msgspec.Struct, frozen=True):
    """What a pod set got: its flavor by resource, how many pods, and the amounts for all of them."""

    name: str
    count: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]


class Admission(msgspec.Struct, frozen=True):
    """`status.admission` of a Workload."""

    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]

    def usage(self, pods: Mapping[str, int] | None = None) -> dict[FlavorResource, int]:
        """What it takes of each quota; `pods`: how many pods of each pod set still need theirs, fewer than admitted."""
        total: dict[FlavorResource, int] = {}
        for each in self.pod_sets:
            needed = each.count if pods is None else min(each.count, pods.get(each.name, each.count))
            for resource, flavor in each.flavors.items():
                amount = each.usage.get(resource, 0)
                amount = amount if needed == each.count else amount // each.count * needed
                total[flavor, resource] = total.get((flavor, resource), 0) + amount
        return total


class WorkloadInfo(msgspec.Struct, frozen=True):
    """A Workload, as far as admission is concerned."""

    key: str
    """`namespace/name`."""
    uid: str
    cluster_queue: str
    pod_sets: tuple[PodSetInfo, ...]
    priority: int = 0
    queued_at: float = 0.0
    """What orders workloads of one priority: `requeueing.order_timestamp`."""
    namespace: str = ""
    local_queue: str = ""
    job_uid: str = ""
    reclaimable: Mapping[str, int] = {}
    """Pods by pod set that have ended, and need no quota any more."""
    requeue_at: float | None = None
    """Not before this time: `status.requeueState.requeueAt`."""
    waits: bool = False
    """Its condition Requeued is False: it waits for a back-off, a restart of its queue or its activation."""
    failed_checks: bool = False
    """An admission check says Retry or Rejected."""
    problem: str = ""
    """Why it cannot be admitted whatever the quota, in words: invalid resources, limit ranges."""

    def counts(self) -> tuple[int, ...]:
        """How many pods of each pod set need quota."""
        return tuple(each.count - min(each.count, self.reclaimable.get(each.name, 0)) for each in self.pod_sets)

    def shape(self) -> str:
        """What its verdict depends on: workloads of one shape in one queue are admitted or refused alike."""
        shape = _shape(self.pod_sets, self.counts(), self.priority)
        return f"{shape} {self.problem}" if self.problem else shape


class AdmittedWorkload(msgspec.Struct, frozen=True):
    """A workload that holds quota."""

    key: str
    uid: str
    cluster_queue: str
    usage: Usage
    priority: int = 0
    queued_at: float = 0.0
    reserved_at: float = 0.0
    """Since when it holds quota."""
    evicted: bool = False
    """It is being evicted already, and will give its quota back."""
    pods_ready: bool = True


def _shape(pod_sets: Sequence[PodSetInfo], counts: tuple[int, ...], priority: int) -> str:
    encoded = _encode([[_constraints(each) for each in pod_sets], counts, priority])
    return _digest(encoded)


def _constraints(each: PodSetInfo) -> list[object]:
    return [each.name, each.requests, each.min_count, each.node_selector, each.node_affinity, each.tolerations]


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


@functools.lru_cache(4096)
def _digest(encoded: bytes) -> str:
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()
