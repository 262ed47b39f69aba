"""Decisions in words: what was found about each worker, with the arithmetic, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .amounts import counted, of, text
from .case import EQUAL, Case, Guard
from .fit import Fit, Sum
from .guests import Refuse
from .needs import Needs
from .wish import Wish

__all__ = ["Outcome", "Part", "Verdict", "sentence", "verdicts"]

_NAMED: Final = 3
"""How many workers a sentence names before it only counts the others."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one policy thinks of a worker."""

    name: str
    raw: float
    weight: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about one worker."""

    worker: str
    ok: bool
    """Whether it could take the workload now."""
    score: float | None
    """The sum of its parts; None if it could not."""
    sentence: str
    would_change: str
    """What would make it the chosen one; empty if it is."""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a decision was made of."""

    cases: Sequence[Case]
    chosen: Case | None
    columns: Sequence[tuple[str, float]]
    """The name and weight of each number in a case."""
    needs: Needs
    wish: Wish


def verdicts(outcome: Outcome) -> tuple[Verdict, ...]:
    return tuple(_verdict(case, outcome) for case in outcome.cases)


def _verdict(case: Case, outcome: Outcome) -> Verdict:
    name = case.worker.name
    if case.refused is not None:
        why = _refusal(case)
        return Verdict(name, False, None, why.sentence, why.would_change)
    said = _room(case)
    if not case.ok:
        return Verdict(name, False, None, said, _missing(case))
    parts = tuple(Part(column, raw, weight) for (column, weight), raw in zip(outcome.columns, case.raw, strict=True))
    return Verdict(name, True, case.score, said, _behind(case, outcome.chosen), parts)


def _refusal(case: Case) -> Refuse:
    return case.refused.why(case) if isinstance(case.refused, Guard) else case.refused or Refuse("")


def _room(case: Case) -> str:
    """How much room a worker has for the workload."""
    if case.fit is None:
        why = case.worker.capacity.unknown or "it lists no nodes"
        waiting = counted(case.worker.pending, "relayed pod")
        return f"its room is not known ({why}); {waiting} wait{'s' * (case.worker.pending == 1)} for a node there"
    said = _arithmetic(case, case.fit)
    if case.room >= case.needs.pods:
        return f"has room: {said}"
    fits = f"; {case.room} of {counted(case.needs.pods, 'pod')} fit now" if case.room else ""
    if case.later:
        return f"has no room now: {said}{fits}"
    return f"is too small for all pods at once: {said}{fits}, {case.fit.ever} if nothing else ran there"


def _arithmetic(case: Case, found: Fit) -> str:
    """What is needed and what there is of the scarcest resource."""
    if not found.serving:
        return f"0/{found.eligible} nodes for these pods are in service"
    reserved = case.worker.reserved
    tight = min(found.sums, key=lambda one: min(one.places, (one.free - one.taken(reserved)) // one.each))
    taken = tight.taken(reserved)
    nodes = counted(found.serving, "node")
    said = f"{_needed(tight, found)}, {of(tight.name, tight.free - taken, tight.has)} free on {nodes}"
    if taken:
        said += f" after {text(tight.name, taken)} for workloads on their way there"
    if case.room < found.pods and tight.free - taken >= tight.need:
        said += ", but not in pieces of that size"
    return said


def _needed(tight: Sum, found: Fit) -> str:
    if tight.name == "pods":
        return f"needs {text('pods', tight.need)}"
    return f"needs {text(tight.name, tight.need)} for {counted(found.pods, 'pod')}"


def _missing(case: Case) -> str:
    missing = case.needs.pods - case.room
    return f"room for {missing} more {'pod' if missing == 1 else 'pods'}"


def _behind(case: Case, chosen: Case | None) -> str:
    if chosen is None or case is chosen:
        return ""
    name = chosen.worker.name
    if case.fit is None and case.worker.pending:
        return f"fewer pods that wait there than on {name}, or no room on {name}"
    if not case.enough:
        return f"more room than {name}, which takes {counted(chosen.room, 'pod')} now"
    if abs(case.score - chosen.score) < EQUAL:
        return f"nothing: it is as good as {name}, and equal workers take turns"
    return f"a score above that of {name}: {case.score:.3f} against {chosen.score:.3f}"


def sentence(outcome: Outcome) -> str:
    chosen = outcome.chosen
    if chosen is not None:
        return _placed(chosen, outcome)
    if not outcome.cases:
        return "Waits for a worker: none is registered."
    if outcome.wish.problem:
        return f"Waits for a correction: {outcome.wish.problem}."
    waiting = [case for case in outcome.cases if case.refused is None]
    if waiting:
        near = max(waiting, key=lambda case: (case.room, -case.position))
        count = counted(len(waiting), "worker")
        return f"Waits for room on {count}; the nearest is {near.worker.name}, which {_room(near)}."
    return _nowhere(outcome)


def _placed(chosen: Case, outcome: Outcome) -> str:
    rivals = sum(case.ok for case in outcome.cases)
    among = f"the best of {rivals} workers that could take it" if rivals > 1 else "the only worker that could take it"
    said = _room(chosen)
    return (
        f"Goes to {chosen.worker.name}, {among}; it {said}."
        if chosen.fit
        else f"Goes to {chosen.worker.name}, {among}; {said}."
    )


def _nowhere(outcome: Outcome) -> str:
    unknown = [name for name in outcome.wish.pinned if name not in {case.worker.name for case in outcome.cases}]
    allowed = [case for case in outcome.cases if not outcome.wish.pinned or case.worker.name in outcome.wish.pinned]
    said = [f"{case.worker.name}: {_refusal(case).sentence}" for case in allowed[:_NAMED]]
    said += [f"{name}: no worker of this name is registered" for name in unknown[: _NAMED - len(said)]]
    more = len(allowed) + len(unknown) - len(said)
    return f"Waits for a worker that can take it. {'; '.join(said)}" + (f"; and {more} more." if more else ".")
