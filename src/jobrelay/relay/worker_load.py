"""How much work each worker has been assigned, counted from assignments without asking the workers.

A workload is *live* on a worker from its assignment to its end. Until its pods are bound to nodes the worker's capacity
does not include them, so their requests are *reserved*. Otherwise a burst of workloads would all be sent to the one
worker that looks empty. Each pod is counted once: what it requests is released at the moment at which the capacity
includes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Final

from jobrelay.workloads import WorkloadDemand

_NONE: Mapping[str, Fraction] = {}
_MOST_TOTALS: Final = 4096


@dataclass(slots=True)
class _Entry:
    worker: str
    shape: str
    needs: Mapping[str, Fraction]
    """The requests of all of its pods."""
    requests: Mapping[str, Fraction] = field(default_factory=dict)
    """Those of pods that are not counted on nodes yet."""
    reserved: bool = False
    started: datetime | None = None


class WorkerLoad:
    """Live and reserved work by worker; workloads are named by the uid of their original."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._live: dict[str, int] = defaultdict(int)
        self._reserved: dict[str, dict[str, Fraction]] = {}
        self._totals: dict[tuple[str, str, tuple[int, ...]], dict[str, Fraction]] = {}

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
        needs = self._total(demand)
        entry = self._entries[uid] = _Entry(worker, demand.shape, needs)
        self._live[worker] += 1
        if not started:
            self._reserve(entry, needs)

    def _total(self, demand: WorkloadDemand) -> dict[str, Fraction]:
        """The requests of all pods, as one object for workloads that are alike."""
        key = (demand.shape, demand.basis, tuple([pods.count for pods in demand.pod_sets]))
        found = self._totals.get(key)
        if found is None:
            if len(self._totals) >= _MOST_TOTALS:
                self._totals.clear()
            found = self._totals[key] = total(demand)
        return found

    def started(self, uid: str, at: datetime) -> None:
        """A workload has started on its worker."""
        if (entry := self._entries.get(uid)) is not None:
            entry.started = at

    def shape_of(self, uid: str) -> str | None:
        """The shape of a workload that is counted."""
        entry = self._entries.get(uid)
        return entry.shape if entry is not None else None

    def running(self) -> Iterator[tuple[str, Mapping[str, Fraction], datetime | None]]:
        """The shape, the needs and the start of each workload that is counted."""
        return ((entry.shape, entry.needs, entry.started) for entry in self._entries.values())

    def _reserve(self, entry: _Entry, requests: Mapping[str, Fraction]) -> None:
        entry.requests, entry.reserved = requests, True
        sums = self._reserved.setdefault(entry.worker, {})
        for name, amount in requests.items():
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

    def release_pod(self, uid: str, requests: Mapping[str, Fraction]) -> None:
        """One pod of a workload is counted on a node now."""
        entry = self._entries.get(uid)
        if entry is None or not entry.reserved:
            return
        left = {name: amount - requests.get(name, 0) for name, amount in entry.requests.items()}
        self.release(uid)
        self._reserve(entry, {name: amount for name, amount in left.items() if amount > 0})

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
