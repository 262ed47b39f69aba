"""What the relay remembers about one workload in memory. Losing it costs a repeated request or event, never safety."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from jobrelay.relay.fencing import NO_STOPS, LeaseStops
from jobrelay.relay.model import Refusal
from jobrelay.relay.runs import RunHistory
from jobrelay.relay.worker_assignment import Run, WorkerAssignment

_NO_REFUSALS: Final[Mapping[str, Refusal]] = MappingProxyType({})


@dataclass(slots=True)
class WorkloadRecord:
    """Counters and marks of one workload; others read its attributes and change them by its methods."""

    status_held_since: float | None = None
    """Since when a new status is held back, in monotonic time."""
    mirror_changed_at: float | None = None
    """When the mirror first changed after the last status was sent, in monotonic time."""
    refusals: Mapping[str, Refusal] = field(default_factory=lambda: _NO_REFUSALS)
    """By worker: why it did not take this workload."""
    created_epoch: int = 0
    """The last epoch that a mirror was created for."""
    runs: RunHistory = field(default_factory=RunHistory)
    assignment: WorkerAssignment | None = None
    """The newest assignment that this process wrote, or the one that it found first."""
    committing: bool = False
    """Whether an assignment is being written: nothing is created for the one before any more."""
    why_not_gone: str = ""
    """Why a run could not be proven gone yet."""
    absent_since: float | None = None
    """Since when its mirror has been found absent while its pods may still run, in monotonic time."""
    lease_stops: LeaseStops = NO_STOPS
    """How often in a row its runs were stopped by their leases."""
    failures: int = 0
    """How often in a row creating the mirror failed with an error that may be transient."""
    last_error: str = ""
    """The last error in creating or changing the mirror."""
    rejected_status: str = ""
    """The resourceVersion of the mirror whose status the API server rejected although it should be legal."""
    unforwarded: str = ""
    """The generations of original and mirror for which the worker rejected the forwarded change."""
    _reported: dict[str, int] = field(default_factory=dict)
    """By reason: the epoch of its last event."""

    def refused(self, worker: str, refusal: Refusal) -> None:
        self.refusals = {**self.refusals, worker: refusal}

    def namespace_found(self, worker: str, namespace: str) -> None:
        """A worker has a namespace that it lacked."""
        found = self.refusals.get(worker)
        if found is not None and found.missing_namespace == namespace:
            self.refusals = {name: each for name, each in self.refusals.items() if name != worker}

    def hold_status(self, now: float) -> None:
        if self.status_held_since is None:
            self.status_held_since = now

    def mirror_changed(self, at: float) -> None:
        known = self.mirror_changed_at
        self.mirror_changed_at = at if known is None else min(known, at)

    def take_mirror_change(self) -> float | None:
        """When the mirror changed, for the status that is written now; later changes belong to the next one."""
        changed_at, self.mirror_changed_at = self.mirror_changed_at, None
        return changed_at

    def status_written(self) -> None:
        self.status_held_since = None

    def found(self, assignment: WorkerAssignment) -> None:
        """An original has this assignment; another process may have written it."""
        if self.assignment is None:
            self.assignment = assignment
        self.runs.seen(assignment.run)

    def commit_started(self) -> None:
        self.committing = True

    def commit_failed(self) -> None:
        self.committing = False

    def committed(self, assignment: WorkerAssignment, *, starts: bool) -> None:
        """This process has written an assignment, which starts a run or names one that was there before."""
        self.assignment, self.committing = assignment, False
        if starts:
            self.runs.committed(assignment.run)

    def not_proven_gone(self, why: str, absent_since: float | None) -> None:
        """A run could not be proven gone."""
        self.why_not_gone, self.absent_since = why, absent_since

    def proved_gone(self, run: Run) -> None:
        self.runs.proved_gone(run)
        self.why_not_gone, self.absent_since = "", None

    def stopped_by_lease(self, stops: LeaseStops) -> None:
        self.lease_stops = stops

    def mirror_created(self, epoch: int) -> bool:
        """Returns whether this epoch had a mirror before."""
        again = self.created_epoch == epoch
        self.created_epoch, self.failures, self.last_error = epoch, 0, ""
        return again

    def creation_failed(self, error: str, limit: int) -> bool:
        """Returns True for every `limit`-th failure in a row."""
        self.failures, self.last_error = (self.failures + 1) % limit, error
        return self.failures == 0

    def mirror_unmarked(self, error: str) -> None:
        self.last_error = error

    def change_rejected(self, generations: str, error: str) -> None:
        self.unforwarded, self.last_error = generations, error

    def status_rejected(self, version: str) -> bool:
        """Returns whether this is the first rejection for this version of the mirror."""
        first, self.rejected_status = self.rejected_status != version, version
        return first

    def first_report(self, reason: str, epoch: int) -> bool:
        """Returns whether this is the first event of this reason and epoch."""
        first = self._reported.get(reason) != epoch
        self._reported[reason] = epoch
        return first
