"""The built-in scores: each gives every candidate a number from 0 to 1, the best the highest.

A score sees all candidates at once, because some are relative: the cheapest worker gets 1 whatever it costs. A worker
whose room is not known counts as half loaded, and less the more pods wait for a node there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from .candidate import Candidate

Score: TypeAlias = Callable[[Sequence[Candidate]], list[float] | None]
"""Returns None if it does not apply to this workload. There is always at least one candidate."""


def _guess(candidate: Candidate) -> float:
    return 0.5 / (1 + candidate.worker.pending)


def _weights(candidates: Sequence[Candidate]) -> list[float]:
    """By live workloads per weight; a worker of weight 0 comes last."""
    workers = [one.worker for one in candidates]
    shares = [worker.live / float(worker.weight) if worker.weight > 0 else None for worker in workers]
    scores = iter(_fewest([share for share in shares if share is not None]))
    return [next(scores) if share is not None else 0.0 for share in shares]


def _fewest(numbers: Sequence[float]) -> list[float]:
    least = min(numbers, default=0) + 1
    return [least / (number + 1) for number in numbers]


def _cost(candidates: Sequence[Candidate]) -> list[float]:
    costs = [float(one.worker.cost) for one in candidates]
    least = min(costs, default=0.0)
    return [1.0 if cost <= least else max(least, 0.0) / cost for cost in costs]


def _ordered(candidates: Sequence[Candidate]) -> list[float]:
    last = max((one.position for one in candidates), default=0) + 1
    return [1 - one.position / last for one in candidates]


def _affinity(candidates: Sequence[Candidate]) -> list[float] | None:
    if not any(pods.affinity for pods in candidates[0].requirements.pod_sets):
        return None
    return [one.fit.preference if one.fit else 0.0 for one in candidates]


def _preferred(candidates: Sequence[Candidate]) -> list[float] | None:
    names = candidates[0].request.preferred
    values = {name: 1 - place / len(names) for place, name in enumerate(names)}
    return [values.get(one.worker.name, 0.0) for one in candidates] if values else None


def _sticky(candidates: Sequence[Candidate]) -> list[float] | None:
    previous = candidates[0].request.previous
    return [1.0 if one.worker.name == previous else 0.0 for one in candidates] if previous else None


RELATIVE: Final = frozenset({"cost", "ordered", "spread", "weights"})
"""The scores of a worker that depend on which other candidates there are."""
SCORES: Final[Mapping[str, Score]] = MappingProxyType(
    {
        "affinity": _affinity,
        "cost": _cost,
        "least-loaded": lambda candidates: [1 - one.load if one.fit else _guess(one) for one in candidates],
        "ordered": _ordered,
        "pack": lambda candidates: [one.load if one.fit else _guess(one) for one in candidates],
        "pending": lambda candidates: [1 / (1 + one.worker.pending) for one in candidates],
        "preferred": _preferred,
        "spread": lambda candidates: _fewest([one.worker.live for one in candidates]),
        "sticky": _sticky,
        "weights": _weights,
    }
)
