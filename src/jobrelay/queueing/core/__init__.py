"""Who gets quota: pure rules over a snapshot of quotas and usage, with the arithmetic of every decision.

`schedule` decides one cycle. `Snapshot` holds quotas and usage and is kept up to date workload by workload.
"""

from __future__ import annotations

from .checks import CheckOutcome, CheckState, outcome, required_checks
from .config import Config, FairSharing, WaitForPodsReady
from .decisions import Assignment, Decisions, Head, Mode, Preemption, Requeue, Reservation
from .lifecycle import (
    Deactivation,
    Eviction,
    Inadmissible,
    RequeueState,
    execution_deadline,
    execution_timeout,
    order_timestamp,
    pods_ready_deadline,
    pods_ready_eviction,
    requeue_after_timeout,
    stopped,
)
from .model import (
    Admission,
    AdmissionCheckRule,
    AdmittedWorkload,
    ClusterQueueSpec,
    CohortSpec,
    FlavorFungibility,
    FlavorQuotas,
    FlavorSpec,
    PodSetAssignment,
    PodSetInfo,
    PreemptionSpec,
    Quota,
    ResourceGroup,
    WorkloadInfo,
)
from .schedule import schedule
from .scheduler import Scheduler
from .shares import Share, share
from .snapshot import Snapshot

__all__ = [
    "Admission",
    "AdmissionCheckRule",
    "AdmittedWorkload",
    "Assignment",
    "CheckOutcome",
    "CheckState",
    "ClusterQueueSpec",
    "CohortSpec",
    "Config",
    "Deactivation",
    "Decisions",
    "Eviction",
    "FairSharing",
    "FlavorFungibility",
    "FlavorQuotas",
    "FlavorSpec",
    "Head",
    "Inadmissible",
    "Mode",
    "PodSetAssignment",
    "PodSetInfo",
    "Preemption",
    "PreemptionSpec",
    "Quota",
    "Requeue",
    "RequeueState",
    "Reservation",
    "ResourceGroup",
    "Scheduler",
    "Share",
    "Snapshot",
    "WaitForPodsReady",
    "WorkloadInfo",
    "execution_deadline",
    "execution_timeout",
    "order_timestamp",
    "outcome",
    "pods_ready_deadline",
    "pods_ready_eviction",
    "requeue_after_timeout",
    "required_checks",
    "schedule",
    "share",
    "stopped",
]
