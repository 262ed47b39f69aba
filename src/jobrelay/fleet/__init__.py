"""A local fleet: a management cluster, workers and the relay as processes of this machine."""

from __future__ import annotations

from .errors import FleetError
from .fleet import MANAGEMENT, RELAY, ClusterPlan, Fleet, FleetPlan
from .folder import FleetFolder

__all__ = ["MANAGEMENT", "RELAY", "ClusterPlan", "Fleet", "FleetError", "FleetFolder", "FleetPlan"]
