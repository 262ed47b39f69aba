"""All workers as candidates for workloads that need and ask for the same.

A pool is brought up to date worker by worker. The relay makes one for each placement. Who places many workloads while
few workers change keeps it, and updates the workers that changed: the result is the same.
"""

from __future__ import annotations

from jobrelay.relay.model import WorkerFacts

from .candidate import Candidate
from .filters import FILTERS, NODE_FILTER
from .fit import FitCache
from .request import PlacementRequest
from .requirements import WorkloadRequirements


class CandidatePool:
    """The candidates by the position of their worker; each position has to be updated once before a choice."""

    def __init__(self, requirements: WorkloadRequirements, request: PlacementRequest, fits: FitCache) -> None:
        self._requirements, self._request, self._fits = requirements, request, fits
        self._filters = [one for one in FILTERS if one.applies(request)]
        self._candidates: dict[int, Candidate] = {}
        self._passing: dict[int, Candidate] = {}
        self._fitting: dict[int, Candidate] = {}

    @property
    def candidates(self) -> list[Candidate]:
        """Every worker, in the order in which they were added."""
        return list(self._candidates.values())

    @property
    def passing(self) -> list[Candidate]:
        """Those that no filter rejects, in any order."""
        return list(self._passing.values())

    @property
    def fitting(self) -> list[Candidate]:
        """Those of them that have room for all pods as far as is known, in any order."""
        return list(self._fitting.values())

    def update(self, position: int, worker: WorkerFacts) -> None:
        """Evaluate a worker as it is now."""
        candidate = self._candidates[position] = Candidate(position, worker, self._requirements, self._request)
        if not self._passes(candidate):
            self._passing.pop(position, None)
            self._fitting.pop(position, None)
            return
        self._passing[position] = candidate
        if candidate.fits_now:
            self._fitting[position] = candidate
        else:
            self._fitting.pop(position, None)

    def _passes(self, candidate: Candidate) -> bool:
        for one in self._filters:
            if one.rejects(candidate):
                candidate.rejected = one
                return False
        fit = candidate.fit = self._fits.fit(self._requirements, candidate.worker)
        if fit is None:
            return True
        if NODE_FILTER.rejects(candidate):
            candidate.rejected = NODE_FILTER
            return False
        candidate.has_room(fit)
        return True
