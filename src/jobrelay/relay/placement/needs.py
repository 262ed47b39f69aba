"""A demand, made ready for counting: whole thousandths, and equal for workloads whose pods are alike.

Two Jobs that differ in their command have different shapes but need the same room, so what is counted is remembered by the
needs and not by the shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jobrelay.workloads import Demand, PodSet

from .amounts import up

__all__ = ["Need", "Needs", "needs_of"]

_REMEMBERED: Final = 4096
_known: dict[tuple[str, tuple[int, ...]], Needs] = {}


@dataclass(frozen=True, slots=True)
class Need:
    """One pod set. `requests` always has `pods`, of which every pod takes one."""

    count: int
    requests: tuple[tuple[str, int], ...]
    selector: tuple[tuple[str, str], ...]
    tolerations: Sequence[Mapping[str, Any]]
    affinity: Mapping[str, Any] | None

    @property
    def choosy(self) -> bool:
        """Whether labels of nodes matter to it."""
        return bool(self.selector or self.affinity)


@dataclass(frozen=True, slots=True)
class Needs:
    """All pod sets of a workload that has pods, in the order in which they are given room."""

    sets: tuple[Need, ...]
    pods: int
    """How many run at the same time."""
    key: bytes
    """Equal for equal needs."""


def needs_of(demand: Demand) -> Needs:
    """What a demand comes to."""
    key = (demand.shape, tuple(pods.count for pods in demand.pod_sets))
    found = _known.get(key)
    if found is None:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        found = _known[key] = _needs(demand)
    return found


def _needs(demand: Demand) -> Needs:
    sets = sorted((_need(pods) for pods in demand.pod_sets), key=_size, reverse=True)
    named = [(n.count, n.requests, n.selector, list(n.tolerations), n.affinity) for n in sets]
    key = msgspec.json.encode(named, order="sorted")
    return Needs(tuple(sets), sum(need.count for need in sets), key)


def _need(pods: PodSet) -> Need:
    asked = {name: up(amount) for name, amount in pods.requests.items() if amount > 0 and name != "pods"}
    return Need(
        pods.count,
        (*sorted(asked.items()), ("pods", 1000)),
        tuple(sorted(pods.node_selector.items())),
        tuple(pods.tolerations),
        pods.affinity,
    )


def _size(need: Need) -> tuple[bool, tuple[int, ...]]:
    """Choosy pods first, then the larger ones: what is hardest to place goes first."""
    return need.choosy, tuple(amount for _, amount in need.requests)
