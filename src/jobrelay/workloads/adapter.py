"""What the relay asks of a workload kind.

An `Adapter` is a set of pure functions over objects: it reads the few facts that every kind has, says what the mirror on a
worker must look like, which changes of the original to forward, and what to write back. It does no I/O and keeps no
state; the relay does everything else in the same way for every kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction
from typing import Any, Protocol

from jobrelay.kube import Object, Resource
from jobrelay.kube.objects import Key

__all__ = ["Adapter", "Demand", "End", "Haste", "Marks", "PodSet", "Workload"]


class Haste(Enum):
    """How long a new status may wait for what follows it, so that both are one write."""

    NOW = "now"
    """It says something that people and programs wait for."""
    SOON = "soon"
    """It changes counts."""
    LATER = "later"
    """It only announces what is about to come."""


@dataclass(frozen=True, slots=True)
class End:
    """How a workload ended, and when by the clock of whoever said so."""

    succeeded: bool
    at: datetime | None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """The facts about an object that decisions are made on; the same for an original and for its mirror."""

    key: Key
    uid: str
    managed_by: str | None = None
    suspended: bool = False
    started: datetime | None = None
    active: int = 0
    """How many of its pods run or wait for a node, as its status counts them."""
    end: End | None = None
    deleting: bool = False
    deadline: int | None = None
    """Seconds after `started` at which the cluster that runs it stops it."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods that are alike: how many run at the same time, what each asks for, and where it may run."""

    count: int
    requests: Mapping[str, Fraction]
    node_selector: Mapping[str, str]
    tolerations: Sequence[Mapping[str, Any]] = ()
    affinity: Mapping[str, Any] | None = None
    """`spec.affinity.nodeAffinity` of the pods."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Everything that a workload needs of one cluster. Equal demands get equal answers, so it can be remembered by `shape`."""

    pod_sets: tuple[PodSet, ...]
    shape: str
    """A digest of the namespace and of all that a worker may judge, but not of the name."""
    grace: float = 30.0
    """The longest that its pods may take to end themselves, in seconds."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What makes a mirror ours: who it is of, which run it is, and the lease it runs on."""

    origin: str
    epoch: int
    name: str
    """The mirror's own name; its namespace is that of the original."""
    deadline: int | None = None
    """Seconds after its start at which the worker is to stop it; None leaves what the user asked for."""


class Adapter(Protocol):
    """One workload kind."""

    @property
    def resource(self) -> Resource:
        """The kind itself."""
        ...

    @property
    def managers(self) -> frozenset[str]:
        """The values of `.spec.managedBy` that hand an object to the relay."""
        ...

    @property
    def fences(self) -> bool:
        """Whether a worker stops a mirror at its deadline by itself."""
        ...

    def read(self, obj: Object) -> Workload:
        """The facts about an original or a mirror."""
        ...

    def demand(self, obj: Object) -> Demand:
        """What an original needs of a worker."""
        ...

    def mirror(self, obj: Object, marks: Marks) -> dict[str, Any]:
        """The body of the mirror to create."""
        ...

    def forward(self, obj: Object, mirror: Object, marks: Marks) -> dict[str, Any] | None:
        """A merge patch that brings a mirror in line with its original and its marks, None if it is."""
        ...

    def returned(self, obj: Object, mirror: Object) -> dict[str, Any] | None:
        """The original's whole new status after what its mirror says, None if there is nothing new. Always legal."""
        ...

    def subsets(self, obj: Object, mirror: Object) -> list[dict[str, Any]]:
        """Smaller statuses to try, in this order, when the server refuses `returned` all the same."""
        ...

    def idle(self, obj: Object, now: datetime) -> dict[str, Any] | None:
        """The whole new status of an original that has no mirror because it is suspended, None if it says so already."""
        ...

    def haste(self, obj: Object, status: Mapping[str, Any]) -> Haste:
        """How soon a new status has to be written."""
        ...
