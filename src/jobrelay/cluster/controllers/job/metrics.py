"""Counters of the Job controller under the names that kube-controller-manager gives them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Final

from jobrelay.cluster.controllers.job.views import Job, Status
from jobrelay.kinds.batch.job.indexes import Indexes

_BUCKETS: Final = tuple(0.004 * 2.0**power for power in range(15))
_LABELS: Final = {
    "job_syncs_total": ("completion_mode", "result", "action"),
    "jobs_finished_total": ("completion_mode", "result", "reason"),
    "job_pods_finished_total": ("completion_mode", "result"),
    "pod_failures_handled_by_failure_policy_total": ("action",),
    "terminated_pods_tracking_finalizer_total": ("event",),
    "job_finished_indexes_total": ("status", "backoffLimit"),
    "job_pods_creation_total": ("reason", "status"),
    "jobs_by_external_controller_total": ("controller_name",),
}
_DURATION: Final = "job_sync_duration_seconds"
_PREFIX: Final = "job_controller_"


class JobMetrics:
    """Plain counters; whoever is asked for metrics reads them."""

    def __init__(self) -> None:
        self.counters: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in _LABELS}
        self._durations: dict[tuple[str, ...], list[float]] = {}

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        if by > 0:
            self.counters[name][labels] += by

    def synced(self, job: Job, result: str, action: str, seconds: float) -> None:
        labels = (job.spec.completion_mode, result, action)
        self.count("job_syncs_total", *labels)
        cells = self._durations.setdefault(labels, [0.0] * (len(_BUCKETS) + 2))
        cells[bisect_left(_BUCKETS, seconds)] += 1
        cells[-1] += seconds

    def counted(self, job: Job, before: Status, after: Status) -> None:
        """Note what one status write added to the counters."""
        mode = job.spec.completion_mode
        succeeded = after.succeeded - before.succeeded
        if job.indexed:
            limit = "perIndex" if job.per_index else "global"
            succeeded = _growth(job, before.completed_indexes, after.completed_indexes)
            failed = _growth(job, before.failed_indexes or "", after.failed_indexes or "")
            self.count("job_finished_indexes_total", "succeeded", limit, by=succeeded)
            self.count("job_finished_indexes_total", "failed", limit, by=failed)
        self.count("job_pods_finished_total", mode, "succeeded", by=succeeded)
        self.count("job_pods_finished_total", mode, "failed", by=after.failed - before.failed)

    def lines(self) -> Iterator[str]:
        """Everything in the Prometheus text format."""
        for name, counter in self.counters.items():
            if counter:
                yield f"# TYPE {_PREFIX}{name} counter"
            for values, number in counter.items():
                yield f"{_PREFIX}{name}{_labelled(_LABELS[name], values)} {number}"
        if self._durations:
            yield f"# TYPE {_PREFIX}{_DURATION} histogram"
        for values, cells in self._durations.items():
            yield from _histogram(values, cells)


def _growth(job: Job, before: str, after: str) -> int:
    if before == after:
        return 0
    return len(Indexes.parse(after, job.completions)) - len(Indexes.parse(before, job.completions))


def _labelled(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(names, values, strict=True)) + "}"


def _histogram(values: tuple[str, ...], cells: list[float]) -> Iterator[str]:
    names = _LABELS["job_syncs_total"]
    total = 0.0
    for limit, cell in zip((*(f"{bucket:g}" for bucket in _BUCKETS), "+Inf"), cells, strict=False):
        total += cell
        yield f"{_PREFIX}{_DURATION}_bucket{_labelled((*names, 'le'), (*values, limit))} {total:g}"
    yield f"{_PREFIX}{_DURATION}_sum{_labelled(names, values)} {cells[-1]:g}"
    yield f"{_PREFIX}{_DURATION}_count{_labelled(names, values)} {total:g}"
