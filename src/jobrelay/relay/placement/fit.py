"""How many pods of a workload the nodes of a worker can hold: now, and if they were empty.

Every node is considered by itself, since eight free CPUs on eight nodes hold no pod that needs two. A node that is
cordoned or has one of Kubernetes' own taints (not ready, under pressure) is out of service now but counts for what
would fit on empty nodes.

The requests of workloads that are assigned but not yet visible as pods are known only as a sum. The sum is subtracted
both from the free amounts and from the number of pods that fit, and the stricter result counts. Nodes that do not
accept these pods take their share of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from jobrelay.relay.model import Capacity, WorkerFacts
from jobrelay.workloads import WorkloadDemand

from .amounts import floor_milli
from .nodetotals import NodeResources, NodeTotals, sum_nodes
from .requirements import WorkloadRequirements, requirements_of

_MOST_FITS: Final = 512
"""Cached fits of one worker."""
_MOST_DEMANDS: Final = 4096


class ResourceFit(NamedTuple):
    """One resource over all nodes that accept the pods, in thousandths."""

    name: str
    each: int
    """Request of one pod, on average if they differ."""
    requested: int
    """Request of all pods."""
    allocatable: int
    free: int
    pods: int
    """How many pods fit by this resource, summed over the nodes."""
    elsewhere: int
    """What is free on nodes that do not accept these pods."""

    def taken(self, reserved: Mapping[str, Fraction]) -> int:
        """How much of the free amount is reserved for workloads on their way."""
        amount = reserved.get(self.name)
        if amount is None:
            return 0
        taken = floor_milli(amount)
        if taken and self.elsewhere:
            taken = taken * self.free // (self.free + self.elsewhere)
        return min(self.free, taken)


class WorkerFit(NamedTuple):
    """How a workload fits on the nodes of a worker."""

    pods: int
    """How many pods it runs at the same time."""
    eligible: int
    """Nodes whose labels and taints admit its pods, in service or not."""
    serving: int
    """Those of them that are in service."""
    now: int
    """How many pods fit beside what runs there; may exceed `pods`."""
    empty: int
    """How many pods would fit on empty nodes."""
    load: float
    """The used share of the scarcest resource with this workload there: 0 to 1."""
    resources: tuple[ResourceFit, ...]
    preference: float
    """How well the best node meets the preferred node affinity: 0 to 1."""

    def after(self, reserved: Mapping[str, Fraction]) -> tuple[int, float]:
        """How many pods fit, and the load, once the reserved amounts are in use."""
        if not reserved:
            return self.now, self.load
        pods, load = self.now, self.load
        for one in self.resources:
            if taken := one.taken(reserved):
                pods = min(pods, one.pods - taken // one.each, (one.free - taken) // one.each)
                load = max(load, (one.allocatable - one.free + taken + one.requested) / one.allocatable)
        return max(pods, 0), min(load, 1.0)


class _WorkerNodes:
    """The nodes of one worker as of its last capacity, and the fits computed from them."""

    __slots__ = ("_sums", "capacity", "fits", "nodes")

    def __init__(self) -> None:
        self.capacity: Capacity | None = None
        self.nodes: list[NodeResources] = []
        self.fits: dict[bytes, tuple[NodeTotals, WorkerFit]] = {}
        self._sums: Mapping[str, tuple[int, int]] | None = None

    def update(self, capacity: Capacity) -> None:
        """Take over a new capacity; nodes that are the same objects as before are not read again."""
        known = {id(info.node): info for info in self.nodes}
        self.nodes = [known.get(id(node)) or NodeResources(node) for node in capacity.nodes]
        self.capacity = capacity
        self._sums = None

    def fit(self, requirements: WorkloadRequirements) -> WorkerFit:
        found = self.fits.get(requirements.key)
        if found is not None and found[0].nodes is self.nodes:
            return found[1]
        if found is None and len(self.fits) >= _MOST_FITS:
            self.fits.clear()
        totals = found[0] if found is not None else NodeTotals(requirements)
        totals.update(self.nodes)
        fresh = _fit(requirements, totals)
        self.fits[requirements.key] = (totals, fresh)
        return fresh

    def estimate(self, requirements: WorkloadRequirements) -> FitEstimate | None:
        """What the sums over all nodes say about a workload; None if some nodes may not take its pods."""
        if len(requirements.pod_sets) != 1 or requirements.pod_sets[0].selects_nodes:
            return None
        if self._sums is None:
            self._sums = sum_nodes(self.nodes)
        if not self._sums:
            return None
        (pods,) = requirements.pod_sets
        room, load = True, 0.0
        for name, amount in pods.requests:
            allocatable, free = self._sums.get(name, (0, 0))
            requested = amount * pods.count
            if requested > free:
                room = False
            share = (allocatable - free + requested) / allocatable if allocatable else 1.0
            if share > load:
                load = share
        return FitEstimate(room, min(load, 1.0))


class FitEstimate(NamedTuple):
    """What is known of a fit without going through the nodes."""

    room: bool
    """Whether all pods may fit now; if not, they certainly do not."""
    load: float
    """The load of the fit."""


class FitCache:
    """Fits by worker and requirements. It holds a bounded number of fits and at most as many workers as there are."""

    def __init__(self) -> None:
        self._workers: dict[str, _WorkerNodes] = {}
        self._requirements: dict[tuple[str, str, tuple[int, ...]], WorkloadRequirements] = {}

    def requirements(self, demand: WorkloadDemand) -> WorkloadRequirements:
        """The requirements of a demand, computed once for each shape, basis and pod count."""
        key = (demand.shape, demand.basis, tuple([pods.count for pods in demand.pod_sets]))
        found = self._requirements.get(key)
        if found is None:
            if len(self._requirements) >= _MOST_DEMANDS:
                self._requirements.clear()
            found = self._requirements[key] = requirements_of(demand)
        return found

    def fit(self, requirements: WorkloadRequirements, worker: WorkerFacts) -> WorkerFit | None:
        """How a workload fits on a worker; None if the worker's nodes are not known."""
        known = self._known(worker)
        return known.fit(requirements) if known is not None else None

    def estimate(self, requirements: WorkloadRequirements, worker: WorkerFacts) -> FitEstimate | None:
        """A part of the fit that is quickly found; None if it is not that easy."""
        known = self._known(worker) if not worker.reserved else None
        return known.estimate(requirements) if known is not None else None

    def _known(self, worker: WorkerFacts) -> _WorkerNodes | None:
        """The nodes of a worker, up to date."""
        capacity = worker.capacity
        if capacity.unknown or not capacity.nodes:
            return None
        known = self._workers.get(worker.name)
        if known is None:
            known = self._workers[worker.name] = _WorkerNodes()
        if known.capacity is not capacity:
            known.update(capacity)
        return known

    def retain(self, workers: Sequence[WorkerFacts]) -> None:
        """Forget workers that are gone, once more are cached than there are."""
        if len(self._workers) > len(workers):
            for name in self._workers.keys() - {worker.name for worker in workers}:
                del self._workers[name]


def _fit(requirements: WorkloadRequirements, totals: NodeTotals) -> WorkerFit:
    eligible, serving, now, empty = totals.head
    resources, load = [], 0.0
    for (name, each, requested), (allocatable, free, pods, elsewhere) in zip(
        totals.resources, totals.sums, strict=True
    ):
        resources.append(ResourceFit(name, each, requested, allocatable, free, pods, elsewhere))
        share = (allocatable - free + requested) / allocatable if allocatable else 1.0
        load = max(load, share)
    load = min(load, 1.0) if resources else 1.0
    return WorkerFit(requirements.pods, eligible, serving, now, empty, load, tuple(resources), totals.preference)
