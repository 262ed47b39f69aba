"""Placement: every worker passes the filters, the plugins and the question of room; the best of the feasible ones is
chosen.

Room decides first. A worker with room for all pods, or whose room is not known, is feasible. While there is none, the
workload waits at the relay, where any worker may become free first, as long as some worker could hold all of it. A
workload that is larger than every worker goes to the one that takes most of its pods now: the others follow as the
first ones end.

Among feasible workers, those whose room is unknown and in doubt, because pods of relayed workloads wait for a node
there, come last. Scores decide the rest, and equal workers take turns by the workload's seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from jobrelay.relay.model import WorkerFacts
from jobrelay.workloads import WorkloadDemand

from . import explain
from .candidate import Candidate
from .explain import EQUAL, PlacementTrace, PlacementVerdict, ScoreColumn
from .filters import DEPENDENCIES_FILTER
from .fit import FitCache
from .plugins import PluginResult, PolicyPlugins, Rejection
from .policy import PlacementPolicy, parse_policy
from .pool import CandidatePool
from .request import PlacementRequest


@dataclass(frozen=True)
class Placement:
    """Where a workload goes, and why. The texts are made when they are first read."""

    chosen: str | None
    problems: tuple[str, ...]
    """Plugins that are disabled, and annotations that are ignored."""
    trace: PlacementTrace = field(repr=False, compare=False)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The workers that are rejected only because they lack objects that the workload needs."""
        return tuple(one.worker.name for one in self.trace.candidates if one.rejected is DEPENDENCIES_FILTER)

    @property
    def waits_for_room(self) -> bool:
        """Whether some worker could take the workload if it had room."""
        refused = self.trace.refused
        return any(one.rejected is None and one.position not in refused for one in self.trace.candidates)

    @property
    def has_room_later(self) -> bool:
        """Whether some worker is only full: it could take the workload when others have ended there."""
        refused = self.trace.refused
        return any(
            one.rejected is None and one.position not in refused and (one.fit is None or one.fits_when_empty)
            for one in self.trace.candidates
        )

    @cached_property
    def verdicts(self) -> tuple[PlacementVerdict, ...]:
        """What was found about every worker, in their order."""
        return explain.verdicts(self.trace)

    @cached_property
    def sentence(self) -> str:
        """The decision in one sentence."""
        return explain.sentence(self.trace)


class Placer:
    """Chooses workers for workloads.

    It owns what placements have in common: the plugins, of which some may become disabled, and the cached fits of
    each worker. Everything else that a placement depends on is given to `place`, which always gets all workers there
    are.
    """

    def __init__(self, plugins: PolicyPlugins | None = None) -> None:
        self._plugins = plugins or PolicyPlugins()
        self._fits = FitCache()

    def parse(self, policy: str) -> PlacementPolicy:
        """Parse a policy that may name this placer's plugins."""
        return parse_policy(policy, self._plugins)

    def place(
        self, demand: WorkloadDemand, request: PlacementRequest, workers: Sequence[WorkerFacts], policy: PlacementPolicy
    ) -> Placement:
        """Choose the worker for a workload, or say why there is none."""
        self._fits.retain(workers)
        return self._place_anew(demand, request, workers, policy)

    def has_room(
        self, demand: WorkloadDemand, request: PlacementRequest, worker: WorkerFacts, policy: PlacementPolicy
    ) -> bool:
        """Whether one of all workers can take a workload now."""
        return self._place_anew(demand, request, (worker,), policy).chosen is not None

    def _place_anew(
        self, demand: WorkloadDemand, request: PlacementRequest, workers: Sequence[WorkerFacts], policy: PlacementPolicy
    ) -> Placement:
        pool = CandidatePool(self._fits.requirements(demand), request, self._fits)
        for position, worker in enumerate(workers):
            pool.update(position, worker)
        return self._place(pool, demand, request, policy)

    def pool(self, demand: WorkloadDemand, request: PlacementRequest, policy: PlacementPolicy) -> CandidatePool:
        """An empty pool of candidates for workloads like this one, to be kept for `choose`."""
        return CandidatePool(self._fits.requirements(demand), request, self._fits, policy)

    def choose(
        self, pool: CandidatePool, demand: WorkloadDemand, request: PlacementRequest, policy: PlacementPolicy
    ) -> str | None:
        """The worker that `place` would choose, from a pool that is kept for this policy.

        The request may differ from that of the pool in its seed only.
        """
        if not policy.relative:
            equal = pool.best()
            if equal and all(one.certain for one in equal):
                return _take_turns(equal, request.seed).worker.name
            if not equal and policy.waits and pool.could_fit():
                return None
        return self._place(pool, demand, request, policy).chosen

    def _place(
        self, pool: CandidatePool, demand: WorkloadDemand, request: PlacementRequest, policy: PlacementPolicy
    ) -> Placement:
        plugins: list[_PluginScores] = []
        refused: dict[int, Rejection] = {}
        if policy.plugins:
            passing = self._run_plugins(demand, request, pool.passing, policy, plugins, refused)
            feasible = [candidate for candidate in passing if candidate.fits_now] or _without_room(passing, policy)
        else:
            feasible = pool.fitting or _without_room(pool.passing, policy)
        columns = [one.column(feasible) for one in plugins] + _scores(feasible, policy)
        totals = _totals(columns, len(feasible))
        chosen = _best(feasible, totals, request.seed)
        disabled = [plugin.problem for name, _ in policy.plugins if (plugin := self._plugins.load(name)).problem]
        trace = PlacementTrace(pool.candidates, feasible, refused, columns, totals, chosen, request)
        return Placement(chosen.worker.name if chosen else None, (*request.notes, *disabled), trace)

    def _run_plugins(
        self,
        demand: WorkloadDemand,
        request: PlacementRequest,
        candidates: list[Candidate],
        policy: PlacementPolicy,
        scores: list[_PluginScores],
        refused: dict[int, Rejection],
    ) -> list[Candidate]:
        """The candidates that no plugin rejects; fills in the scores of the plugins, and what they reject."""
        for name, weight in policy.plugins:
            workers = [candidate.worker for candidate in candidates]
            results = self._plugins.load(name).evaluate(demand, request, workers)
            if results is None:
                continue
            found = {one.position: result for one, result in zip(candidates, results, strict=True)}
            refused |= {position: result for position, result in found.items() if isinstance(result, Rejection)}
            scores.append(_PluginScores(name, weight, found))
            candidates = [candidate for candidate in candidates if candidate.position not in refused]
        return candidates


class _PluginScores(NamedTuple):
    """What a plugin said about the workers, by their position."""

    name: str
    weight: float
    results: Mapping[int, PluginResult]

    def column(self, candidates: Sequence[Candidate]) -> ScoreColumn:
        found = (self.results[candidate.position] for candidate in candidates)
        return ScoreColumn(self.name, self.weight, [0.0 if isinstance(one, Rejection) else float(one) for one in found])


def _without_room(passing: list[Candidate], policy: PlacementPolicy) -> list[Candidate]:
    """The candidates that may be chosen although none has room for all pods."""
    if not policy.waits:
        return passing
    if any(candidate.fits_when_empty for candidate in passing):
        return []
    return [candidate for candidate in passing if candidate.pods_fitting]


def _scores(candidates: list[Candidate], policy: PlacementPolicy) -> list[ScoreColumn]:
    found = [(one, one.score(candidates)) for one in policy.scores] if candidates else []
    return [ScoreColumn(one.name, one.weight, raw) for one, raw in found if raw is not None]


def _totals(columns: Sequence[ScoreColumn], count: int) -> Sequence[float]:
    """The weighted sums of the scores."""
    totals: Sequence[float] = [0.0] * count
    for number, column in enumerate(columns):
        weight, raw = column.weight, column.raw
        if not number:
            totals = raw if weight == 1 else [weight * one for one in raw]
        else:
            totals = [total + weight * one for total, one in zip(totals, raw, strict=True)]
    return totals


def _best(candidates: list[Candidate], totals: Sequence[float], seed: str) -> Candidate | None:
    """The best score among those that fit without doubt, or else among those with the least shortage."""
    if not candidates:
        return None
    best = max(totals) - EQUAL
    equal = [one for total, one in zip(totals, candidates, strict=True) if total >= best]
    if not all(one.certain for one in equal):
        leading = _leading(candidates, totals)
        best = max([total for total, _ in leading]) - EQUAL
        equal = [one for total, one in leading if total >= best]
    return _take_turns(equal, seed)


def _take_turns(equal: list[Candidate], seed: str) -> Candidate:
    if len(equal) == 1:
        return equal[0]
    equal.sort(key=lambda candidate: candidate.worker.name)
    return equal[int.from_bytes(blake2b(seed.encode(), digest_size=8).digest()) % len(equal)]


def _leading(candidates: list[Candidate], totals: Sequence[float]) -> list[tuple[float, Candidate]]:
    """Those that fit without doubt, or else those with the least shortage."""
    pairs = list(zip(totals, candidates, strict=True))
    certain = [(total, one) for total, one in pairs if one.certain]
    if certain:
        return certain
    nearest = min(map(_shortage, candidates))
    return [(total, one) for total, one in pairs if _shortage(one) == nearest]


def _shortage(candidate: Candidate) -> tuple[bool, int, int]:
    """Lower is better: pods that wait where the room is not known, then pods that do not fit now, then ever."""
    if candidate.fit is None:
        return False, candidate.worker.pending, 0
    return True, -candidate.pods_fitting, -min(candidate.fit.empty, candidate.requirements.pods)
