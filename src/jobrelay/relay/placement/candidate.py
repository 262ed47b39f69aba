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
    """A worker, a workload, and what one placement has found out about the two so far."""

    __slots__ = (
        "feasible", "fit", "load", "pods_fitting", "position", "rejected", "request", "requirements", "scores", "total",
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
        self.rejected: Filter | Rejection | None = None
        self.feasible = False
        self.scores: list[float] = []
        self.total = 0.0
        """The weighted sum of the scores."""

    @property
    def fits_now(self) -> bool:
        """Whether all pods fit now as far as is known."""
        return self.fit is None or self.pods_fitting >= self.requirements.pods

    @property
    def fits_without_doubt(self) -> bool:
        """Whether all pods fit, or at least no pods wait for a node where the room is not known."""
        return not self.worker.pending if self.fit is None else self.pods_fitting >= self.requirements.pods

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
