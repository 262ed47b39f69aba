"""A local fleet: a management cluster, workers and the relay as processes of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .errors import FleetError
    from .fleet import MANAGEMENT, RELAY, ClusterPlan, Fleet, FleetPlan
    from .folder import FleetFolder

__all__ = ["MANAGEMENT", "RELAY", "ClusterPlan", "Fleet", "FleetError", "FleetFolder", "FleetPlan"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, "errors", "folder", "fleet")
