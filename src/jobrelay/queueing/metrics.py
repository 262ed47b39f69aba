"""Kueue's metrics of queues, under its names.

Counters are kept as things happen; what is pending, reserved and admitted is counted when metrics are collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from jobrelay.kube.metrics import LatencyHistogram, MetricSample, family
from jobrelay.queueing import core, names
from jobrelay.queueing.conditions import find
from jobrelay.queueing.views import WorkloadView

if TYPE_CHECKING:
    from prometheus_client import Metric

_WAITS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1280.0, 2560.0, 5120.0, 10240.0)

Labels = tuple[tuple[str, str], ...]


class QueueMetrics:
    """Counts what happens; `gauges` returns, by metric, values by ClusterQueue and further label."""

    def __init__(self) -> None:
        self.conflicts = 0
        self._attempts: Counter[str] = Counter()
        self._reserved: Counter[str] = Counter()
        self._admitted: Counter[str] = Counter()
        self._finished: Counter[str] = Counter()
        self._evicted: Counter[tuple[str, str]] = Counter()
        self._preempted: Counter[tuple[str, str]] = Counter()
        self._waits: dict[str, LatencyHistogram] = {}

    def cycle(self, decisions: core.Decisions) -> None:
        """One cycle of the scheduler is over."""
        self._attempts["success" if decisions.reservations else "inadmissible"] += 1

    def reserved(self, queue: str, waited: float, *, admitted: bool) -> None:
        self._reserved[queue] += 1
        self._admitted[queue] += admitted
        if admitted:
            self._waits.setdefault(queue, LatencyHistogram(_WAITS)).observe(waited)

    def preempted(self, preemption: core.Preemption) -> None:
        self._preempted[preemption.preemptor.cluster_queue, preemption.reason] += 1
        self._evicted[preemption.target.cluster_queue, names.PREEMPTED] += 1

    def changed(self, before: WorkloadView, after: WorkloadView, now: datetime) -> None:
        """Count what a change of a Workload's status means."""
        admission = before.status.admission
        if admission is None:
            return
        for type_, count in ((names.EVICTED, self._evict), (names.ADMITTED, self._admit)):
            old, new = (find(view.status.conditions, type_) for view in (before, after))
            if new is not None and new.holds and (old is None or not old.holds):
                count(admission.cluster_queue, new.reason)

    def finished(self, queue: str) -> None:
        self._finished[queue] += 1

    def _evict(self, queue: str, reason: str) -> None:
        self._evicted[queue, reason] += 1

    def _admit(self, queue: str, reason: str) -> None:
        self._admitted[queue] += 1

    def families(self) -> Iterator[Metric]:
        """The counters and histograms."""
        queue = "cluster_queue"
        yield _counter(
            "kueue_admission_attempts_total", "Cycles", {(("result", k),): v for k, v in self._attempts.items()}
        )
        for name, text, counts in (
            ("kueue_quota_reserved_workloads_total", "Workloads that got quota", self._reserved),
            ("kueue_admitted_workloads_total", "Workloads that were admitted", self._admitted),
            ("kueue_finished_workloads_total", "Workloads that have finished", self._finished),
        ):
            yield _counter(name, text, {((queue, key),): value for key, value in counts.items()})
        evicted: dict[Labels, float] = {
            ((queue, key), ("reason", why)): value for (key, why), value in self._evicted.items()
        }
        yield _counter("kueue_evicted_workloads_total", "Workloads that were evicted", evicted)
        by = "preempting_cluster_queue"
        preempted: dict[Labels, float] = {
            ((by, key), ("reason", why)): value for (key, why), value in self._preempted.items()
        }
        yield _counter("kueue_preempted_workloads_total", "Workloads that were preempted", preempted)
        samples = [sample for key, each in self._waits.items() for sample in each.samples({queue: key})]
        yield family("kueue_admission_wait_time_seconds", "histogram", "From queueing to admission", samples)


def _counter(name: str, text: str, values: Mapping[Labels, float]) -> Metric:
    return family(name, "counter", text, (_sample(labels, value) for labels, value in values.items()))


def _sample(labels: Labels, value: float) -> MetricSample:
    return "", dict(labels), value


Gauges = Callable[[], Iterable[tuple[str, str, Mapping[Labels, float]]]]
"""Names, texts and values of what is counted when metrics are collected."""


class QueueCollector:
    """Collects the counters and the gauges."""

    def __init__(self, metrics: QueueMetrics, gauges: Gauges) -> None:
        self._metrics, self._gauges = metrics, gauges

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics.families()
        for name, text, values in self._gauges():
            yield family(name, "gauge", text, (_sample(labels, value) for labels, value in values.items()))
