"""One worker as a candidate for one workload, and what may reject it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jobrelay.relay.model import WorkerFacts

from .fit import WorkerFit
from .plugins import Rejection
from .request import PlacementRequest
from .requirements import WorkloadRequirements


class Candidate:
    """A worker, a workload, and what the filters and the question of room have found out about the two.

    It does not change after that, and holds for every workload with the same requirements and request.
    """

    __slots__ = (
        "certain", "fit", "fits_now", "load", "pods_fitting", "position", "rejected", "request", "requirements",
        "worker",
    )  # fmt: skip

    def __init__(
        self, position: int, worker: WorkerFacts, requirements: WorkloadRequirements, request: PlacementRequest
    ) -> None:
        self.position = position
        self.worker = worker
        self.requirements = requirements
        self.request = request
        self.fit: WorkerFit | None = None
        """How the workload fits on its nodes; None if they are not known, or an earlier filter rejected it."""
        self.pods_fitting = 0
        """How many of the pods fit now."""
        self.load = 1.0
        """The used share of its scarcest resource with the workload there."""
        self.rejected: Filter | None = None
        self.fits_now = True
        """Whether all pods fit now as far as is known."""
        self.certain = not worker.pending
        """Whether all pods fit, or at least no pods wait for a node where the room is not known."""

    def has_room(self, fit: WorkerFit) -> None:
        """Its nodes are known: how the workload fits on them."""
        self.pods_fitting, self.load = fit.after(self.worker.reserved)
        self.fits_now = self.certain = self.pods_fitting >= self.requirements.pods

    @property
    def fits_when_empty(self) -> bool:
        """Whether all pods would fit if nothing else ran there."""
        return self.fit is not None and self.fit.empty >= self.requirements.pods


class Filter(NamedTuple):
    """A reason to reject a candidate: a cheap test, and a function that makes the text when somebody reads it."""

    rejects: Callable[[Candidate], bool]
    explain: Callable[[Candidate], Rejection]
    applies: Callable[[PlacementRequest], bool] = lambda request: True
    """Whether it has to be evaluated for this workload at all."""
