"""The adapter of batch/v1 Jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from jobrelay.kinds.batch.job.names import COMPLETE, FAILED
from jobrelay.kube import Object, Resource
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.workloads.adapter import Demand, End, Haste, Marks, Workload
from jobrelay.workloads.job import demand, mirrors, returns
from jobrelay.workloads.job.views import Facts, FactStatus
from jobrelay.workloads.names import MULTIKUEUE, RELAY

__all__ = ["JobAdapter"]

_REMEMBERED: Final = 512


@dataclass(frozen=True, slots=True)
class JobAdapter:
    """batch/v1 Jobs, see `jobrelay.workloads.adapter.Adapter`."""

    @property
    def resource(self) -> Resource:
        return JOBS

    @property
    def managers(self) -> frozenset[str]:
        return frozenset({RELAY, MULTIKUEUE})

    @property
    def fences(self) -> bool:
        """A Job controller stops the pods of a Job at its `activeDeadlineSeconds`."""
        return True

    def read(self, obj: Object) -> Workload:
        return _read(obj.raw)

    def demand(self, obj: Object) -> Demand:
        return demand.demand(obj)

    def mirror(self, obj: Object, marks: Marks) -> dict[str, Any]:
        return mirrors.mirror(obj, marks)

    def forward(self, obj: Object, mirror: Object, marks: Marks) -> dict[str, Any] | None:
        return mirrors.forward(obj, mirror, marks)

    def returned(self, obj: Object, mirror: Object) -> dict[str, Any] | None:
        return returns.returned(obj, mirror)

    def subsets(self, obj: Object, mirror: Object) -> list[dict[str, Any]]:
        return returns.subsets(obj, mirror)

    def idle(self, obj: Object, now: datetime) -> dict[str, Any] | None:
        return returns.idle(obj, now)

    def haste(self, obj: Object, status: Mapping[str, Any]) -> Haste:
        return returns.haste(obj, status)


@lru_cache(maxsize=_REMEMBERED)
def _read(raw: bytes) -> Workload:
    """One version of a Job is looked at many times on its way through the relay, and decoded once."""
    obj = decode_object(raw)
    facts = obj.decode(Facts)
    return Workload(
        key=obj.key,
        uid=obj.uid,
        managed_by=facts.spec.managed_by,
        suspended=facts.spec.suspend,
        started=facts.status.start_time,
        active=facts.status.active,
        end=_end(facts.status),
        deleting=obj.deleting,
        deadline=facts.spec.active_deadline_seconds,
    )


def _end(status: FactStatus) -> End | None:
    for one in status.conditions:
        if one.type in (COMPLETE, FAILED) and one.status == "True":
            at = one.last_transition_time or status.completion_time
            return End(one.type == COMPLETE, at, one.reason, one.message)
    return None
