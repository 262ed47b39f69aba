"""What is measured while a plan runs, and the result for one policy.

*Waiting* is the time from a Job's creation to its first pod. *Slowdown* is the time from creation to end in relation to
the time that the Job needs on an empty fleet, at least 1; Jobs below ten seconds count as ten (bounded slowdown).
*Fairness* is Jain's index over the mean slowdowns of the namespaces: 1 if all are slowed down alike, 1/n if one of n
bears all of it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jobrelay.planning.fleet import GPU, FleetDescription
from jobrelay.planning.runs import Batch, PlannedRun
from jobrelay.planning.timeline import UseTimeline
from jobrelay.planning.trace import TraceJob

_BOUND: Final = 10.0
_SHOWN: Final = {"cpu": "cpu", "memory": "memory", GPU: "gpu"}


@dataclass(frozen=True, slots=True)
class NamespaceResult:
    """The Jobs of one namespace that have ended."""

    namespace: str
    jobs: int
    wait_mean: float
    wait_p95: float
    slowdown: float


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The result of a trace under one policy; times are in seconds."""

    policy: str
    jobs: int
    unfinished: int
    why: str
    """Why the first Job without a worker has none; empty if all have ended."""
    waits: Sequence[float]
    """Of every Job that has ended, sorted."""
    slowdown: float
    makespan: float
    """From the start of the trace to the end of the last Job."""
    use: Mapping[str, float]
    """By resource: the used share of what all nodes have, over the makespan."""
    moves: int
    repeated: float
    """CPU hours of pods that were stopped or whose result was not used."""
    fairness: float
    namespaces: tuple[NamespaceResult, ...]
    workers: Mapping[str, Sequence[float]]
    """By worker: the used share of its CPU, in intervals of equal length."""
    interval: float
    """The length of these intervals."""

    def wait(self, share: float) -> float:
        """The waiting time that this share of the Jobs does not exceed."""
        return percentile(self.waits, share)

    @property
    def wait_mean(self) -> float:
        return math.fsum(self.waits) / len(self.waits) if self.waits else 0.0


def percentile(ordered: Sequence[float], share: float) -> float:
    """By the nearest rank; 0 if there is nothing."""
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else 0.0


def jain(values: Iterable[float]) -> float:
    """Jain's fairness index: (sum of x)² / (n · sum of x²); 1 if there is nothing to share."""
    found = list(values)
    squares = math.fsum(value * value for value in found)
    return math.fsum(found) ** 2 / (len(found) * squares) if squares else 1.0


class Measures:
    """Collects what happens in a plan."""

    def __init__(self, fleet: FleetDescription) -> None:
        self._fleet = fleet
        self._timeline = UseTimeline(len(fleet.workers))
        self._used: dict[str, float] = {}
        self._waits: dict[str, array[float]] = {}
        self._slowdowns: dict[str, float] = {}
        self._last = 0.0
        self._moves = 0
        self._repeated = 0.0

    def bound(self, run: PlannedRun, batch: Batch) -> None:
        """Pods have begun."""
        self._timeline.step(run.worker.position, batch.began, run.job.shape.cpu * batch.pods)

    def unbound(self, run: PlannedRun, batch: Batch, now: float) -> None:
        """Pods have ended or were stopped."""
        shape = run.job.shape
        self._timeline.step(run.worker.position, now, -shape.cpu * batch.pods)
        lasted = (now - batch.began) * batch.pods
        for name, amount in shape.requests:
            self._used[name] = self._used.get(name, 0.0) + amount * lasted

    def moved(self, run: PlannedRun) -> None:
        """A Job is started elsewhere, and what this run has done counts no longer."""
        self._moves += 1
        self._repeated += run.done * run.job.duration * run.job.shape.cpu

    def repeated(self, run: PlannedRun, batch: Batch, now: float) -> None:
        """What these pods have done counts no longer."""
        self._repeated += (now - batch.began) * batch.pods * run.job.shape.cpu

    def finished(self, job: TraceJob, started: float, at: float) -> None:
        """A Job has ended."""
        shape, namespace = job.shape, job.shape.namespace
        needed = max(math.ceil(shape.completions / shape.pods) * job.duration, _BOUND)
        self._waits.setdefault(namespace, array("d")).append(started - job.submit)
        slowdown = max((at - job.submit) / needed, 1.0)
        self._slowdowns[namespace] = self._slowdowns.get(namespace, 0.0) + slowdown
        self._last = max(self._last, at)

    def result(self, policy: str, unfinished: int, why: str) -> PlanResult:
        """The result so far."""
        waits = sorted(wait for found in self._waits.values() for wait in found)
        spaces = tuple(self._namespace(name) for name in sorted(self._waits))
        return PlanResult(
            policy=policy,
            jobs=len(waits) + unfinished,
            unfinished=unfinished,
            why=why,
            waits=waits,
            slowdown=math.fsum(self._slowdowns.values()) / len(waits) if waits else 1.0,
            makespan=self._last,
            use=dict(self._use()),
            moves=self._moves,
            repeated=self._repeated / 3600,
            fairness=jain(one.slowdown for one in spaces),
            namespaces=spaces,
            workers=dict(self._workers()),
            interval=self._timeline.width,
        )

    def _namespace(self, name: str) -> NamespaceResult:
        waits = sorted(self._waits[name])
        mean, slowdown = math.fsum(waits) / len(waits), self._slowdowns[name] / len(waits)
        return NamespaceResult(name, len(waits), mean, percentile(waits, 0.95), slowdown)

    def _use(self) -> Iterable[tuple[str, float]]:
        for resource, name in _SHOWN.items():
            total = float(self._fleet.total(resource)) * self._last
            if total:
                yield name, self._used.get(resource, 0.0) / 1000 / total

    def _workers(self) -> Iterable[tuple[str, list[float]]]:
        for position, worker in enumerate(self._fleet.workers):
            cpu = float(sum(node.get("cpu", 0) for node in worker.nodes))
            yield worker.name, [mean / cpu if cpu else 0.0 for mean in self._timeline.means(position, self._last)]
