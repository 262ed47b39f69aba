"""Which worker a workload goes to, with every decision explained.

A `Placer` belongs to one relay and owns what placements share: the policy plugins and the cached fits of each worker.
Filters and scores are pure functions of candidates. Placing happens for every workload, so it does little: the nodes
of a worker are added up again only as far as they changed (`fit`), and texts are made only when they are read
(`explain`). `CapacityTracker` keeps the capacity of a worker up to date from its nodes and pods.
"""

from __future__ import annotations

from .capacity import CapacityTracker
from .explain import PlacementVerdict, PluginScore
from .placer import Placement, Placer
from .plugins import PolicyPlugins, Rejection
from .policy import DEFAULT_POLICY, PlacementPolicy, PolicyError, parse_policy
from .pool import CandidatePool
from .request import PlacementRequest, read_request

__all__ = [
    "DEFAULT_POLICY",
    "CandidatePool",
    "CapacityTracker",
    "Placement",
    "PlacementPolicy",
    "PlacementRequest",
    "PlacementVerdict",
    "Placer",
    "PluginScore",
    "PolicyError",
    "PolicyPlugins",
    "Rejection",
    "parse_policy",
    "read_request",
]
