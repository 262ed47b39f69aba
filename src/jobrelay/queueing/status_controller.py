"""Writes the statuses of queues, and keeps queues, flavors and topologies that are used from being deleted.

A change of a Workload concerns the counts of its queues. These are written together after a short while, so that a
burst of admissions costs each queue one write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from jobrelay.control import Controller, Result
from jobrelay.kube import Cache, Client, Clock, NotFound, Object, Resource, merge_patch
from jobrelay.kube.objects import Key
from jobrelay.queueing import names
from jobrelay.queueing.admitting import NOT_LEADING
from jobrelay.queueing.conditions import find, holds, with_condition
from jobrelay.queueing.core.shares import share
from jobrelay.queueing.objects import is_multikueue
from jobrelay.queueing.queue_conditions import cluster_queue_activity, inactive_reasons, local_queue_activity
from jobrelay.queueing.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    TOPOLOGIES,
)
from jobrelay.queueing.state import QueueState
from jobrelay.queueing.statuses import Holdings, queue_status, shown_usage
from jobrelay.queueing.views import CheckView, ClusterQueueView, FlavorView, LocalQueueView, WorkloadView

_DELAY: Final = 0.3
_PROTECTED: Final = (CLUSTER_QUEUES, RESOURCE_FLAVORS, TOPOLOGIES)
"""What has a finalizer while it is used."""
StatusKey = tuple[Resource, Key]


class QueueStatusController:
    """One object at a time."""

    def __init__(
        self, state: QueueState, client: Client, clock: Clock, *, leads: Callable[[], bool], grace: float
    ) -> None:
        self._state, self._objects, self._client = state, state.objects, client
        self._clock, self._leads = clock, leads
        self.controller: Controller[StatusKey] = Controller(
            "queue statuses", self.reconcile, workers=4, clock=clock, grace=grace
        )
        objects = self._objects
        self._caches: dict[Resource, Cache] = {
            CLUSTER_QUEUES: objects.cluster_queues,
            LOCAL_QUEUES: objects.local_queues,
            COHORTS: objects.cohorts,
            RESOURCE_FLAVORS: objects.flavors,
            ADMISSION_CHECKS: objects.checks,
            TOPOLOGIES: objects.topologies,
        }
        for resource, cache in self._caches.items():
            self.controller.watch(cache, _own(resource))
        for parts in (objects.flavors, objects.checks, objects.topologies):
            self.controller.watch(parts, self._of_parts)
        self.controller.watch(objects.flavors, self._of_flavor)
        self.controller.watch(objects.cluster_queues, self._of_queue)
        self.controller.watch(objects.local_queues, self._of_local_queue)
        objects.workloads.subscribe(self._workload_event)

    def _of_parts(self, old: Object | None, new: Object | None) -> Iterable[StatusKey]:
        return [(CLUSTER_QUEUES, queue.key) for queue in self._objects.cluster_queues]

    def _of_flavor(self, old: Object | None, new: Object | None) -> Iterable[StatusKey]:
        """Topologies may not be used any more."""
        if new is None:
            yield from ((TOPOLOGIES, topology.key) for topology in self._objects.topologies if topology.deleting)

    def _of_queue(self, old: Object | None, new: Object | None) -> Iterable[StatusKey]:
        """The LocalQueues of a ClusterQueue show whether it is active; flavors may not be used any more."""
        queue = new or old
        if queue is None:
            return
        for each in self._objects.local_queues_of(queue.name):
            yield LOCAL_QUEUES, each.key
        if new is None:
            yield from ((RESOURCE_FLAVORS, flavor.key) for flavor in self._objects.flavors if flavor.deleting)

    @staticmethod
    def _of_local_queue(old: Object | None, new: Object | None) -> Iterable[StatusKey]:
        """With a LocalQueue, those that wait in it come to its ClusterQueue and leave it."""
        if new is None and old is not None:
            yield CLUSTER_QUEUES, Key("", old.decode(LocalQueueView).spec.cluster_queue)

    def _workload_event(self, old: Object | None, new: Object | None) -> None:
        for each in filter(None, (old, new)):
            view = each.decode(WorkloadView)
            queue = Key(each.namespace, view.spec.queue_name)
            facts = self._objects.facts_of(*queue)
            admission = view.status.admission
            self.controller.queue.add_after((LOCAL_QUEUES, queue), _DELAY)
            for name in {facts.cluster_queue, admission.cluster_queue if admission is not None else ""} - {""}:
                self.controller.queue.add_after((CLUSTER_QUEUES, Key("", name)), _DELAY)
                self._cohorts_changed(name)

    def _cohorts_changed(self, queue: str) -> None:
        """What a queue uses counts for the shares of all cohorts above it."""
        node = self._state.scheduler.snapshot.queues.get(queue)
        if node is not None and self._state.config.fair_sharing is not None:
            for cohort in node.ancestors():
                self.controller.queue.add_after((COHORTS, Key("", cohort.name)), _DELAY)

    async def reconcile(self, key: StatusKey) -> Result | None:
        resource, name = key
        obj = self._caches[resource].get(name)
        if obj is None:
            return None
        if not self._leads():
            return NOT_LEADING
        try:
            if resource in _PROTECTED and await self._keep(resource, obj):
                return None
            status = self._status(resource, obj)
            if status is not None and not _same(obj, status):
                await self._patch(resource, obj, {"status": status}, "status")
        except NotFound:
            return None
        return None

    async def _keep(self, resource: Resource, obj: Object) -> bool:
        """Put the finalizer on what has none, and take it away from what is deleted and not used; whether it did."""
        has, used = names.IN_USE in obj.metadata.finalizers, self._is_used(resource, obj)
        if has == (not obj.deleting or used) or (obj.deleting and not has):
            return False
        kept = [each for each in obj.metadata.finalizers if each != names.IN_USE]
        await self._patch(resource, obj, {"metadata": {"finalizers": kept if has else [*kept, names.IN_USE]}}, None)
        return True

    def _is_used(self, resource: Resource, obj: Object) -> bool:
        if resource == CLUSTER_QUEUES:
            return bool(self._objects.holders_of(obj.name))
        if resource == TOPOLOGIES:
            flavors = (flavor.decode(FlavorView).spec for flavor in self._objects.flavors)
            return any(flavor.topology_name == obj.name for flavor in flavors)
        queues = [queue.decode(ClusterQueueView).spec for queue in self._objects.cluster_queues]
        return any(
            flavor.name == obj.name for spec in queues for group in spec.resource_groups for flavor in group.flavors
        )

    def _status(self, resource: Resource, obj: Object) -> dict[str, Any] | None:
        if resource == CLUSTER_QUEUES:
            return self._cluster_queue(obj)
        if resource == LOCAL_QUEUES:
            return self._local_queue(obj)
        if resource == COHORTS:
            return self._cohort(obj)
        return self._check(obj) if resource == ADMISSION_CHECKS else None

    def _cluster_queue(self, queue: Object) -> dict[str, Any]:
        node = self._state.scheduler.snapshot.queues.get(queue.name)
        conditions = queue.decode(ClusterQueueView).status.conditions
        activity = cluster_queue_activity(queue, self._objects.parts_of(queue))
        holdings = self._holdings(self._objects.holders_of(queue.name))
        pending = sum(self._state.scheduler.counts(queue.name))
        status = queue_status(conditions, activity, holdings, pending, queue.metadata.generation, self._clock.now())
        groups = node.spec.groups if node is not None else ()
        alone = node is None or node.spec.cohort is None
        status["flavorsReservation"] = shown_usage(groups, holdings.reservation, borrowed=True, alone=alone)
        status["flavorsUsage"] = shown_usage(groups, holdings.usage, borrowed=True, alone=alone)
        if node is not None and self._state.config.fair_sharing is not None:
            status["fairSharing"] = {"weightedShare": share(node).rounded}
        return status

    def _local_queue(self, queue: Object) -> dict[str, Any]:
        view = queue.decode(LocalQueueView)
        target = self._objects.cluster_queue(view.spec.cluster_queue)
        active = target is not None and not inactive_reasons(target, self._objects.parts_of(target))
        activity = local_queue_activity(queue, target, target_active=active)
        workloads = self._objects.workloads_in(queue.key)
        holdings = self._holdings(each for each in workloads)
        waiting = [each.decode(WorkloadView) for each in workloads]
        pending = sum(_is_pending(view) for view in (waiting if view.spec.stop_policy == "None" else ()))
        now, generation = self._clock.now(), queue.metadata.generation
        status = queue_status(view.status.conditions, activity, holdings, pending, generation, now)
        node = self._state.scheduler.snapshot.queues.get(view.spec.cluster_queue)
        groups = node.spec.groups if node is not None else ()
        status["flavorsReservation"] = shown_usage(groups, holdings.reservation, borrowed=False)
        status["flavorsUsage"] = shown_usage(groups, holdings.usage, borrowed=False)
        return status

    def _holdings(self, workloads: Iterable[Object]) -> Holdings:
        found = Holdings()
        for each in workloads:
            holder = self._state.scheduler.snapshot.holder(str(each.key))
            view = each.decode(WorkloadView)
            if holder is not None and view.status.admission is not None:
                found.add(holder, admitted=holds(view.status.conditions, names.ADMITTED))
        return found

    def _cohort(self, cohort: Object) -> dict[str, Any] | None:
        node = self._state.scheduler.snapshot.cohorts.get(cohort.name)
        if node is None or self._state.config.fair_sharing is None:
            return None
        return {"fairSharing": {"weightedShare": share(node).rounded}}

    def _check(self, check: Object) -> dict[str, Any] | None:
        """Checks for other clusters are ours; the others have controllers of their own."""
        if not is_multikueue(check):
            return None
        before = check.decode(CheckView).status.conditions
        text, generation = "The admission check is active", check.metadata.generation
        shown = with_condition(before, "Active", True, "Active", text, self._clock.now(), generation)
        return {"conditions": msgspec.to_builtins(shown)}

    async def _patch(self, resource: Resource, obj: Object, change: dict[str, Any], subresource: str | None) -> None:
        known = {"uid": obj.uid, "resourceVersion": obj.resource_version}
        patch = merge_patch({**change, "metadata": known | change.get("metadata", {})})
        new = await self._client.patch(
            resource,
            obj.name,
            patch,
            obj.namespace or None,
            subresource=subresource,
            field_manager=names.MANAGER,
        )
        self._caches[resource].observe(new)


def _own(resource: Resource) -> Callable[[Object | None, Object | None], Iterable[StatusKey]]:
    def keys(old: Object | None, new: Object | None) -> Iterable[StatusKey]:
        return ((resource, new.key),) if new is not None else ()

    return keys


def _is_pending(view: WorkloadView) -> bool:
    """Whether a Workload waits for quota; one that is gated, or backs off, does not."""
    if view.status.admission is not None or not view.spec.active or holds(view.status.conditions, names.FINISHED):
        return False
    requeued, state = find(view.status.conditions, names.REQUEUED), view.status.requeue_state
    backs_off = requeued is not None and not requeued.holds and state is not None and state.requeue_at is not None
    return names.ADMISSION_GATED_BY not in view.annotations and not backs_off


def _same(obj: Object, status: dict[str, Any]) -> bool:
    """Whether a status has these values already."""
    known: dict[str, Any] = obj.decode().get("status") or {}
    return all(known.get(key) == value for key, value in status.items())
