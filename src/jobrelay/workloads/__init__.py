"""Workload kinds as the relay sees them: one adapter per kind, built in, described, or from another package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from jobrelay.workloads.adapter import (
        NOTHING_FOUND,
        Adapter,
        Found,
        MirrorParameters,
        PodSet,
        Urgency,
        Workload,
        WorkloadDemand,
        WorkloadOutcome,
    )
    from jobrelay.workloads.declared import DeclaredAdapter, DescriptionError, KindDescription
    from jobrelay.workloads.dependencies import demand_of, references_of
    from jobrelay.workloads.job import JobAdapter
    from jobrelay.workloads.kind_files import GivenKind, read_kind_file
    from jobrelay.workloads.patches import status_patch
    from jobrelay.workloads.references import FieldPath, ObjectName, Reference
    from jobrelay.workloads.registry import AdapterConflict, load_adapters

__all__ = [
    "NOTHING_FOUND",
    "Adapter",
    "AdapterConflict",
    "DeclaredAdapter",
    "DescriptionError",
    "FieldPath",
    "Found",
    "GivenKind",
    "JobAdapter",
    "KindDescription",
    "MirrorParameters",
    "ObjectName",
    "PodSet",
    "Reference",
    "Urgency",
    "Workload",
    "WorkloadDemand",
    "WorkloadOutcome",
    "demand_of",
    "load_adapters",
    "read_kind_file",
    "references_of",
    "status_patch",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__,
        adapter="NOTHING_FOUND Adapter Found MirrorParameters PodSet Urgency Workload WorkloadDemand WorkloadOutcome",
        declared="DeclaredAdapter DescriptionError KindDescription",
        dependencies="demand_of references_of",
        job="JobAdapter",
        kind_files="GivenKind read_kind_file",
        patches="status_patch",
        references="FieldPath ObjectName Reference",
        registry="AdapterConflict load_adapters",
    )
