"""Workload kinds as the relay sees them: one adapter per kind, built in or from another package."""

from __future__ import annotations

from jobrelay.workloads.adapter import (
    Adapter,
    MirrorParameters,
    PodSet,
    Urgency,
    Workload,
    WorkloadDemand,
    WorkloadOutcome,
)
from jobrelay.workloads.job import JobAdapter
from jobrelay.workloads.patches import status_patch
from jobrelay.workloads.registry import AdapterConflict, load_adapters

__all__ = [
    "Adapter",
    "AdapterConflict",
    "JobAdapter",
    "MirrorParameters",
    "PodSet",
    "Urgency",
    "Workload",
    "WorkloadDemand",
    "WorkloadOutcome",
    "load_adapters",
    "status_patch",
]
