"""What an operator may choose."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """All times are in seconds."""

    origin: str
    """Whose mirrors are ours on a worker that several relays share."""
    lost_timeout: float = 900.0
    """How long a worker may be unreachable before its workloads are started elsewhere."""
    keep_finished: float = 600.0
    """How long the mirror of a finished workload stays on its worker."""
    fencing: bool = False
    """Whether workloads are fenced that do not say."""
    lease: float = 300.0
    """How long a fenced mirror runs on after the last word from the relay."""
    margin: float = 30.0
    """What clocks may differ and a worker's Job controller may lag, on top of a lease."""
    coalesce: float = 0.25
    """How long counts wait for more counts before they are written back."""
    ask_again: float = 60.0
    """When a cluster that refused a workload or its status is asked again."""
    loss_told: float = 10.0
    """How long a worker must be unreachable before its workloads are told."""
    freeze_window: float = 60.0
    """Workers that are lost within this time of each other are lost at once."""
    create_namespaces: bool = False
