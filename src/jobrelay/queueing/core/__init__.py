"""Who gets quota: pure rules over a snapshot of quotas and usage, with the arithmetic of every decision.

`schedule` decides one cycle. `Snapshot` holds quotas and usage and is kept up to date workload by workload.
"""

from __future__ import annotations

from .config import Config, FairSharing, WaitForPodsReady
from .decisions import Assignment, Decisions, Head, Mode, Preemption, Requeue, Reservation
from .model import (
    Admission,
    AdmissionCheckRule,
    AdmittedWorkload,
    ClusterQueueSpec,
    CohortSpec,
    FlavorFungibility,
    FlavorQuotas,
    FlavorSpec,
    PodSet,
    PodSetAssignment,
    PreemptionSpec,
    Quota,
    ResourceGroup,
    Workload,
)
from .schedule import schedule
from .scheduler import Scheduler
from .snapshot import Snapshot

__all__ = [
    "Admission",
    "AdmissionCheckRule",
    "AdmittedWorkload",
    "Assignment",
    "ClusterQueueSpec",
    "CohortSpec",
    "Config",
    "Decisions",
    "FairSharing",
    "FlavorFungibility",
    "FlavorQuotas",
    "FlavorSpec",
    "Head",
    "Mode",
    "PodSet",
    "PodSetAssignment",
    "Preemption",
    "PreemptionSpec",
    "Quota",
    "Requeue",
    "Reservation",
    "ResourceGroup",
    "Scheduler",
    "Snapshot",
    "WaitForPodsReady",
    "Workload",
    "schedule",
]
