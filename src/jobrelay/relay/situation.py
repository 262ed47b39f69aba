"""Everything that is known about one workload at one moment: what decisions and explanations are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from jobrelay.kube import Object
from jobrelay.relay.assignment import Assignment
from jobrelay.relay.health import frozen
from jobrelay.relay.model import Refusal, WorkerFacts
from jobrelay.relay.names import FENCING
from jobrelay.relay.placement import Placement, PlacementPolicy, Placer, read_request
from jobrelay.relay.settings import Settings
from jobrelay.workloads import Adapter, Workload, WorkloadDemand

__all__ = ["Mirror", "Situation"]


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror as its worker shows it."""

    worker: str
    obj: Object
    facts: Workload
    epoch: int


@dataclass(frozen=True)
class Situation:
    """One workload, its mirrors and the workers."""

    adapter: Adapter
    obj: Object
    job: Workload
    assignment: Assignment | None
    mirrors: Mapping[str, Mirror]
    """By worker, as last seen; only those of this very original."""
    workers: Mapping[str, WorkerFacts]
    removed: Mapping[str, datetime]
    """Workers that are no longer registered, and since when."""
    settings: Settings
    placer: Placer
    policy: PlacementPolicy
    now: datetime
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    """What workers said to this workload."""
    shapes: Mapping[str, Mapping[str, Refusal | None]] = field(default_factory=dict)
    """By worker: shapes of workloads that it took before (None) or refused."""
    namespace_annotations: Mapping[str, str] = field(default_factory=dict)
    waited: float = 0.0
    """For how many seconds a new status has been waiting to be written."""
    trouble: str = ""
    """What went wrong at the last try to create its mirror."""

    @cached_property
    def demand(self) -> WorkloadDemand:
        return self.adapter.demand(self.obj)

    @cached_property
    def fenced(self) -> bool:
        """Whether this workload must never run twice at the same time."""
        if not self.adapter.enforces_deadline:
            return False
        own = self.obj.metadata.annotations.get(FENCING) or self.namespace_annotations.get(FENCING)
        return own == "true" if own in ("true", "false") else self.settings.fencing

    @property
    def lease(self) -> float | None:
        return self.settings.lease if self.fenced else None

    @cached_property
    def frozen(self) -> bool:
        return frozen(self.workers.values(), self.settings.freeze_window)

    @property
    def mirror(self) -> Mirror | None:
        """The mirror of the present run, if it is there."""
        if self.assignment is None:
            return None
        found = self.mirrors.get(self.assignment.cluster)
        return found if found is not None and found.epoch == self.assignment.epoch else None

    def refusal(self, worker: str) -> Refusal | None:
        """Why a worker does not take this very workload at present."""
        found = self.refusals.get(worker)
        return found if found is not None and found.until > self.now else None

    @cached_property
    def refused(self) -> dict[str, Refusal]:
        """What keeps workers from taking this workload, or one like it, at present."""
        shape = self.demand.shape
        alike = {name: refusal for name, known in self.shapes.items() if (refusal := known.get(shape)) is not None}
        return {name: refusal for name, refusal in (alike | dict(self.refusals)).items() if refusal.until > self.now}

    def proven(self, worker: str) -> bool:
        """Whether a worker has taken a workload of this shape before."""
        known = self.shapes.get(worker, {})
        return self.demand.shape in known and known[self.demand.shape] is None

    def place(self, avoid: Mapping[str, str] | None = None) -> Placement:
        """Where it should run; `avoid` names workers that it should not run on and why."""
        refused = {name: refusal.message for name, refusal in self.refused.items()}
        previous = self.assignment.cluster if self.assignment is not None else None
        request = read_request(
            self.obj.metadata.annotations,
            previous,
            refused | dict(avoid or {}),
            seed=self.job.uid,
            namespace=self.obj.namespace,
        )
        return self.placer.place(self.demand, request, tuple(self.workers.values()), self.policy)
