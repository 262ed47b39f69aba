"""Metrics of the Job controller, named as in kube-controller-manager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from jobrelay.cluster.controllers.job.views import BatchJobStatus, Job
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kube.metrics import LatencyHistogram, family

if TYPE_CHECKING:
    from prometheus_client import Metric

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
_DOCUMENTATION: Final = {
    "job_syncs_total": "Syncs of Jobs.",
    "jobs_finished_total": "Jobs that have finished.",
    "job_pods_finished_total": "Finished pods that were counted in a status.",
    "pod_failures_handled_by_failure_policy_total": "Failed pods that a rule of a pod failure policy has matched.",
    "terminated_pods_tracking_finalizer_total": "Terminated pods that got or lost the tracking finalizer.",
    "job_finished_indexes_total": "Indexes of Jobs that have finished.",
    "job_pods_creation_total": "Pods that were to be created.",
    "jobs_by_external_controller_total": "Jobs that another controller manages.",
}
_PREFIX: Final = "job_controller_"


class JobMetrics:
    """Plain counters, read when metrics are scraped."""

    def __init__(self) -> None:
        self.counters: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in _LABELS}
        self._durations: dict[tuple[str, ...], LatencyHistogram] = {}

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        if by > 0:
            self.counters[name][labels] += by

    def synced(self, job: Job, result: str, action: str, seconds: float) -> None:
        labels = (job.spec.completion_mode, result, action)
        self.count("job_syncs_total", *labels)
        found = self._durations.get(labels)
        if found is None:
            found = self._durations[labels] = LatencyHistogram(_BUCKETS)
        found.observe(seconds)

    def counted(self, job: Job, before: BatchJobStatus, after: BatchJobStatus) -> None:
        """Counts what one status write added."""
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

    def collect(self) -> Iterator[Metric]:
        for name, counter in self.counters.items():
            counts = [("", dict(zip(_LABELS[name], values, strict=True)), count) for values, count in counter.items()]
            yield family(_PREFIX + name, "counter", _DOCUMENTATION[name], counts)
        names = _LABELS["job_syncs_total"]
        durations = [(found, dict(zip(names, values, strict=True))) for values, found in self._durations.items()]
        samples = [sample for found, labels in durations for sample in found.samples(labels)]
        yield family(f"{_PREFIX}job_sync_duration_seconds", "histogram", "Seconds that syncs of Jobs took.", samples)


def _growth(job: Job, before: str, after: str) -> int:
    if before == after:
        return 0
    return len(Indexes.parse(after, job.completions)) - len(Indexes.parse(before, job.completions))
