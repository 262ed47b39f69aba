"""A ClusterQueue in JSON values, from the objects alone: for commands that cannot ask the relay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobrelay.kube import Object
from jobrelay.queueing import names
from jobrelay.queueing.conditions import find, holds
from jobrelay.queueing.reading import read_cluster_queue, read_holder
from jobrelay.queueing.statuses import quota_rows
from jobrelay.queueing.views import ClusterQueueView, LocalQueueView, WorkloadView


def cluster_queue_view(queue: Object, local: Sequence[Object], workloads: Sequence[Object]) -> dict[str, Any]:
    """One ClusterQueue with its LocalQueues and Workloads; those that wait are in the order of their names."""
    spec, active = read_cluster_queue(queue), find(queue.decode(ClusterQueueView).status.conditions, "Active")
    own = [each for each in local if each.decode(LocalQueueView).spec.cluster_queue == queue.name]
    named = {(each.namespace, each.name) for each in own}
    used: dict[tuple[str, str], int] = {}
    admitted, pending = [], []
    for each in workloads:
        view = each.decode(WorkloadView)
        holder = read_holder(each, lambda _, created: created.timestamp())
        if holder is not None and holder.cluster_queue == queue.name:
            admitted.append(workload_row(each))
            for quota, amount in holder.usage.items():
                used[quota] = used.get(quota, 0) + amount
        elif (each.namespace, view.spec.queue_name) in named and not holds(view.status.conditions, names.FINISHED):
            pending.append({"position": None, **workload_row(each), "why": why_waiting(each)})
    return {
        "name": queue.name,
        "cohort": spec.cohort or "",
        "strategy": spec.strategy,
        "stopPolicy": spec.stop_policy,
        "active": active is not None and active.holds,
        "why": active.message if active is not None and not active.holds else "",
        "localQueues": [local_queue_row(each) for each in own],
        "quotas": quota_rows(spec.groups, used),
        "admitted": admitted,
        "pending": pending,
    }


def local_queue_row(queue: Object) -> dict[str, Any]:
    policy = queue.decode(LocalQueueView).spec.stop_policy
    return {"namespace": queue.namespace, "name": queue.name, "stopPolicy": policy}


def workload_row(workload: Object) -> dict[str, Any]:
    """A Workload in a list."""
    owner = workload.metadata.controller
    view = workload.decode(WorkloadView)
    return {
        "namespace": workload.namespace,
        "workload": workload.name,
        "object": f"{owner.kind.lower()}/{owner.name}" if owner is not None else "",
        "localQueue": view.spec.queue_name,
        "priority": view.spec.priority,
        "admitted": holds(view.status.conditions, names.ADMITTED),
    }


def why_waiting(workload: Object) -> str:
    """Why a Workload waits, as its status says."""
    reserved = find(workload.decode(WorkloadView).status.conditions, names.QUOTA_RESERVED)
    return reserved.message if reserved is not None else ""
