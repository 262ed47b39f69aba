"""All workers as candidates for workloads that need and ask for the same.

A pool is brought up to date worker by worker. The relay makes one for each placement. Who places many workloads while
few workers change keeps it, and updates the workers that changed: the result is the same. A pool that is made to be
kept, for a policy under which workers are scored independently of each other, also keeps the sums of their scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobrelay.relay.model import WorkerFacts

from .candidate import Candidate
from .filters import FILTERS, NODE_FILTER
from .fit import FitCache
from .policy import PlacementPolicy, WeightedScore
from .request import PlacementRequest
from .requirements import WorkloadRequirements


class CandidatePool:
    """The candidates by the position of their worker; each position has to be updated once before a choice."""

    def __init__(
        self,
        requirements: WorkloadRequirements,
        request: PlacementRequest,
        fits: FitCache,
        kept_for: PlacementPolicy | None = None,
    ) -> None:
        self._requirements, self._request, self._fits = requirements, request, fits
        self._filters = [one for one in FILTERS if one.applies(request)]
        self._candidates: dict[int, Candidate] = {}
        self._passing: dict[int, Candidate] = {}
        self._fitting: dict[int, Candidate] = {}
        self._totals: dict[int, float] = {}
        self._scores: Sequence[WeightedScore] | None = None
        """The scores that are summed up; None if they are not kept."""
        if kept_for is not None and not kept_for.relative:
            self._scores = kept_for.scores

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

    @property
    def totals(self) -> Mapping[int, float]:
        """The weighted sums of the scores of `fitting`, by position; empty if they are not kept."""
        return self._totals

    def at(self, position: int) -> Candidate:
        return self._candidates[position]

    def update(self, position: int, worker: WorkerFacts) -> None:
        """Evaluate a worker as it is now."""
        candidate = self._candidates[position] = Candidate(position, worker, self._requirements, self._request)
        if not self._passes(candidate):
            self._passing.pop(position, None)
            self._remove_fitting(position)
            return
        self._passing[position] = candidate
        if not candidate.fits_now:
            self._remove_fitting(position)
            return
        self._fitting[position] = candidate
        if self._scores is not None:
            self._totals[position] = self._total(candidate, self._scores)

    def _remove_fitting(self, position: int) -> None:
        if self._fitting.pop(position, None) is not None:
            self._totals.pop(position, None)

    def _total(self, candidate: Candidate, scores: Sequence[WeightedScore]) -> float:
        total, applying, alone = 0.0, [], [candidate]
        for one in scores:
            if (raw := one.score(alone)) is not None:
                total += one.weight * raw[0]
                applying.append(one)
        self._scores = applying  # whether a score applies depends on requirements and request only
        return total

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
