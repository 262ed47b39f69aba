"""Placement: every worker passes the guards, the policies of other packages and the question of room; the best that is left wins.

Room decides first. A worker that has room for all pods, or whose room is not known, is open. While none is, the workload waits
here, where nothing is lost and any worker may become free first, as long as some worker could hold all of it. A workload
that is larger than every worker goes to the one that takes most of its pods now: the rest follow as the first ones end.

Among open workers those whose unknown room is in doubt, because pods of relayed workloads wait for a node there, come last.
Scores decide the rest, and equal workers take turns by the workload's seed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from jobrelay.relay.model import WorkerFacts
from jobrelay.workloads import Demand

from . import explain
from .case import EQUAL, GUARDS, Case, Guard
from .explain import Outcome, Verdict
from .guests import Refuse
from .needs import needs_of
from .policy import Policy
from .wish import Wish

__all__ = ["Placement", "alike", "place"]


@dataclass(frozen=True)
class Placement:
    """Where a workload goes, and why. The texts are made when they are first read."""

    chosen: str | None
    problems: tuple[str, ...]
    """Policies that are set aside, and annotations that are left out."""
    waits_for_room: bool
    """Whether nothing but room is missing: some worker could take it later."""
    outcome: Outcome = field(repr=False, compare=False)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What was found about every worker, in their order."""
        return explain.verdicts(self.outcome)

    @cached_property
    def sentence(self) -> str:
        """The decision in one sentence."""
        return explain.sentence(self.outcome)


def place(demand: Demand, wish: Wish, workers: Sequence[WorkerFacts], policy: Policy) -> Placement:
    """Choose the worker for a workload, or say why there is none."""
    needs = needs_of(demand)
    cases = [Case(position, worker, needs, wish) for position, worker in enumerate(workers)]
    guards = [guard for guard in GUARDS if guard.matters(wish)]
    passing = [case for case in cases if not _refused(case, guards)]
    columns: list[tuple[str, float]] = []
    passing = _ask_guests(demand, wish, passing, policy, columns)
    candidates = _open(passing, policy, wish)
    _score(candidates, policy, columns)
    chosen = _best(candidates, wish.seed)
    problems = wish.notes + tuple(guest.problem for guest, _ in policy.guests if guest.problem)
    outcome = Outcome(cases, chosen, columns, needs, wish)
    return Placement(chosen.worker.name if chosen else None, problems, bool(passing) and chosen is None, outcome)


def alike(demand: Demand, wish: Wish, policy: Policy) -> Hashable:
    """Equal for workloads that wait for the same thing: while one of them waits for room, the others do too."""
    needs = demand.shape if policy.guests else needs_of(demand).key
    wanted = (wish.namespace, wish.pinned, str(wish.selector), frozenset(wish.excluded), wish.patient, wish.problem)
    return needs, wanted, policy.text


def _refused(case: Case, guards: Sequence[Guard]) -> bool:
    for guard in guards:
        if guard.refuses(case):
            case.refused = guard
            return True
    if case.fit is not None:
        case.room, case.load = case.fit.after(case.worker.reserved)
    return False


def _ask_guests(
    demand: Demand, wish: Wish, cases: list[Case], policy: Policy, columns: list[tuple[str, float]]
) -> list[Case]:
    """The cases that no policy from elsewhere refuses; those that it does not refuse carry its numbers."""
    for guest, weight in policy.guests:
        opinions = guest.ask(demand, wish, [case.worker for case in cases])
        if opinions is None:
            continue
        columns.append((guest.name, weight))
        for case, opinion in zip(cases, opinions, strict=True):
            if isinstance(opinion, Refuse):
                case.refused = opinion
            else:
                case.raw.append(float(opinion))
                case.score += weight * opinion
        cases = [case for case in cases if case.refused is None]
    return cases


def _open(cases: list[Case], policy: Policy, wish: Wish) -> list[Case]:
    """The cases that may be chosen now."""
    found = [case for case in cases if case.enough]
    if not found and not policy.waits:
        found = cases
    elif not found and not (wish.patient and any(case.later for case in cases)):
        found = [case for case in cases if case.room]
    for case in found:
        case.ok = True
    return found


def _score(cases: list[Case], policy: Policy, columns: list[tuple[str, float]]) -> None:
    for weighted in policy.scores if cases else ():
        scores = weighted.score(cases)
        if scores is None:
            continue
        columns.append((weighted.name, weighted.weight))
        for case, raw in zip(cases, scores, strict=True):
            case.raw.append(raw)
            case.score += weighted.weight * raw


def _best(cases: list[Case], seed: str) -> Case | None:
    """The best score among those with known or undisputed room, or else among those that come nearest to it."""
    leading = [case for case in cases if case.sure]
    if not leading and cases:
        nearest = min(map(_shortage, cases))
        leading = [case for case in cases if _shortage(case) == nearest]
    if not leading:
        return None
    best = max([case.score for case in leading]) - EQUAL
    equal = [case for case in leading if case.score >= best]
    if len(equal) == 1:
        return equal[0]
    equal.sort(key=lambda case: case.worker.name)
    return equal[int.from_bytes(blake2b(seed.encode(), digest_size=8).digest()) % len(equal)]


def _shortage(case: Case) -> tuple[bool, int, int]:
    """Lower is better: pods that wait where the room is not known, then pods that find no room now, then ever."""
    if case.fit is None:
        return False, case.worker.pending, 0
    return True, -case.room, -min(case.fit.ever, case.needs.pods)
