"""One workload at one moment, as a value: the only input of `reconcile_original`, `reconcile_mirror` and `explain`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.relay.assignment import Assignment
from jobrelay.relay.health import frozen
from jobrelay.relay.lookalikes import LookAlike
from jobrelay.relay.model import Refusal, State, WorkerFacts
from jobrelay.relay.names import FENCING
from jobrelay.relay.placement import Placement, PlacementPolicy, Placer, read_request
from jobrelay.relay.proofs import ProofKeys, ProofSubject, cluster_binding
from jobrelay.relay.settings import Settings
from jobrelay.relay.workload_kind import mirror_name
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
    keys: ProofKeys = field(default_factory=ProofKeys)
    """The keys that sign proofs; none before they are read."""
    lookalikes: Mapping[tuple[str, Key], LookAlike] = field(default_factory=dict)
    """By worker and key: objects that name this original, but are not proven to be its mirrors."""

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
    def lease(self) -> float | None:
        return self.settings.lease if self.fenced else None

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

    @cached_property
    def unproven(self) -> tuple[LookAlike, ...]:
        """The look-alikes that may be mirrors, since they are where one would be: no run is started beside them."""
        if not self.lookalikes:
            return ()
        key = self.original.key
        places = [
            (worker, own, Key(key.namespace, mirror_name(key, own_cluster=own)))
            for worker, facts in self.workers.items()
            for own in (False, True)
            if facts.connected
        ]
        found = [(own, self.lookalikes.get((worker, place))) for worker, own, place in places]
        return tuple(each for own, each in found if each is not None and each.own_cluster is own)

    def proof(self, worker: str, name: str) -> str:
        """The proof of the mirror of the current epoch on a worker, under this name."""
        assert self.assignment is not None
        cluster = cluster_binding(worker, self.workers[worker].identity)
        return self.keys.sign(
            ProofSubject(
                self.settings.origin,
                str(self.adapter.resource),
                self.original.uid,
                cluster,
                self.original.namespace,
                name,
                str(self.assignment.epoch),
            )
        )

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
        )
        return self.placer.place(self.demand, request, tuple(self.workers.values()), self.policy)
