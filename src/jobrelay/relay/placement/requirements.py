"""A workload's demand prepared for arithmetic: integers in thousandths, equal for workloads with equal pods.

Two Jobs with different labels have different shapes but need the same resources, so fits are cached by these
requirements and not by the shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from jobrelay.workloads import PodSet, WorkloadDemand

from .amounts import ceil_milli


@dataclass(frozen=True, slots=True)
class PodSetRequirements:
    """One pod set. `requests` always includes `pods`, of which every pod takes one."""

    count: int
    requests: tuple[tuple[str, int], ...]
    selector: tuple[tuple[str, str], ...]
    tolerations: Sequence[Mapping[str, Any]]
    affinity: Mapping[str, Any] | None

    @property
    def selects_nodes(self) -> bool:
        """Whether the labels of nodes matter to it."""
        return bool(self.selector or self.affinity)


@dataclass(frozen=True, slots=True)
class WorkloadRequirements:
    """All pod sets of a workload, in the order in which they are packed."""

    pod_sets: tuple[PodSetRequirements, ...]
    pods: int
    """How many pods run at the same time."""
    key: bytes
    """Equal for equal requirements."""


def requirements_of(demand: WorkloadDemand) -> WorkloadRequirements:
    sets = sorted((_pod_set(pods) for pods in demand.pod_sets), key=_packing_order, reverse=True)
    fields = [(one.count, one.requests, one.selector, list(one.tolerations), one.affinity) for one in sets]
    key = msgspec.json.encode(fields, order="sorted")
    return WorkloadRequirements(tuple(sets), sum(one.count for one in sets), key)


def _pod_set(pods: PodSet) -> PodSetRequirements:
    requests = {name: ceil_milli(amount) for name, amount in pods.requests.items() if amount > 0 and name != "pods"}
    return PodSetRequirements(
        pods.count,
        (*sorted(requests.items()), ("pods", 1000)),
        tuple(sorted(pods.node_selector.items())),
        tuple(pods.tolerations),
        pods.affinity,
    )


def _packing_order(pods: PodSetRequirements) -> tuple[bool, tuple[int, ...]]:
    """The hardest first: pods that select nodes, then larger ones."""
    return pods.selects_nodes, tuple(amount for _, amount in pods.requests)
