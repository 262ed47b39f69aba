"""Workload kinds as the relay sees them: one small adapter per kind."""

from __future__ import annotations

from .adapter import Adapter, Demand, End, Marks, PodSet, Workload

__all__ = ["Adapter", "Demand", "End", "Marks", "PodSet", "Workload"]
