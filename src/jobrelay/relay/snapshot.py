"""One workload at one moment, as a value: the only input of `reconcile_original`, `reconcile_mirror` and `explain`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from jobrelay.kube import Object
from jobrelay.relay.assignment import Assignment
from jobrelay.relay.fencing import NO_STOPS, Lease, LeaseStops, clock_problem
from jobrelay.relay.health import frozen
from jobrelay.relay.model import Refusal, State, WorkerFacts
from jobrelay.relay.names import FENCING
from jobrelay.relay.placement import Placement, PlacementPolicy, Placer, read_request
from jobrelay.relay.settings import Settings
from jobrelay.workloads import Adapter, Workload, WorkloadDemand


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror as last seen on its worker."""

    worker: str
    obj: Object
    facts: Workload
    epoch: int


@dataclass(frozen=True)
class WorkloadSnapshot:
    """An original, its assignment, its mirrors, the workers, refusals, the settings and the time."""

    adapter: Adapter
    original: Object
    workload: Workload
    """The original as its adapter reads it."""
    assignment: Assignment | None
    mirrors: Mapping[str, Mirror]
    """By worker; only those that carry the uid of this original."""
    workers: Mapping[str, WorkerFacts]
    removed: Mapping[str, datetime]
    """Workers that are no longer registered, and since when."""
    settings: Settings
    placer: Placer
    policy: PlacementPolicy
    now: datetime
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    """By worker: why it does not take this workload."""
    shapes: Mapping[str, Mapping[str, Refusal | None]] = field(default_factory=dict)
    """By worker and shape: None if the worker accepted a workload of that shape, or why it refused one."""
    namespace_annotations: Mapping[str, str] = field(default_factory=dict)
    waited: float = 0.0
    """For how many seconds a new status has been held back."""
    last_error: str = ""
    """The error of the last attempt to create or change its mirror."""
    attempted_epoch: int = 0
    """The last epoch that this process has sent the creation of a mirror for."""
    withheld_epoch: int = 0
    """The epoch that this process has committed and not released: its mirror, if there is one, does not run."""
    lease_stops: LeaseStops = NO_STOPS
    """How often in a row its runs were stopped by their leases."""
    led_since: datetime | None = None
    """When this replica began to lead."""

    @cached_property
    def demand(self) -> WorkloadDemand:
        return self.adapter.demand(self.original)

    @cached_property
    def fenced(self) -> bool:
        """Whether two mirrors of this workload must never run at the same time."""
        if not self.adapter.enforces_deadline:
            return False
        own = self.original.metadata.annotations.get(FENCING) or self.namespace_annotations.get(FENCING)
        return own == "true" if own in ("true", "false") else self.settings.fencing

    @property
    def lease(self) -> Lease | None:
        """How the mirror of the current epoch is leased; None if it is not.

        A lease on record is kept until the record is removed, even if the workload is not fenced any more.
        """
        to = self.assignment
        if not self.fenced and (to is None or not to.started):
            return None
        worker = self.workers.get(to.cluster) if to is not None else None
        return Lease(self.settings.lease, worker.clock if worker is not None else None)

    @property
    def withheld(self) -> bool:
        """Whether the run of the current epoch has certainly not been released."""
        return self.assignment is not None and self.withheld_epoch == self.assignment.epoch

    def obstacle(self, mirror: Mirror) -> str:
        """Why a fenced mirror that is suspended is not released now; empty if it can be."""
        if self.workload.suspended:
            return "it is suspended"
        if not mirror.facts.halted:
            return f"the Job controller of {mirror.worker} has not looked at it yet"
        if self.assignment is not None and self.assignment.started:
            return "the record of its start has to be removed first"
        return self.clock_problem(mirror.worker)

    def time_on(self, worker: str) -> datetime:
        """The time by a worker's clock, which its mirrors are dated by; by our own if that is unknown."""
        facts = self.workers.get(worker)
        return facts.clock.earliest if facts is not None and facts.clock is not None else self.now

    def clock_problem(self, worker: str) -> str:
        """Why a worker's clock does not allow leases there; empty if it does."""
        return clock_problem(self.workers[worker].clock if worker in self.workers else None, self.settings.margin)

    @cached_property
    def frozen(self) -> bool:
        return frozen(self.workers.values(), self.settings.freeze_window)

    @property
    def mirror(self) -> Mirror | None:
        """The mirror of the current epoch, if it exists."""
        if self.assignment is None:
            return None
        found = self.mirrors.get(self.assignment.cluster)
        return found if found is not None and found.epoch == self.assignment.epoch else None

    def forbidden(self, worker: WorkerFacts) -> str:
        """Why the assignment to a worker is not followed, if nothing can have been started there; else empty.

        Anyone who may change the original can write an assignment, which gives no right to use a worker that is closed
        to new work or that the original's own annotations exclude.
        """
        to = self.assignment
        if to is None or worker.name in self.mirrors or self.attempted_epoch == to.epoch or not worker.connected:
            return ""
        request = read_request(self.original.metadata.annotations)
        if request.problem:
            return f"the workload's placement annotations are invalid: {request.problem}"
        if request.pinned and worker.name not in request.pinned:
            return f"the workload may run on {' or '.join(request.pinned)} only"
        if not request.selector.matches(worker.labels):
            return f"its labels do not match {request.selector}"
        return "it is cordoned" if worker.state is State.CORDONED else ""

    def refusal(self, worker: str) -> Refusal | None:
        """Why a worker does not take this workload at present."""
        found = self.refusals.get(worker)
        return found if found is not None and found.until > self.now else None

    @cached_property
    def refused(self) -> dict[str, Refusal]:
        """By worker: why it does not take this workload, or one of its shape, at present."""
        shape = self.demand.shape
        alike = {name: refusal for name, known in self.shapes.items() if (refusal := known.get(shape)) is not None}
        return {name: refusal for name, refusal in (alike | dict(self.refusals)).items() if refusal.until > self.now}

    def accepted(self, worker: str) -> bool:
        """Whether a worker has accepted a workload of this shape before."""
        known = self.shapes.get(worker, {})
        return self.demand.shape in known and known[self.demand.shape] is None

    def place(self, avoid: Mapping[str, str] | None = None) -> Placement:
        """Place this workload; `avoid` names workers that are excluded, and why."""
        refused = {name: refusal.message for name, refusal in self.refused.items()}
        previous = self.assignment.cluster if self.assignment is not None else None
        request = read_request(
            self.original.metadata.annotations,
            previous,
            refused | dict(avoid or {}),
            seed=self.workload.uid,
            namespace=self.original.namespace,
            unfit={name: why for name in self.workers if (why := self.clock_problem(name))} if self.fenced else {},
        )
        return self.placer.place(self.demand, request, tuple(self.workers.values()), self.policy)
