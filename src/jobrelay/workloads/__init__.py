"""Workload kinds as the relay sees them: one small adapter per kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jobrelay.kube import Resource
from jobrelay.workloads.adapter import Adapter, Demand, End, Haste, Marks, PodSet, Workload
from jobrelay.workloads.job import JobAdapter
from jobrelay.workloads.patches import status_patch

__all__ = ["ADAPTERS", "Adapter", "Demand", "End", "Haste", "JobAdapter", "Marks", "PodSet", "Workload", "status_patch"]

_ALL: Final[tuple[Adapter, ...]] = (JobAdapter(),)
ADAPTERS: Final[Mapping[Resource, Adapter]] = {adapter.resource: adapter for adapter in _ALL}
"""The kinds that can be delegated."""
