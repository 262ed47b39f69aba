"""What is read of batch/v1 Jobs: all that users of workloads need. Imports little, since commands use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrelay.kinds.batch.job.names import COMPLETE, CONTROLLER_UID, DEADLINE_EXCEEDED, FAILED, JOB_NAME, SUSPENDED
from jobrelay.kube import Object
from jobrelay.kube.resource import JOBS
from jobrelay.workloads.adapter import NOTHING_FOUND, Found, Workload, WorkloadOutcome
from jobrelay.workloads.job.views import JobSummary, SummaryStatus, TemplateJob
from jobrelay.workloads.names import MULTIKUEUE, RELAY
from jobrelay.workloads.read_cache import ReadCache
from jobrelay.workloads.references import FieldPath, Reference

__all__ = ["JobReader"]


class JobReader:
    """The part of `JobAdapter` that reads.

    One version of a Job is read many times on its way through the relay, so the last few thousand are kept decoded.
    """

    resource = JOBS
    managed_by_path = "spec.managedBy"
    native = "kubernetes.io/job-controller"
    runs_anyway = ""
    managers = frozenset({RELAY, MULTIKUEUE})
    enforces_deadline = True
    """A Job controller stops the pods of a Job at its `activeDeadlineSeconds`."""

    def __init__(self) -> None:
        self._cache = ReadCache(_read)

    def read(self, obj: Object) -> Workload:
        return self._cache.read(obj)

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        return [(("spec", "template"), obj.decode(TemplateJob).spec.template)]

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        return ()

    def original_patch(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        return None

    def pod_owner(self, pod: Object) -> str:
        return pod.metadata.labels.get(CONTROLLER_UID, "")

    def pod_selector(self, mirror: str, shown: Object | None = None) -> str:
        return f"{JOB_NAME}={mirror}"

    def log_selectors(self, mirror: Object) -> tuple[str, ...]:
        return (f"{CONTROLLER_UID}={mirror.uid}",)


def _read(obj: Object) -> Workload:
    summary = obj.decode(JobSummary)
    return Workload(
        key=obj.key,
        uid=obj.uid,
        managed_by=summary.spec.managed_by,
        suspended=summary.spec.suspend,
        started=summary.status.start_time,
        active=summary.status.active,
        ready=summary.status.ready,
        failed=summary.status.failed,
        failed_indexes=summary.status.failed_indexes or "",
        end=_outcome(summary.status),
        deleting=obj.deleting,
        deadline=summary.spec.active_deadline_seconds,
        halted=any(one.type == SUSPENDED and one.status == "True" for one in summary.status.conditions),
    )


def _outcome(status: SummaryStatus) -> WorkloadOutcome | None:
    for one in status.conditions:
        if one.type in (COMPLETE, FAILED) and one.status == "True":
            at = one.last_transition_time or status.completion_time
            stopped = one.type == FAILED and one.reason == DEADLINE_EXCEEDED
            return WorkloadOutcome(one.type == COMPLETE, at, one.reason, one.message, stopped)
    return None
