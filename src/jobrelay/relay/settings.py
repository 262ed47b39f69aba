"""What an operator can configure. Commands take their defaults from here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from jobrelay.relay.copy_rules import CopyRules

LOST_TIMEOUT: Final = 900.0
KEEP_FINISHED: Final = 600.0
FENCE_LEASE: Final = 300.0
KEEP_LOGS_TOTAL: Final = 64 * 1024 * 1024
KEEP_LOGS_FOR: Final = 7 * 86400.0
SUSPECT_AFTER: Final = 2.0
"""How long requests to a worker may be unanswered before that is suspicious: leases are granted until then."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All times are in seconds."""

    origin: str
    """Marks our mirrors on a worker that several relays share."""
    lost_timeout: float = LOST_TIMEOUT
    """How long a worker may be unreachable before its workloads are started elsewhere."""
    keep_finished: float = KEEP_FINISHED
    """How long the mirror of a finished workload is kept on its worker."""
    fencing: bool = False
    """Whether workloads without the annotation are fenced."""
    lease: float = FENCE_LEASE
    """How long a fenced mirror runs on after the last contact with the relay."""
    margin: float = 30.0
    """Added to a lease for clock differences and the lag of a worker's Job controller."""
    coalesce: float = 0.25
    """How long changed counts are held back before they are written."""
    ask_again: float = 60.0
    """When a workload or status that a cluster refused is tried again."""
    ask_missing: float = 5.0
    """When a worker is first asked again about an object that it lacks; each further time after twice as long."""
    loss_event_after: float = 10.0
    """How long a worker must be unreachable before its workloads get an event."""
    freeze_window: float = 60.0
    """Workers that are lost within this time of each other count as lost at once."""
    settle: float = 90.0
    """How long a creation without an answer may take effect: the time limit of an API server, and a margin."""
    create_namespaces: bool = False
    """Whether missing namespaces are created on workers."""
    copies: CopyRules = field(default_factory=CopyRules)
    """Which objects that workloads name are copied to workers that lack them."""
    keep_logs: int = 0
    """How many bytes of each pod's log are kept when a mirror is removed; 0 keeps none."""
    keep_logs_total: int = KEEP_LOGS_TOTAL
    """How many bytes of logs are kept together, compressed."""
    keep_logs_for: float = KEEP_LOGS_FOR
    """How long a log is kept."""
    copy_grace: float = 120.0
    """How long a copy is kept after its last use. Longer than `settle`, so that no mirror can appear that uses it."""
