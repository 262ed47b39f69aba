"""All workers as candidates for workloads that need and ask for the same.

A pool is brought up to date worker by worker. The relay makes one for each placement. Who places many workloads while
few workers change keeps it, and updates the workers that changed: the result is the same.

A pool that is made to be kept, for a policy under which workers are scored independently of each other, also keeps the
sums of their scores. Then a worker that changed is only estimated: what is free on all of its nodes together gives its
scores, but not whether all pods fit. That is found out when it comes first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from jobrelay.relay.model import WorkerFacts

from .candidate import Candidate
from .explain import EQUAL
from .filters import FILTERS, NODE_FILTER
from .fit import FitCache, WorkerFit
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
        """By position: the weighted sums of the scores of those that fit, or may fit, if they are kept."""
        self._order: list[tuple[float, int]] = []
        """The same, the lowest sum first."""
        self._estimated: dict[int, WorkerFacts] = {}
        """By position: workers that have to be evaluated before they are used."""
        self._scores: Sequence[WeightedScore] | None = None
        """The scores that are summed up; None if they are not kept."""
        if kept_for is not None and not kept_for.relative:
            self._scores = kept_for.scores

    @property
    def candidates(self) -> list[Candidate]:
        """Every worker, in the order in which they were added."""
        self._evaluate_all()
        return list(self._candidates.values())

    @property
    def passing(self) -> list[Candidate]:
        """Those that no filter rejects, in any order."""
        self._evaluate_all()
        return list(self._passing.values())

    @property
    def fitting(self) -> list[Candidate]:
        """Those of them that have room for all pods as far as is known, in any order."""
        self._evaluate_all()
        return list(self._fitting.values())

    def best(self) -> list[Candidate]:
        """Those of `fitting` with the highest sum of scores; none if sums are not kept."""
        while self._order:
            least = self._order[-1][0] - EQUAL
            first = bisect_left(self._order, (least, -1))
            equal = [position for _, position in self._order[first:]]
            doubtful = [position for position in equal if position in self._estimated]
            if not doubtful:
                return [self._candidates[position] for position in equal]
            for position in doubtful:
                self._evaluate(position, self._estimated[position])
        return []

    def could_fit(self) -> bool:
        """Whether all pods fit on some worker that no filter rejects, if nothing else runs there."""
        for position in self._candidates:
            if position in self._estimated:
                self._evaluate(position, self._estimated[position])
            if position in self._passing and self._candidates[position].fits_when_empty:
                return True
        return False

    def update(self, position: int, worker: WorkerFacts) -> None:
        """Take over a worker as it is now."""
        if self._scores is None or position not in self._candidates or not self._estimate(position, worker):
            self._evaluate(position, worker)

    def _estimate(self, position: int, worker: WorkerFacts) -> bool:
        """Find out how a worker is scored, and perhaps that it has no room; False if it has to be evaluated."""
        estimate = self._fits.estimate(self._requirements, worker)
        if estimate is None:
            return False
        self._estimated[position] = worker
        total = self._estimated_total(position, worker, estimate.load) if estimate.room else None
        self._rank(position, total)
        return True

    def _estimated_total(self, position: int, worker: WorkerFacts, load: float) -> float | None:
        """The sum of a worker's scores; None if a filter rejects it."""
        candidate = Candidate(position, worker, self._requirements, self._request)
        for one in self._filters:
            if one.rejects(candidate):
                return None
        candidate.fit, candidate.load = _SOME_FIT, load
        return self._total(candidate, self._scores or ())

    def _evaluate_all(self) -> None:
        for position, worker in list(self._estimated.items()):
            self._evaluate(position, worker)

    def _evaluate(self, position: int, worker: WorkerFacts) -> None:
        self._estimated.pop(position, None)
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
            self._rank(position, self._total(candidate, self._scores))

    def _remove_fitting(self, position: int) -> None:
        self._fitting.pop(position, None)
        self._rank(position, None)

    def _rank(self, position: int, total: float | None) -> None:
        """Keep the sum of a worker's scores; None if it cannot be chosen."""
        known = self._totals.get(position)
        if known == total:
            return
        if known is not None:
            del self._order[bisect_left(self._order, (known, position))]
            del self._totals[position]
        if total is not None:
            insort(self._order, (total, position))
            self._totals[position] = total

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


_SOME_FIT = WorkerFit(pods=0, eligible=0, serving=0, now=0, empty=0, load=0.0, resources=(), preference=0.0)
"""The fit of candidates that are estimated: scores ask whether there is one, and else only for the load."""
