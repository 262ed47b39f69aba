"""What the relay asks of a workload kind.

An `Adapter` is a set of pure functions over objects. It reads the few facts that every kind has, builds the mirror
for a worker, says which changes of the original to forward, and computes the status to write back. It does no I/O and
keeps no state; the relay does everything else in the same way for every kind.

The *original* is the object on the management cluster, the *mirror* its copy on the worker that runs it. An adapter
may be called at any time, in any order, and again with the same objects: it must depend on nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from jobrelay.kube import Object, Resource
from jobrelay.kube.objects import Key
from jobrelay.workloads.references import FieldPath, Reference

Found: TypeAlias = Mapping[tuple[Resource, Key], Object]
"""Objects of the management cluster that references led to."""
NOTHING_FOUND: Final[Found] = MappingProxyType({})


class Urgency(Enum):
    """How long a new status may be held back, so that it and the next one become one write."""

    NOW = "now"
    """It contains something that users and programs wait for, such as a condition."""
    SOON = "soon"
    """It changes counts."""
    LATER = "later"
    """It only announces what follows at once."""


class WorkloadOutcome(msgspec.Struct, frozen=True):
    """How a workload ended, and when by the clock of the cluster that reports it."""

    succeeded: bool
    at: datetime | None
    reason: str = ""
    message: str = ""
    deadline_exceeded: bool = False
    """Whether its cluster stopped it at the deadline. That is how the relay recognises that a lease has run out."""


class Workload(msgspec.Struct, frozen=True):
    """The facts about an object that decisions depend on; the same for an original and for its mirror."""

    key: Key
    uid: str
    managed_by: str | None = None
    """The value by which the object says who runs it: `.spec.managedBy` of a Job."""
    suspended: bool = False
    started: datetime | None = None
    active: int = 0
    """How many of its pods run or wait for a node, as its status counts them."""
    ready: int | None = None
    """How many of its pods are ready, as its status counts them; None if it does not."""
    failed: int = 0
    """How many of its pods have failed, as its status counts them."""
    failed_indexes: str = ""
    """The completion indexes that have failed: `1,3-5`."""
    end: WorkloadOutcome | None = None
    """None until it has ended, in whatever way."""
    deleting: bool = False
    deadline: int | None = None
    """Seconds after `started` at which the cluster that runs it stops it."""
    halted: bool = False
    """Whether the controller that runs it has confirmed its suspension, and has not resumed it since."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Identical pods: how many run at the same time, what each requests, and where it may run."""

    count: int
    requests: Mapping[str, Fraction]
    """By resource name, in base units: see `jobrelay.workloads.requests.pod_requests`."""
    node_selector: Mapping[str, str]
    tolerations: Sequence[Mapping[str, Any]] = ()
    affinity: Mapping[str, Any] | None = None
    """`spec.affinity.nodeAffinity` of the pods."""


@dataclass(frozen=True, slots=True)
class WorkloadDemand:
    """Everything that a workload needs of one cluster."""

    pod_sets: tuple[PodSet, ...]
    shape: str
    """A digest of everything that a worker may judge it by: namespace, labels, spec, but not the name. Workloads of one
    shape are expected to get the same answer from a worker, so its answers are remembered by it."""
    grace: float = 30.0
    """The longest that its pods may take to terminate, in seconds."""
    basis: str = ""
    """The versions of the objects beside itself that its pod sets come from: pod sets of equal shape and basis are
    equal but for their counts."""


class MirrorParameters(msgspec.Struct, frozen=True):
    """What the relay decides about a mirror: whose it is, which run it is, its name, its deadline, and whether it may
    run."""

    origin: str
    epoch: int
    name: str
    """The mirror's own name; its namespace is that of the original."""
    deadline: int | None = None
    """Seconds after its start at which the worker is to stop it; None leaves what the user asked for."""
    suspend: bool = False
    """Whether it is suspended although the user did not ask for that."""
    proof: str = ""
    """Proves that the relay has created it; empty in a dry run."""


@runtime_checkable
class Adapter(Protocol):
    """One workload kind."""

    @property
    def resource(self) -> Resource:
        """The kind itself. It is namespaced, and its CustomResourceDefinition, if any, has a status subresource."""
        ...

    @property
    def managed_by_path(self) -> str:
        """The field that `Workload.managed_by` is read from, as users write it: `spec.managedBy`."""
        ...

    @property
    def managers(self) -> frozenset[str]:
        """The values of `Workload.managed_by` that hand an object to the relay."""
        ...

    @property
    def native(self) -> str:
        """The value that means the kind's own controller, as an absent one does; empty if there is none."""
        ...

    @property
    def runs_anyway(self) -> str:
        """Why the kind's own controller on the management cluster would run a delegated object all the same; empty if
        it leaves such objects alone."""
        ...

    @property
    def enforces_deadline(self) -> bool:
        """Whether a worker stops a mirror at its deadline by itself, and confirms a suspension (`Workload.halted`).
        Without that, the kind cannot be fenced."""
        ...

    def read(self, obj: Object) -> Workload:
        """The facts about an original or a mirror. Called often: cache it if decoding is slow."""
        ...

    def demand(self, original: Object, found: Found = NOTHING_FOUND) -> WorkloadDemand:
        """What an original needs of a worker; `found` has the objects that `references` led to, if there are any."""
        ...

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        """The pod templates in an original or a mirror, with their paths: what its pods need is named in them."""
        ...

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        """What an original, or a mirror, needs beside itself and what its pod templates name.

        `found` has the objects that were found for earlier answers: they may name more. Asked again until nothing new
        is named.
        """
        ...

    def mirror(self, original: Object, parameters: MirrorParameters) -> dict[str, Any]:
        """The body of the mirror to create, with the labels and annotations of `jobrelay.workloads.metadata`."""
        ...

    def mirror_patch(self, original: Object, mirror: Object, parameters: MirrorParameters) -> dict[str, Any] | None:
        """A merge patch that brings a mirror in line with its original and the parameters; None if it is."""
        ...

    def merged_status(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        """The original's complete new status according to its mirror; None if nothing changes.

        The management cluster must accept it as an update of the present one, whatever the mirror says.
        """
        ...

    def original_patch(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        """A merge patch of the original that must be written before `merged_status` is accepted; None for most."""
        ...

    def reduced_statuses(self, original: Object, mirror: Object) -> list[dict[str, Any]]:
        """Smaller statuses to try, in this order, if the server refuses `merged_status` nevertheless."""
        ...

    def suspended_status(self, original: Object, now: datetime) -> dict[str, Any] | None:
        """The complete new status of a suspended original that has no mirror; None if it has that status."""
        ...

    def pod_owner(self, pod: Object) -> str:
        """The uid of the mirror that a pod on a worker belongs to; empty if it belongs to none of this kind.

        While pods of a mirror are not on nodes yet, what they request is reserved for them.
        """
        ...

    def pod_selector(self, mirror: str, shown: Object | None = None) -> str:
        """A label selector for the pods of the mirror of this name, also of one that is deleted.

        `shown` is the mirror or its original: for some kinds only the status says by what the pods are labelled. A
        workload is not started again before they have ended. Empty if no such label is known.
        """
        ...

    def log_selectors(self, mirror: Object) -> tuple[str, ...]:
        """Label selectors for the pods of a mirror whose logs are those of the workload; empty if there is no way to
        find them."""
        ...

    def urgency(self, original: Object, status: Mapping[str, Any]) -> Urgency:
        """How soon a new status has to be written."""
        ...
