"""How the relay knows and reaches its workers.

A source says which workers are registered and how to reach them; the registry keeps one `WorkerLink` for each, which lives
its own life. Decisions look at a link's `facts()`, and writes go through its `client`.
"""

from __future__ import annotations

from jobrelay.relay.workers.install import ensure_crds, ensure_namespace
from jobrelay.relay.workers.link import Loss, WorkerLink
from jobrelay.relay.workers.loss import LossRecord
from jobrelay.relay.workers.object_source import ObjectSource
from jobrelay.relay.workers.reach import Connect, identity, over_network
from jobrelay.relay.workers.registry import Registry
from jobrelay.relay.workers.source import FlagSource, Source, parse_flag
from jobrelay.relay.workers.spec import Access, Refused, Way, WorkerSpec
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.trim import trimmed

__all__ = [
    "Access",
    "Connect",
    "FlagSource",
    "Loss",
    "LossRecord",
    "ObjectSource",
    "Refused",
    "Registry",
    "Source",
    "Timing",
    "Way",
    "WorkerLink",
    "WorkerSpec",
    "ensure_crds",
    "ensure_namespace",
    "identity",
    "over_network",
    "parse_flag",
    "trimmed",
]
