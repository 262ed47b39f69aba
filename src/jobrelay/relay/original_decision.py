"""What `reconcile_original` decides about one workload: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from jobrelay.kube import EventNote
from jobrelay.relay.fencing import LeaseStops
from jobrelay.relay.placement import Placement
from jobrelay.relay.worker_assignment import WorkerAssignment


class Stage(StrEnum):
    """How far a workload has got."""

    NOT_FOLLOWED = "NotFollowed"
    """The relay cannot read its kind on the management cluster."""
    NOT_OURS = "NotOurs"
    REFUSED = "Refused"
    """Delegated, but the relay does not take it."""
    DELETING = "Deleting"
    SUSPENDED = "Suspended"
    ADMISSION = "WaitingForAdmission"
    PLACING = "WaitingForPlacement"
    PROBING = "AskingWorker"
    COMMITTING = "Committing"
    MIRRORING = "CreatingMirror"
    RUNNING = "Running"
    NOT_RUNNING = "NotRunning"
    """Started on a worker, but none of its pods runs there."""
    WORKER_LOST = "WorkerLost"
    FROZEN = "Frozen"
    MOVING = "Moving"
    FINISHED = "Finished"


@dataclass(frozen=True, slots=True)
class CommitAssignment:
    """Write an assignment to the original, unless it has changed meanwhile."""

    assignment: WorkerAssignment
    starts: bool = True
    """Whether it starts a new run. Otherwise it names one that may exist already."""


@dataclass(frozen=True, slots=True)
class RecordStart:
    """Write to the original, unless it has changed meanwhile, whether the start of the same run is known."""

    assignment: WorkerAssignment


@dataclass(frozen=True, slots=True)
class DropAssignment:
    """Remove the assignment from an original that is not delegated any more."""


@dataclass(frozen=True, slots=True)
class PatchOriginal:
    """Change the original, unless it has changed meanwhile, before the next step can be taken."""

    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Replace the original's status."""

    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProbeWorker:
    """Ask a worker by a dry run whether it would accept the mirror."""

    worker: str


@dataclass(frozen=True, slots=True)
class AskWorker:
    """Have a worker asked to admit it by its own queue."""

    worker: str


Action: TypeAlias = (
    CommitAssignment | RecordStart | DropAssignment | PatchOriginal | WriteStatus | ProbeWorker | AskWorker
)


@dataclass(frozen=True, slots=True)
class OriginalDecision:
    """At most one action, why, and when to reconcile again although nothing happened."""

    stage: Stage
    sentence: str
    action: Action | None = None
    events: tuple[EventNote, ...] = ()
    requeue_after: float | None = None
    placement: Placement | None = None
    """The verdicts on all workers, if a placement was tried."""
    holds_status: bool = False
    """Whether a new status is held back, to be written together with the next change."""
    lease_stops: LeaseStops | None = None
    """How often in a row its runs were stopped by their leases, if the last one just was."""
    waits_in_line: bool = False
    """Whether it is in line for a worker, and would be placed if it were its turn and there were room."""
    claim: str = ""
    """The worker that is to be kept free for it; empty if none is."""
