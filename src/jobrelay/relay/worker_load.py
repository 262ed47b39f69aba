"""How much work each worker has been assigned, counted from assignments without asking the workers.

A workload is *live* on a worker from its assignment to its end. Until its pods are bound to nodes the worker's capacity
does not include them, so their requests are *reserved*. Otherwise a burst of workloads would all be sent to the one
worker that looks empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from jobrelay.workloads import WorkloadDemand

_NONE: Mapping[str, Fraction] = {}


@dataclass(slots=True)
class _Entry:
    worker: str
    requests: Mapping[str, Fraction]
    reserved: bool


class WorkerLoad:
    """Live and reserved work by worker; workloads are named by the uid of their original."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._live: dict[str, int] = defaultdict(int)
        self._reserved: dict[str, dict[str, Fraction]] = {}

    def live(self, worker: str) -> int:
        return self._live.get(worker, 0)

    def reserved(self, worker: str) -> Mapping[str, Fraction]:
        return self._reserved.get(worker, _NONE)

    def worker_of(self, uid: str) -> str | None:
        """The worker that a workload is counted for."""
        entry = self._entries.get(uid)
        return entry.worker if entry is not None else None

    def is_reserved(self, uid: str) -> bool:
        """Whether requests are reserved for a workload."""
        entry = self._entries.get(uid)
        return entry is not None and entry.reserved

    def assign(self, uid: str, worker: str, demand: WorkloadDemand, *, started: bool) -> None:
        """Count a workload for a worker, and no longer for the one before."""
        self.forget(uid)
        entry = self._entries[uid] = _Entry(worker, _NONE if started else total(demand), reserved=not started)
        self._live[worker] += 1
        if entry.reserved:
            sums = self._reserved.setdefault(worker, {})
            for name, amount in entry.requests.items():
                sums[name] = sums.get(name, Fraction(0)) + amount

    def release(self, uid: str) -> None:
        """The pods of a workload are counted on nodes now."""
        entry = self._entries.get(uid)
        if entry is None or not entry.reserved:
            return
        entry.reserved = False
        sums = self._reserved[entry.worker]
        for name, amount in entry.requests.items():
            sums[name] -= amount
            if not sums[name]:
                del sums[name]
        entry.requests = _NONE

    def forget(self, uid: str) -> None:
        """A workload has ended, is deleted, or is no longer assigned."""
        if uid not in self._entries:
            return
        self.release(uid)
        self._live[self._entries.pop(uid).worker] -= 1


def total(demand: WorkloadDemand) -> dict[str, Fraction]:
    """The requests of all pods together; `pods` is their number."""
    sums: dict[str, Fraction] = {"pods": Fraction(0)}
    for pods in demand.pod_sets:
        sums["pods"] += pods.count
        for name, amount in pods.requests.items():
            sums[name] = sums.get(name, Fraction(0)) + amount * pods.count
    return sums
