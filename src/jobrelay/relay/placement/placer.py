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

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from jobrelay.relay.model import WorkerFacts
from jobrelay.workloads import WorkloadDemand

from . import explain
from .candidate import Candidate, Filter
from .explain import EQUAL, PlacementTrace, PlacementVerdict
from .filters import FILTERS, NODE_FILTER
from .fit import FitCache
from .plugins import PluginResult, PolicyPlugins, Rejection
from .policy import PlacementPolicy, parse_policy
from .request import PlacementRequest


@dataclass(frozen=True)
class Placement:
    """Where a workload goes, and why. The texts are made when they are first read."""

    chosen: str | None
    problems: tuple[str, ...]
    """Plugins that are disabled, and annotations that are ignored."""
    trace: PlacementTrace = field(repr=False, compare=False)

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
        requirements = self._fits.requirements(demand)
        candidates = [Candidate(position, worker, requirements, request) for position, worker in enumerate(workers)]
        filters = [one for one in FILTERS if one.applies(request)]
        passing = [candidate for candidate in candidates if self._passes(candidate, filters)]
        columns: list[tuple[str, float]] = []
        passing = self._run_plugins(demand, request, passing, policy, columns)
        feasible = _feasible(passing, policy)
        _score(feasible, policy, columns)
        chosen = _best(feasible, request.seed)
        disabled = [plugin.problem for name, _ in policy.plugins if (plugin := self._plugins.load(name)).problem]
        trace = PlacementTrace(candidates, chosen, columns, request)
        return Placement(chosen.worker.name if chosen else None, (*request.notes, *disabled), trace)

    def _passes(self, candidate: Candidate, filters: Sequence[Filter]) -> bool:
        for one in filters:
            if one.rejects(candidate):
                candidate.rejected = one
                return False
        fit = candidate.fit = self._fits.fit(candidate.requirements, candidate.worker)
        if fit is None:
            return True
        if NODE_FILTER.rejects(candidate):
            candidate.rejected = NODE_FILTER
            return False
        candidate.pods_fitting, candidate.load = fit.after(candidate.worker.reserved)
        return True

    def _run_plugins(
        self,
        demand: WorkloadDemand,
        request: PlacementRequest,
        candidates: list[Candidate],
        policy: PlacementPolicy,
        columns: list[tuple[str, float]],
    ) -> list[Candidate]:
        """The candidates that no plugin rejects, with the scores of the plugins."""
        for name, weight in policy.plugins:
            workers = [candidate.worker for candidate in candidates]
            results = self._plugins.load(name).evaluate(demand, request, workers)
            if results is not None:
                columns.append((name, weight))
                candidates = _not_rejected(candidates, results, weight)
        return candidates


def _not_rejected(candidates: list[Candidate], results: list[PluginResult], weight: float) -> list[Candidate]:
    for candidate, result in zip(candidates, results, strict=True):
        if isinstance(result, Rejection):
            candidate.rejected = result
        else:
            candidate.scores.append(float(result))
            candidate.total += weight * result
    return [candidate for candidate in candidates if candidate.rejected is None]


def _feasible(candidates: list[Candidate], policy: PlacementPolicy) -> list[Candidate]:
    """The candidates that may be chosen now."""
    found = [candidate for candidate in candidates if candidate.fits_now]
    if not found and not policy.waits:
        found = candidates
    elif not found and not any(candidate.fits_when_empty for candidate in candidates):
        found = [candidate for candidate in candidates if candidate.pods_fitting]
    for candidate in found:
        candidate.feasible = True
    return found


def _score(candidates: list[Candidate], policy: PlacementPolicy, columns: list[tuple[str, float]]) -> None:
    for weighted in policy.scores if candidates else ():
        scores = weighted.score(candidates)
        if scores is None:
            continue
        columns.append((weighted.name, weighted.weight))
        for candidate, raw in zip(candidates, scores, strict=True):
            candidate.scores.append(raw)
            candidate.total += weighted.weight * raw


def _best(candidates: list[Candidate], seed: str) -> Candidate | None:
    """The best score among those that fit without doubt, or else among those with the least shortage."""
    leading = [candidate for candidate in candidates if candidate.fits_without_doubt]
    if not leading and candidates:
        nearest = min(map(_shortage, candidates))
        leading = [candidate for candidate in candidates if _shortage(candidate) == nearest]
    if not leading:
        return None
    best = max([candidate.total for candidate in leading]) - EQUAL
    equal = [candidate for candidate in leading if candidate.total >= best]
    if len(equal) == 1:
        return equal[0]
    equal.sort(key=lambda candidate: candidate.worker.name)
    return equal[int.from_bytes(blake2b(seed.encode(), digest_size=8).digest()) % len(equal)]


def _shortage(candidate: Candidate) -> tuple[bool, int, int]:
    """Lower is better: pods that wait where the room is not known, then pods that do not fit now, then ever."""
    if candidate.fit is None:
        return False, candidate.worker.pending, 0
    return True, -candidate.pods_fitting, -min(candidate.fit.empty, candidate.requirements.pods)
