"""What placement and reconciling know about workers, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

import msgspec


class State(StrEnum):
    """The state that an operator has set for a worker."""

    OPEN = "open"
    CORDONED = "cordoned"
    DRAINING = "draining"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node of a worker: its resources, the requests of its pods, and what it accepts."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]
    allocatable: Mapping[str, Fraction]
    used: Mapping[str, Fraction]
    schedulable: bool = True


@dataclass(frozen=True, slots=True)
class Capacity:
    """The nodes of a worker. `version` changes whenever anything else does."""

    version: int
    nodes: tuple[NodeFacts, ...] = ()
    unknown: str = ""
    """Why the capacity is not known; empty if it is."""


class ClockReading(msgspec.Struct, frozen=True):
    """A worker's clock at one moment, from the Date headers of its answers."""

    earliest: datetime
    """Its time is not before this."""
    uncertain: float = 0.0
    """By how many seconds its time may be after that."""
    jump: float = 0.0
    """By how many seconds it was put forward, or back if negative, when that last happened; 0 if it was not."""
    steady: float = 0.0
    """For how many seconds it has not jumped."""


class Claimant(msgspec.Struct, frozen=True):
    """A workload that a worker is kept free for."""

    uid: str
    name: str
    """For messages."""
    priority: int = 0


class WorkerFacts(msgspec.Struct, frozen=True):
    """One worker at one moment. A struct, since those of all workers are made for each placement."""

    name: str
    connected: bool
    """Whether it answers and its mirrors are known."""
    lost_since: datetime | None = None
    """Since when it has not answered; None while it does."""
    reason: str = ""
    """Why it does not answer: the last error."""
    state: State = State.OPEN
    labels: Mapping[str, str] = {}
    cost: Fraction = Fraction(0)
    weight: Fraction = Fraction(1)
    capacity: Capacity = Capacity(0, unknown="it has not been read yet")
    live: int = 0
    """How many unfinished workloads are assigned to it."""
    reserved: Mapping[str, Fraction] = {}
    """Requests of assigned workloads whose pods are not in `capacity` yet; `pods` is their number."""
    pending: int = 0
    """How many pods of our mirrors wait for a node there."""
    backlog: int = 0
    """How many mirrors there wait to be created or changed, or for the worker's answer."""
    unanswered: float = 0.0
    """For how many seconds it has not answered requests; 0 while that is not suspicious."""
    stale: int = 0
    """How many mirrors there must be stopped before it may take new ones."""
    namespaces: tuple[str, ...] = ()
    """The only namespaces that it serves; all if empty."""
    clock: ClockReading | None = None
    """Its clock now; None while no answer had its time."""
    silent_since: datetime | None = None
    """Like `lost_since`, but by this process's own observation and monotonic time: neither a clock that jumps nor that
    of another replica has a part in it."""

    returned_from: datetime | None = None
    """Since when it had not answered, if it does again since less than a minute."""
    identity: str = ""
    """The uid of its cluster; empty while it is unknown."""
    seen: bool = True
    """Whether its mirrors have been read since this process started."""

    unfit: Mapping[str, str] = {}
    """By name of a kind: why no workload of it can run there."""
    unread: frozenset[str] = frozenset()
    """Kinds whose mirrors there have not been read since this process started."""

    kept_for: Claimant | None = None
    """Who it is kept free for; None if it is open to all."""

    def serves(self, namespace: str) -> bool:
        """Whether workloads of a namespace may run there."""
        return not self.namespaces or namespace in self.namespaces


class RemovedWorker(msgspec.Struct, frozen=True):
    """A worker that is no longer registered, at one moment."""

    since: datetime
    """Since when there has been no contact with it; this survives a restart."""
    silent_since: datetime
    """The same by this process's own observation and monotonic time, as for `WorkerFacts`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a worker did not accept a mirror."""

    message: str
    until: datetime
    """When it may be tried again."""
