"""Placements in words: what was found about each worker, with the arithmetic, and what would change the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .amounts import count_of, format_amount, format_free
from .candidate import Candidate, Filter
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


@dataclass(frozen=True, slots=True)
class PlacementTrace:
    """Everything that a placement was decided on."""

    candidates: Sequence[Candidate]
    chosen: Candidate | None
    columns: Sequence[tuple[str, float]]
    """The name and weight of each of a candidate's scores."""
    request: PlacementRequest


def verdicts(trace: PlacementTrace) -> tuple[PlacementVerdict, ...]:
    """One verdict for each worker, in their order."""
    return tuple(_verdict(candidate, trace) for candidate in trace.candidates)


def _verdict(candidate: Candidate, trace: PlacementTrace) -> PlacementVerdict:
    name = candidate.worker.name
    if candidate.rejected is not None:
        why = _rejection(candidate)
        return PlacementVerdict(name, False, None, why.sentence, why.would_change)
    room = _room(candidate)
    if not candidate.feasible:
        return PlacementVerdict(name, False, None, room, _missing(candidate))
    columns = zip(trace.columns, candidate.scores, strict=True)
    parts = tuple(PluginScore(column, raw, weight) for (column, weight), raw in columns)
    return PlacementVerdict(name, True, candidate.total, room, _behind(candidate, trace.chosen), parts)


def _rejection(candidate: Candidate) -> Rejection:
    rejected = candidate.rejected
    return rejected.explain(candidate) if isinstance(rejected, Filter) else rejected or Rejection("")


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


def _behind(candidate: Candidate, chosen: Candidate | None) -> str:
    """Why a feasible worker was not chosen."""
    if chosen is None or candidate is chosen:
        return ""
    name = chosen.worker.name
    if candidate.fit is None and candidate.worker.pending:
        return f"fewer pods that wait there than on {name}, or no room on {name}"
    if not candidate.fits_now:
        return f"more room than {name}, which takes {count_of(chosen.pods_fitting, 'pod')} now"
    if abs(candidate.total - chosen.total) < EQUAL:
        return f"nothing: it is as good as {name}, and equal workers take turns"
    return f"a score above that of {name}: {candidate.total:.3f} against {chosen.total:.3f}"


def sentence(trace: PlacementTrace) -> str:
    """The decision in one sentence."""
    if trace.chosen is not None:
        return _placed(trace.chosen, trace)
    if not trace.candidates:
        return "Waits for a worker: none is registered."
    if trace.request.problem:
        return f"Waits for a correction: {trace.request.problem}."
    waiting = [candidate for candidate in trace.candidates if candidate.rejected is None]
    if waiting:
        near = max(waiting, key=lambda candidate: (candidate.pods_fitting, -candidate.position))
        count = count_of(len(waiting), "worker")
        return f"Waits for room on {count}; the nearest is {near.worker.name}, which {_room(near)}."
    return _rejected_by_all(trace)


def _placed(chosen: Candidate, trace: PlacementTrace) -> str:
    count = sum(candidate.feasible for candidate in trace.candidates)
    among = f"the best of {count} workers that could take it" if count > 1 else "the only worker that could take it"
    return f"Goes to {chosen.worker.name}, {among}; {'it ' if chosen.fit else ''}{_room(chosen)}."


def _rejected_by_all(trace: PlacementTrace) -> str:
    pinned = trace.request.pinned
    unknown = [name for name in pinned if name not in {candidate.worker.name for candidate in trace.candidates}]
    allowed = [candidate for candidate in trace.candidates if not pinned or candidate.worker.name in pinned]
    reasons = [f"{candidate.worker.name}: {_rejection(candidate).sentence}" for candidate in allowed[:_NAMED]]
    reasons += [f"{name}: no worker of this name is registered" for name in unknown[: _NAMED - len(reasons)]]
    more = len(allowed) + len(unknown) - len(reasons)
    return f"Waits for a worker that can take it. {'; '.join(reasons)}" + (f"; and {more} more." if more else ".")
