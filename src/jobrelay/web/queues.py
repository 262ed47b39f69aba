"""Queues as their page shows them: from the statuses of Kueue's objects, which count what waits and what is used.

Pure functions of decoded objects. Only some of the pending Workloads are read, since there may be many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from jobrelay.kube import Object
from jobrelay.queueing.conditions import holds
from jobrelay.queueing.names import FINISHED, QUOTA_RESERVED
from jobrelay.queueing.objects_view import why_waiting, workload_row
from jobrelay.queueing.views import WorkloadView


class QuotaUsage(msgspec.Struct, frozen=True):
    """What a queue has and uses of a resource in a flavor."""

    flavor: str
    resource: str
    nominal: str
    used: str
    borrowed: str


class QueueSummary(msgspec.Struct, frozen=True):
    """A ClusterQueue or a LocalQueue."""

    name: str
    namespace: str
    belongs_to: str
    """The cohort, or the ClusterQueue of a LocalQueue."""
    active: bool
    stopped: bool
    why: str
    pending: int
    admitted: int
    quotas: list[QuotaUsage]


def queue_state(queue: Object) -> QueueSummary:
    """What a queue's object says."""
    body = queue.decode()
    spec, status = body.get("spec") or {}, body.get("status") or {}
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    active = next((each for each in conditions if each.get("type") == "Active"), {})
    works = active.get("status") == "True"
    return QueueSummary(
        queue.name,
        queue.namespace,
        str(spec.get("clusterQueue") or spec.get("cohortName") or ""),
        works,
        spec.get("stopPolicy", "None") != "None",
        "" if works else str(active.get("message", "")),
        status.get("pendingWorkloads", 0),
        status.get("admittedWorkloads", 0),
        list(_quotas(spec, status)),
    )


def _quotas(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[QuotaUsage]:
    used = {
        (flavor["name"], each["name"]): each
        for flavor in status.get("flavorsUsage") or ()
        for each in flavor.get("resources") or ()
    }
    for group in spec.get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for each in flavor.get("resources") or ():
                found = used.get((flavor["name"], each["name"]), {})
                amounts = str(found.get("total", 0)), str(found.get("borrowed", 0))
                yield QuotaUsage(flavor["name"], each["name"], str(each.get("nominalQuota", 0)), *amounts)


def pending_rows(workloads: Iterable[Object]) -> list[dict[str, Any]]:
    """The Workloads that wait for quota, and why."""
    found = []
    for each in workloads:
        conditions = each.decode(WorkloadView).status.conditions
        if not holds(conditions, QUOTA_RESERVED) and not holds(conditions, FINISHED):
            found.append(workload_row(each) | {"why": why_waiting(each)})
    return found
