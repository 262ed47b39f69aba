"""How much work each worker has been given: counted as assignments come and go, never by asking.

A workload is *live* on a worker from its assignment to its end. Until its pods are on nodes they are not among those that
the worker shows, so what they ask for is *reserved*: without that a burst of workloads would all be sent to
the one worker that looks empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from jobrelay.workloads import WorkloadDemand

__all__ = ["Ledger"]

_NONE: Mapping[str, Fraction] = {}


@dataclass(slots=True)
class _Entry:
    cluster: str
    asks: Mapping[str, Fraction]
    reserved: bool


class Ledger:
    """Live and reserved work by worker. Everything is keyed by the original's uid."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._live: dict[str, int] = defaultdict(int)
        self._reserved: dict[str, dict[str, Fraction]] = {}

    def live(self, cluster: str) -> int:
        return self._live.get(cluster, 0)

    def reserved(self, cluster: str) -> Mapping[str, Fraction]:
        return self._reserved.get(cluster, _NONE)

    def cluster(self, uid: str) -> str | None:
        """Where a workload is counted."""
        entry = self._entries.get(uid)
        return entry.cluster if entry is not None else None

    def reserves(self, uid: str) -> bool:
        """Whether something is reserved for a workload."""
        entry = self._entries.get(uid)
        return entry is not None and entry.reserved

    def __len__(self) -> int:
        return len(self._entries)

    def assign(self, uid: str, cluster: str, demand: WorkloadDemand, *, started: bool) -> None:
        """A workload is assigned; assigned anew it moves."""
        self.forget(uid)
        entry = self._entries[uid] = _Entry(cluster, _NONE if started else total(demand), reserved=not started)
        self._live[cluster] += 1
        if entry.reserved:
            sums = self._reserved.setdefault(cluster, {})
            for name, amount in entry.asks.items():
                sums[name] = sums.get(name, Fraction(0)) + amount

    def started(self, uid: str) -> None:
        """Its pods are now among those that the worker shows."""
        entry = self._entries.get(uid)
        if entry is None or not entry.reserved:
            return
        entry.reserved = False
        sums = self._reserved[entry.cluster]
        for name, amount in entry.asks.items():
            sums[name] -= amount
            if not sums[name]:
                del sums[name]
        entry.asks = _NONE

    def forget(self, uid: str) -> None:
        """It has ended, is gone, or is no longer assigned."""
        if uid not in self._entries:
            return
        self.started(uid)
        self._live[self._entries.pop(uid).cluster] -= 1


def total(demand: WorkloadDemand) -> dict[str, Fraction]:
    """What all pods ask for together; `pods` counts them."""
    sums: dict[str, Fraction] = {"pods": Fraction(0)}
    for pods in demand.pod_sets:
        sums["pods"] += pods.count
        for name, amount in pods.requests.items():
            sums[name] = sums.get(name, Fraction(0)) + amount * pods.count
    return sums
