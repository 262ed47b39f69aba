"""From Kueue's objects to the values that `core` decides from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from jobrelay.apimachinery.quantity import number
from jobrelay.apimachinery.selectors import Selector, SelectorError, selector_from_object
from jobrelay.apimachinery.times import parse_time
from jobrelay.kube import Object
from jobrelay.queueing import core, names
from jobrelay.queueing.conditions import find, holds
from jobrelay.queueing.core.amounts import UNLIMITED, amount
from jobrelay.queueing.pod_rules import Pod, PodRules, filled, refusal
from jobrelay.queueing.views import (
    Amount,
    ClusterQueueView,
    CohortView,
    FlavorView,
    PodSetView,
    ResourceGroupView,
    WorkloadView,
)
from jobrelay.workloads.requests import pod_requests

_NO_RULES: Final = PodRules()


def read_flavor(flavor: Object) -> core.FlavorSpec:
    spec = flavor.decode(FlavorView).spec
    return core.FlavorSpec(flavor.name, spec.node_labels, spec.node_taints, spec.tolerations)


def read_cohort(cohort: Object) -> core.CohortSpec:
    spec = cohort.decode(CohortView).spec
    return core.CohortSpec(
        cohort.name, spec.parent_name or None, _groups(spec.resource_groups), _weight(spec.fair_sharing.weight)
    )


def read_cluster_queue(queue: Object, *, active: bool = True) -> core.ClusterQueueSpec:
    """A ClusterQueue; `active` says whether everything that it names exists."""
    spec = queue.decode(ClusterQueueView).spec
    fungibility, preemption = spec.flavor_fungibility, spec.preemption
    return core.ClusterQueueSpec(
        queue.name,
        _groups(spec.resource_groups),
        spec.cohort_name or None,
        spec.queueing_strategy,
        _selector(spec.namespace_selector),
        core.FlavorFungibility(fungibility.when_can_borrow, fungibility.when_can_preempt, fungibility.preference),
        core.PreemptionSpec(
            preemption.within_cluster_queue,
            preemption.reclaim_within_cohort,
            preemption.borrow_within_cohort.policy,
            preemption.borrow_within_cohort.max_priority_threshold,
        ),
        _weight(spec.fair_sharing.weight),
        spec.stop_policy,
        tuple(
            core.AdmissionCheckRule(each.name, frozenset(each.on_flavors))
            for each in spec.admission_checks_strategy.admission_checks
        ),
        active,
    )


def _weight(given: Amount) -> float:
    return float(number(str(given)))


def _selector(selector: dict[str, Any] | None) -> Selector:
    """Which namespaces may use a queue; none if the API server has accepted a selector that is invalid."""
    try:
        return selector_from_object(selector)
    except SelectorError:
        return selector_from_object(None)


def _groups(groups: Iterable[ResourceGroupView]) -> tuple[core.ResourceGroup, ...]:
    return tuple(
        core.ResourceGroup(
            group.covered_resources,
            tuple(
                core.FlavorQuotas(
                    flavor.name,
                    {
                        each.name: core.Quota(
                            amount(each.name, str(each.nominal_quota)),
                            _limit(each.name, each.borrowing_limit),
                            _limit(each.name, each.lending_limit),
                        )
                        for each in flavor.resources
                    },
                )
                for flavor in group.flavors
            ),
        )
        for group in groups
    )


def _limit(resource: str, given: Amount | None) -> int | None:
    return None if given is None else amount(resource, str(given))


def read_pod_set(given: PodSetView, pod: Pod) -> core.PodSetInfo:
    """A pod set whose pods will be as `pod`. Raises ValueError for a malformed amount."""
    zeros = dict.fromkeys(_named(pod), 0)
    requests = zeros | {resource: _whole(resource, exact) for resource, exact in pod_requests(pod).items()}
    affinity = (pod.get("affinity") or {}).get("nodeAffinity")
    return core.PodSetInfo(
        given.name,
        given.count,
        requests,
        given.min_count,
        pod.get("nodeSelector") or {},
        affinity,
        tuple(pod.get("tolerations") or ()),
    )


def _named(pod: Pod) -> Iterator[str]:
    """The resources that containers request, be it nothing of them: they get a flavor all the same."""
    for container in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ())):
        resources = container.get("resources") or {}
        yield from (*(resources.get("limits") or ()), *(resources.get("requests") or ()))


def _whole(resource: str, exact: Fraction) -> int:
    return min(UNLIMITED, math.ceil(exact * 1000 if resource == "cpu" else exact))


def read_pending(
    workload: Object,
    cluster_queue: str,
    timestamp: Callable[[WorkloadView, datetime], float],
    rules: PodRules = _NO_RULES,
) -> core.WorkloadInfo:
    """A Workload that waits for quota of a ClusterQueue; `timestamp` says since when."""
    view, created = workload.decode(WorkloadView), created_at(workload)
    problem = ""
    pod_sets: tuple[core.PodSetInfo, ...] = ()
    try:
        pods = [filled(each.template.get("spec") or {}, rules) for each in view.spec.pod_sets]
        pod_sets = tuple(map(read_pod_set, view.spec.pod_sets, pods))
        problem = refusal(pods, rules)
    except ValueError as error:
        problem = f"resources validation failed: {error}"
    status = view.status
    requeue, requeued = status.requeue_state, find(status.conditions, names.REQUEUED)
    at = requeue.requeue_at if requeue is not None else None
    return core.WorkloadInfo(
        key=str(workload.key),
        uid=workload.uid,
        cluster_queue=cluster_queue,
        pod_sets=pod_sets,
        priority=view.spec.priority,
        queued_at=timestamp(view, created),
        namespace=workload.namespace,
        local_queue=view.spec.queue_name,
        job_uid=workload.metadata.labels.get(names.JOB_UID, ""),
        reclaimable={each.name: each.count for each in status.reclaimable_pods},
        requeue_at=parse_time(at).timestamp() if at else None,
        waits=requeued is not None and not requeued.holds,
        failed_checks=any(each.state in ("Retry", "Rejected") for each in status.admission_checks),
        problem=problem,
    )


def read_holder(workload: Object, timestamp: Callable[[WorkloadView, datetime], float]) -> core.AdmittedWorkload | None:
    """A Workload as far as it holds quota; None if it holds none."""
    view = workload.decode(WorkloadView)
    status = view.status
    if status.admission is None or holds(status.conditions, names.FINISHED):
        return None
    counts = {each.name: each.count for each in view.spec.pod_sets}
    admission = core.Admission(
        status.admission.cluster_queue,
        tuple(
            core.PodSetAssignment(
                each.name,
                each.count if each.count is not None else counts.get(each.name, 1),
                each.flavors,
                {resource: amount(resource, str(given)) for resource, given in each.resource_usage.items()},
            )
            for each in status.admission.pod_set_assignments
        ),
    )
    reclaimed = {each.name: each.count for each in status.reclaimable_pods}
    needed = {each.name: max(0, counts.get(each.name, 0) - reclaimed.get(each.name, 0)) for each in view.spec.pod_sets}
    reserved = find(status.conditions, names.QUOTA_RESERVED)
    ready = find(status.conditions, names.PODS_READY)
    created = created_at(workload)
    return core.AdmittedWorkload(
        str(workload.key),
        workload.uid,
        status.admission.cluster_queue,
        admission.usage(needed if reclaimed else None),
        view.spec.priority,
        timestamp(view, created),
        (reserved.since if reserved is not None else created).timestamp(),
        holds(status.conditions, names.EVICTED),
        ready is not None and ready.holds,
    )


def created_at(obj: Object) -> datetime:
    created = obj.metadata.creation_timestamp
    return parse_time(created) if created else datetime.fromtimestamp(0, UTC)
