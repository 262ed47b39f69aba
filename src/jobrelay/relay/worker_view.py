"""A worker as a plain value, which the relay's API and commands exchange. Imports nothing of the relay, since commands
read it."""

from __future__ import annotations

import msgspec

__all__ = ["ResourceUsage", "WorkerView"]


class ResourceUsage(msgspec.Struct, frozen=True):
    """How much of a resource nodes have and pods request, in the resource's base unit."""

    allocatable: float
    used: float


class WorkerView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One worker."""

    name: str
    connected: bool
    """Whether it answers: it is not connected from the moment at which its silence is suspicious."""
    state: str
    jobs: int
    reason: str = ""
    """Why it is not connected."""
    lost_since: str = ""
    nodes: int | None = None
    cpu: ResourceUsage | None = None
    memory: ResourceUsage | None = None
    capacity_unknown: str = ""
    pending_pods: int = 0
    stale_mirrors: int = 0
    version: str = ""
    management: bool = False
    """Whether it is the management cluster itself."""
    remarks: tuple[str, ...] = ()
    unfit: dict[str, str] = {}
    """Kinds in use that it cannot run, and why."""
    heard: str = ""
    """When it last sent anything, by the relay's clock; empty if it never has."""
