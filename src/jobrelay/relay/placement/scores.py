"""What makes one worker better than another: each score gives every candidate a number from 0 to 1, the best the highest.

Scores look at all candidates at once, because most compare: the cheapest worker gets 1 whatever it costs. A worker whose
room is not known counts as half loaded, and less the more pods wait for a node there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from .case import Case

__all__ = ["SCORES", "Score"]

Score: TypeAlias = Callable[[Sequence[Case]], list[float] | None]
"""None where it has nothing to say about this workload. There is always at least one case."""


def _least_loaded(cases: Sequence[Case]) -> list[float]:
    return [1 - case.load if case.fit else _guess(case) for case in cases]


def _pack(cases: Sequence[Case]) -> list[float]:
    return [case.load if case.fit else _guess(case) for case in cases]


def _guess(case: Case) -> float:
    return 0.5 / (1 + case.worker.pending)


def _spread(cases: Sequence[Case]) -> list[float]:
    return _fewest([case.worker.live for case in cases])


def _weights(cases: Sequence[Case]) -> list[float]:
    """By live workloads per weight; a worker of weight 0 comes last."""
    shares = [case.worker.live / float(case.worker.weight) if case.worker.weight > 0 else None for case in cases]
    scores = iter(_fewest([share for share in shares if share is not None]))
    return [next(scores) if share is not None else 0.0 for share in shares]


def _fewest(numbers: Sequence[float]) -> list[float]:
    least = min(numbers, default=0) + 1
    return [least / (number + 1) for number in numbers]


def _cost(cases: Sequence[Case]) -> list[float]:
    costs = [float(case.worker.cost) for case in cases]
    least = min(costs, default=0.0)
    return [1.0 if cost <= least else max(least, 0.0) / cost for cost in costs]


def _ordered(cases: Sequence[Case]) -> list[float]:
    last = max((case.position for case in cases), default=0) + 1
    return [1 - case.position / last for case in cases]


def _pending(cases: Sequence[Case]) -> list[float]:
    return [1 / (1 + case.worker.pending) for case in cases]


def _affinity(cases: Sequence[Case]) -> list[float] | None:
    if not any(need.affinity for need in cases[0].needs.sets):
        return None
    return [case.fit.preference if case.fit else 0.0 for case in cases]


def _preferred(cases: Sequence[Case]) -> list[float] | None:
    names = cases[0].wish.preferred
    values = {name: 1 - place / len(names) for place, name in enumerate(names)}
    return [values.get(case.worker.name, 0.0) for case in cases] if values else None


def _sticky(cases: Sequence[Case]) -> list[float] | None:
    previous = cases[0].wish.previous
    return [1.0 if case.worker.name == previous else 0.0 for case in cases] if previous else None


SCORES: Final[Mapping[str, Score]] = {
    "affinity": _affinity,
    "cost": _cost,
    "least-loaded": _least_loaded,
    "ordered": _ordered,
    "pack": _pack,
    "pending": _pending,
    "preferred": _preferred,
    "spread": _spread,
    "sticky": _sticky,
    "weights": _weights,
}
