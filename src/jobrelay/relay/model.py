"""What the relay knows, as values: the only thing that its decisions look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

__all__ = ["Capacity", "NodeFacts", "Refusal", "State", "WorkerFacts"]


class State(StrEnum):
    """What an operator wants of a worker."""

    OPEN = "open"
    CORDONED = "cordoned"
    DRAINING = "draining"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node of a worker: what it has, what its pods ask for, and whom it takes."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]
    allocatable: Mapping[str, Fraction]
    used: Mapping[str, Fraction]
    schedulable: bool = True


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is known of a worker's room. `version` changes whenever anything else does."""

    version: int
    nodes: tuple[NodeFacts, ...] = ()
    unknown: str = ""
    """Why the room is not known; empty when it is."""


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """One worker at one moment."""

    name: str
    connected: bool
    """Whether its mirrors are known and it answers."""
    lost_since: datetime | None = None
    """Since when it does not answer; None while it does."""
    reason: str = ""
    """Why it does not answer, in the words of the last failure."""
    state: State = State.OPEN
    labels: Mapping[str, str] = field(default_factory=dict)
    cost: Fraction = Fraction(0)
    weight: Fraction = Fraction(1)
    capacity: Capacity = Capacity(0, unknown="it has not been read yet")
    live: int = 0
    """How many unfinished workloads are assigned to it."""
    reserved: Mapping[str, Fraction] = field(default_factory=dict)
    """Requests of assigned workloads whose pods are not in `capacity` yet; `pods` counts them."""
    pending: int = 0
    """How many pods of our mirrors wait for a node there."""
    backlog: int = 0
    """How many mirrors there wait to be created or changed, or for the worker's answer."""
    stale: int = 0
    """How many mirrors there have to be stopped before it may take new ones."""
    namespaces: tuple[str, ...] = ()
    """The only namespaces that it serves; all if empty."""

    def serves(self, namespace: str) -> bool:
        """Whether workloads of a namespace may run there, and can be seen."""
        return not self.namespaces or namespace in self.namespaces


@dataclass(frozen=True, slots=True)
class Refusal:
    """A worker's answer to a mirror that it did not take."""

    message: str
    until: datetime
    """When it may be asked again."""
