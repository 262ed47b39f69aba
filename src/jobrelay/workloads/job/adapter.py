"""The adapter of batch/v1 Jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from jobrelay.kinds.batch.job.names import COMPLETE, CONTROLLER_UID, DEADLINE_EXCEEDED, FAILED
from jobrelay.kube import Object, Resource
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.workloads.adapter import MirrorParameters, Urgency, Workload, WorkloadDemand, WorkloadOutcome
from jobrelay.workloads.job.demand import demand
from jobrelay.workloads.job.mirror import mirror, mirror_patch
from jobrelay.workloads.job.status import merged_status, reduced_statuses, suspended_status, urgency
from jobrelay.workloads.job.views import JobSummary, SummaryStatus
from jobrelay.workloads.names import MULTIKUEUE, RELAY

_CACHED: Final = 512


class JobAdapter:
    """batch/v1 Jobs, see `jobrelay.workloads.adapter.Adapter`.

    One version of a Job is read many times on its way through the relay, so the last few hundred are kept decoded.
    """

    def __init__(self) -> None:
        self._read = lru_cache(maxsize=_CACHED)(_read)

    @property
    def resource(self) -> Resource:
        return JOBS

    @property
    def managers(self) -> frozenset[str]:
        return frozenset({RELAY, MULTIKUEUE})

    @property
    def enforces_deadline(self) -> bool:
        """A Job controller stops the pods of a Job at its `activeDeadlineSeconds`."""
        return True

    def read(self, obj: Object) -> Workload:
        return self._read(obj.raw)

    def demand(self, original: Object) -> WorkloadDemand:
        return demand(original)

    def mirror(self, original: Object, parameters: MirrorParameters) -> dict[str, Any]:
        return mirror(original, parameters)

    def mirror_patch(self, original: Object, mirror: Object, parameters: MirrorParameters) -> dict[str, Any] | None:
        return mirror_patch(original, mirror, parameters)

    def merged_status(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        return merged_status(original, mirror)

    def reduced_statuses(self, original: Object, mirror: Object) -> list[dict[str, Any]]:
        return reduced_statuses(original, mirror)

    def suspended_status(self, original: Object, now: datetime) -> dict[str, Any] | None:
        return suspended_status(original, now)

    def pod_owner(self, pod: Object) -> str:
        return pod.metadata.labels.get(CONTROLLER_UID, "")

    def urgency(self, original: Object, status: Mapping[str, Any]) -> Urgency:
        return urgency(original, status)


def _read(raw: bytes) -> Workload:
    obj = decode_object(raw)
    summary = obj.decode(JobSummary)
    return Workload(
        key=obj.key,
        uid=obj.uid,
        managed_by=summary.spec.managed_by,
        suspended=summary.spec.suspend,
        started=summary.status.start_time,
        active=summary.status.active,
        end=_outcome(summary.status),
        deleting=obj.deleting,
        deadline=summary.spec.active_deadline_seconds,
    )


def _outcome(status: SummaryStatus) -> WorkloadOutcome | None:
    for one in status.conditions:
        if one.type in (COMPLETE, FAILED) and one.status == "True":
            at = one.last_transition_time or status.completion_time
            stopped = one.type == FAILED and one.reason == DEADLINE_EXCEEDED
            return WorkloadOutcome(one.type == COMPLETE, at, one.reason, one.message, stopped)
    return None
