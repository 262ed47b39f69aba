"""Queues and Workloads in JSON values, for commands: what holds quota, who waits in which order, and why.

What would be after another quota is answered by the core itself: the same queues with the change, the same Workloads
that hold quota, the same pending ones in line, decided until nothing changes any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.queueing import core, names
from jobrelay.queueing.conditions import find, holds
from jobrelay.queueing.core.amounts import amount, format_amount
from jobrelay.queueing.core.scheduler import Scheduler
from jobrelay.queueing.objects_view import local_queue_row, why_waiting, workload_row
from jobrelay.queueing.queue_conditions import cluster_queue_activity
from jobrelay.queueing.reading import read_cluster_queue
from jobrelay.queueing.state import QueueState
from jobrelay.queueing.statuses import quota_rows
from jobrelay.queueing.views import WorkloadView

_CHANGE: Final = re.compile(r"quota\.(?P<resource>[^=]+)=(?P<sign>[+-]?)(?P<amount>[0-9.]+[A-Za-z]*)")


def overview(state: QueueState) -> dict[str, Any]:
    """All ClusterQueues with their usage and what waits in them, in order."""
    return {"clusterQueues": [_queue(state, each) for each in sorted(state.objects.cluster_queues, key=_name)]}


def _name(obj: Object) -> str:
    return obj.name


def _queue(state: QueueState, queue: Object) -> dict[str, Any]:
    node = state.scheduler.snapshot.queues.get(queue.name)
    spec = node.spec if node is not None else read_cluster_queue(queue)
    activity = cluster_queue_activity(queue, state.objects.parts_of(queue))
    local = sorted(state.objects.local_queues_of(queue.name), key=lambda one: one.key)
    pending = enumerate(state.scheduler.pending(queue.name), start=1)
    return {
        "name": queue.name,
        "cohort": spec.cohort or "",
        "strategy": spec.strategy,
        "stopPolicy": spec.stop_policy,
        "active": activity.active,
        "why": "" if activity.active else activity.message,
        "localQueues": [local_queue_row(each) for each in local],
        "quotas": quota_rows(spec.groups, node.usage if node is not None else {}),
        "admitted": [workload_row(each) for each in sorted(state.objects.holders_of(queue.name), key=_name)],
        "pending": [_pending(state, each, place) for place, each in pending],
    }


def _pending(state: QueueState, pending: core.WorkloadInfo, place: int) -> dict[str, Any]:
    namespace, _, name = pending.key.partition("/")
    workload = state.objects.workloads.get(Key(namespace, name))
    if workload is None:
        return {"position": place, "namespace": namespace, "workload": name}
    return {"position": place, **workload_row(workload), "why": why_waiting(workload)}


def explain_workload(
    state: QueueState, why: core.Requeue | None, workload: Object, changes: Sequence[str] = ()
) -> dict[str, Any]:
    """The place of a Workload in its queue and why it waits; with changes, what would be after them."""
    view = workload.decode(WorkloadView)
    conditions, admission = view.status.conditions, view.status.admission
    queues = state.objects.facts_of(workload.namespace, view.spec.queue_name)
    found: dict[str, Any] = {
        "localQueue": view.spec.queue_name,
        "clusterQueue": admission.cluster_queue if admission is not None else queues.cluster_queue,
        "workload": workload.name,
        "priority": view.spec.priority,
        "admitted": holds(conditions, names.ADMITTED),
    }
    line = state.scheduler.pending(queues.cluster_queue)
    place = next((index for index, each in enumerate(line, start=1) if each.key == str(workload.key)), None)
    if admission is None and place is not None:
        found |= {"position": place, "pending": len(line)}
    reserved = find(conditions, names.QUOTA_RESERVED)
    if admission is None:
        known = reserved.message if reserved is not None else ""
        found["why"] = queues.problem or (why.message if why is not None else known)
        found["arithmetic"] = _arithmetic(why)
    else:
        found["flavors"] = {each.name: each.flavors for each in admission.pod_set_assignments}
    if changes:
        found["supposed"] = suppose(state, str(workload.key), changes)
    return found


def _arithmetic(why: core.Requeue | None) -> list[dict[str, Any]]:
    """The quotas that were considered for it."""
    if why is None or why.assignment is None:
        return []
    return [
        {
            "podSet": each.name,
            "flavor": check.flavor,
            "resource": check.resource,
            "requested": format_amount(check.resource, check.assumed + check.requested),
            "available": format_amount(check.resource, max(0, check.available)),
            "fits": check.mode == core.Mode.FIT,
        }
        for each in why.assignment.pod_sets
        for attempt in each.attempts
        for check in attempt.checks
    ]


def suppose(state: QueueState, key: str, changes: Sequence[str]) -> dict[str, Any]:
    """What would become of a pending Workload with other quotas: whether it is admitted, and what is preempted for it.

    Raises ValueError for a change that cannot be read.
    """
    snapshot = state.scheduler.snapshot
    pending = [one for each in state.objects.cluster_queues for one in state.scheduler.pending(each.name)]
    target = next((each for each in pending if each.key == key), None)
    if target is None:
        return {"changes": list(changes), "admitted": snapshot.holder(key) is not None, "why": "It does not wait."}
    specs = [node.spec for node in snapshot.queues.values()]
    changed = [_changed(spec, changes) if spec.name == target.cluster_queue else spec for spec in specs]
    cohorts = [node.spec for node in snapshot.cohorts.values()]
    copy = core.Snapshot(changed, cohorts, snapshot.flavors.values(), snapshot.holders(), snapshot.namespaces)
    scheduler, now = Scheduler(copy, state.config), max((each.queued_at for each in pending), default=0.0)
    for each in pending:
        scheduler.push(each, now)
    decided = list(scheduler.settle(now))
    return {"changes": list(changes), **_outcome(decided, key)}


def _outcome(decided: Iterable[core.Decisions], key: str) -> dict[str, Any]:
    before: list[str] = []
    preempted: list[str] = []
    why = ""
    for decisions in decided:
        preempted += [each.target.key for each in decisions.preemptions if each.preemptor.key == key]
        for each in decisions.reservations:
            if each.workload.key == key:
                flavors = {one.name: dict(one.flavors) for one in each.admission.pod_sets}
                return {"admitted": True, "flavors": flavors, "after": before, "preempts": preempted}
            before.append(each.workload.key)
        why = next((each.message for each in decisions.requeues if each.workload.key == key), why)
    return {"admitted": False, "preempts": preempted, "why": why}


def _changed(spec: core.ClusterQueueSpec, changes: Sequence[str]) -> core.ClusterQueueSpec:
    for text in changes:
        match = _CHANGE.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is not a change of a quota: write quota.RESOURCE=+AMOUNT, such as quota.cpu=+10"
            )
        resource = match["resource"]
        if not any(resource in group.resources for group in spec.groups):
            raise ValueError(f"{text!r}: ClusterQueue {spec.name} has no quota of {resource}")
        spec = replace(
            spec, groups=tuple(_group(group, resource, match["sign"], match["amount"]) for group in spec.groups)
        )
    return spec


def _group(group: core.ResourceGroup, resource: str, sign: str, text: str) -> core.ResourceGroup:
    """The group with another nominal quota of a resource in its first flavor."""
    if resource not in group.resources:
        return group
    first, *rest = group.flavors
    quota, value = first.quotas[resource], amount(resource, text)
    nominal = value if not sign else max(0, quota.nominal + (value if sign == "+" else -value))
    quotas = {**first.quotas, resource: replace(quota, nominal=nominal)}
    return replace(group, flavors=(replace(first, quotas=quotas), *rest))
