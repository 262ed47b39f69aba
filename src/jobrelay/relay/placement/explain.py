"""Placements in words: what was found about each worker, with the arithmetic, and what would change the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from .amounts import count_of, format_amount, format_free
from .candidate import Candidate
from .fit import ResourceFit, WorkerFit
from .plugins import Rejection
from .request import PlacementRequest

EQUAL: Final = 1e-9
"""Scores that differ by less are equal."""
_NAMED: Final = 3
"""How many workers a sentence names before it only counts the others."""


@dataclass(frozen=True, slots=True)
class PluginScore:
    """What one score or plugin gave a worker."""

    name: str
    raw: float
    weight: float


@dataclass(frozen=True, slots=True)
class PlacementVerdict:
    """What was found about one worker."""

    worker: str
    ok: bool
    """Whether it could take the workload now."""
    score: float | None
    """The weighted sum of its parts; None if it could not take it."""
    sentence: str
    would_change: str
    """What would make it the chosen one; empty if it is."""
    parts: tuple[PluginScore, ...] = ()


class ScoreColumn(NamedTuple):
    """What one score or plugin gave the feasible candidates."""

    name: str
    weight: float
    raw: Sequence[float]


@dataclass(frozen=True, slots=True)
class PlacementTrace:
    """Everything that a placement was decided on."""

    candidates: Sequence[Candidate]
    """Every worker, in their order."""
    feasible: Sequence[Candidate]
    """Those that could be chosen."""
    refused: Mapping[int, Rejection]
    """What plugins said about workers that they reject, by position."""
    columns: Sequence[ScoreColumn]
    """The scores of the feasible candidates, in their order."""
    totals: Sequence[float]
    """The weighted sums of the scores, in the same order."""
    chosen: Candidate | None
    request: PlacementRequest

    def rejection(self, candidate: Candidate) -> Rejection | None:
        """Why a candidate is rejected, by a filter or a plugin."""
        if candidate.rejected is not None:
            return candidate.rejected.explain(candidate)
        return self.refused.get(candidate.position)


def verdicts(trace: PlacementTrace) -> tuple[PlacementVerdict, ...]:
    """One verdict for each worker, in their order."""
    ranks = {candidate.position: rank for rank, candidate in enumerate(trace.feasible)}
    best = trace.totals[ranks[trace.chosen.position]] if trace.chosen is not None else 0.0
    return tuple(_verdict(one, trace, ranks.get(one.position), best) for one in trace.candidates)


def _verdict(candidate: Candidate, trace: PlacementTrace, rank: int | None, best: float) -> PlacementVerdict:
    name = candidate.worker.name
    if (why := trace.rejection(candidate)) is not None:
        return PlacementVerdict(name, False, None, why.sentence, why.would_change)
    room = _room(candidate)
    if rank is None:
        return PlacementVerdict(name, False, None, room, _missing(candidate))
    parts = tuple(PluginScore(column.name, column.raw[rank], column.weight) for column in trace.columns)
    total = trace.totals[rank]
    return PlacementVerdict(name, True, total, room, _behind(candidate, trace.chosen, total, best), parts)


def _room(candidate: Candidate) -> str:
    """How much room a worker has for the workload."""
    worker, pods = candidate.worker, candidate.requirements.pods
    if candidate.fit is None:
        why = worker.capacity.unknown or "it lists no nodes"
        waiting = count_of(worker.pending, "relayed pod")
        return f"its room is not known ({why}); {waiting} wait{'s' * (worker.pending == 1)} for a node there"
    arithmetic = _arithmetic(candidate, candidate.fit)
    if candidate.pods_fitting >= pods:
        return f"has room: {arithmetic}"
    fits = f"; {candidate.pods_fitting} of {count_of(pods, 'pod')} fit now" if candidate.pods_fitting else ""
    if candidate.fits_when_empty:
        return f"has no room now: {arithmetic}{fits}"
    empty = candidate.fit.empty
    return f"is too small for all pods at once: {arithmetic}{fits}, {empty} if nothing else ran there"


def _arithmetic(candidate: Candidate, fit: WorkerFit) -> str:
    """What is needed and what there is of the scarcest resource."""
    if not fit.serving:
        return f"0/{fit.eligible} nodes for these pods are in service"
    reserved = candidate.worker.reserved
    tight = min(fit.resources, key=lambda one: min(one.pods, (one.free - one.taken(reserved)) // one.each))
    taken = tight.taken(reserved)
    free = format_free(tight.name, tight.free - taken, tight.allocatable)
    text = f"{_needed(tight, fit)}, {free} free on {count_of(fit.serving, 'node')}"
    if taken:
        text += f" after {format_amount(tight.name, taken)} for workloads on their way there"
    if candidate.pods_fitting < fit.pods and tight.free - taken >= tight.requested:
        text += ", but not in pieces of that size"
    return text


def _needed(tight: ResourceFit, fit: WorkerFit) -> str:
    if tight.name == "pods":
        return f"needs {format_amount('pods', tight.requested)}"
    return f"needs {format_amount(tight.name, tight.requested)} for {count_of(fit.pods, 'pod')}"


def _missing(candidate: Candidate) -> str:
    missing = candidate.requirements.pods - candidate.pods_fitting
    return f"room for {missing} more {'pod' if missing == 1 else 'pods'}"


def _behind(candidate: Candidate, chosen: Candidate | None, total: float, best: float) -> str:
    """Why a feasible worker with this total was not chosen; `best` is that of the chosen one."""
    if chosen is None or candidate is chosen:
        return ""
    name = chosen.worker.name
    if candidate.fit is None and candidate.worker.pending:
        return f"fewer pods that wait there than on {name}, or no room on {name}"
    if not candidate.fits_now:
        return f"more room than {name}, which takes {count_of(chosen.pods_fitting, 'pod')} now"
    if abs(total - best) < EQUAL:
        return f"nothing: it is as good as {name}, and equal workers take turns"
    return f"a score above that of {name}: {total:.3f} against {best:.3f}"


def sentence(trace: PlacementTrace) -> str:
    """The decision in one sentence."""
    if trace.chosen is not None:
        return _placed(trace.chosen, trace)
    if not trace.candidates:
        return "Waits for a worker: none is registered."
    if trace.request.problem:
        return f"Waits for a correction: {trace.request.problem}."
    waiting = [one for one in trace.candidates if one.rejected is None and one.position not in trace.refused]
    if waiting:
        near = max(waiting, key=lambda candidate: (candidate.pods_fitting, -candidate.position))
        count = count_of(len(waiting), "worker")
        return f"Waits for room on {count}; the nearest is {near.worker.name}, which {_room(near)}."
    return _rejected_by_all(trace)


def _placed(chosen: Candidate, trace: PlacementTrace) -> str:
    count = len(trace.feasible)
    among = f"the best of {count} workers that could take it" if count > 1 else "the only worker that could take it"
    return f"Goes to {chosen.worker.name}, {among}; {'it ' if chosen.fit else ''}{_room(chosen)}."


def _rejected_by_all(trace: PlacementTrace) -> str:
    pinned = trace.request.pinned
    unknown = [name for name in pinned if name not in {candidate.worker.name for candidate in trace.candidates}]
    allowed = [candidate for candidate in trace.candidates if not pinned or candidate.worker.name in pinned]
    found = [(candidate.worker.name, trace.rejection(candidate)) for candidate in allowed[:_NAMED]]
    reasons = [f"{name}: {why.sentence}" for name, why in found if why is not None]
    reasons += [f"{name}: no worker of this name is registered" for name in unknown[: _NAMED - len(reasons)]]
    more = len(allowed) + len(unknown) - len(reasons)
    return f"Waits for a worker that can take it. {'; '.join(reasons)}" + (f"; and {more} more." if more else ".")
