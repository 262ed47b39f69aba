"""Keeps the core's scheduler in step with the objects.

Every change of a cache is applied to the `Scheduler` at once. A Workload about which something is being written is left
alone until the reply is in the cache: the scheduler has counted the decision already, and an event from before it would
undo that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from jobrelay.kube import Clock, Object
from jobrelay.kube.objects import Key
from jobrelay.queueing import core, names
from jobrelay.queueing.conditions import find, holds
from jobrelay.queueing.core.lifecycle import order_timestamp
from jobrelay.queueing.core.scheduler import Scheduler
from jobrelay.queueing.objects import QueueObjects, is_multikueue
from jobrelay.queueing.queue_conditions import inactive_reasons
from jobrelay.queueing.reading import read_cluster_queue, read_cohort, read_flavor, read_holder, read_pending
from jobrelay.queueing.views import ClusterQueueView, FlavorView, WorkloadView


class QueueState:
    """The scheduler, and the Workloads about which something is being written.

    `changed` is called when there may be something to decide.
    """

    def __init__(self, objects: QueueObjects, config: core.Config, clock: Clock, changed: Callable[[], None]) -> None:
        self.objects, self.config, self._clock, self._changed = objects, config, clock, changed
        self.scheduler = Scheduler(config=config)
        self._writing: set[Key] = set()
        objects.workloads.subscribe(self._workload_event)
        objects.flavors.subscribe(self._flavor_event)
        objects.cluster_queues.subscribe(self._queue_event)
        objects.cohorts.subscribe(self._cohort_event)
        objects.local_queues.subscribe(self._local_queue_event)
        objects.checks.subscribe(self._check_event)
        objects.topologies.subscribe(self._topology_event)
        objects.namespaces.subscribe(self._namespace_event)
        objects.limit_ranges.subscribe(self._limit_range_event)
        objects.runtime_classes.subscribe(self._runtime_class_event)

    def timestamp(self, view: WorkloadView, created: datetime) -> float:
        """What orders a Workload among those of its priority."""
        evicted = find(view.status.conditions, names.EVICTED)
        if evicted is None or not evicted.holds:
            return created.timestamp()
        at = evicted.since.timestamp()
        return order_timestamp(created.timestamp(), at, evicted.reason, self.config.wait_for_pods_ready)

    def begin(self, key: Key) -> None:
        """Something decided about a Workload is to be written."""
        self._writing.add(key)

    def end(self, key: Key) -> None:
        """It is written and in the cache, or will not be: the Workload is as the cache has it."""
        self._writing.discard(key)
        self.refresh(key)

    def refresh(self, key: Key) -> None:
        """Apply a Workload as it is in the cache."""
        if key in self._writing:
            return
        workload, text = self.objects.workloads.get(key), str(key)
        if workload is None:
            self.scheduler.forget(text)
            self.scheduler.release(text)
        else:
            self._apply(workload, text)
        self._changed()

    def _apply(self, workload: Object, key: str) -> None:
        holder = read_holder(workload, self.timestamp)
        if holder is not None:
            self.scheduler.hold(holder)
            return
        self.scheduler.release(key)
        pending = self.pending_of(workload)
        if pending is None:
            self.scheduler.forget(key)
        else:
            self.scheduler.push(pending, self._clock.now().timestamp())

    def pending_of(self, workload: Object) -> core.WorkloadInfo | None:
        """A Workload as one that waits for quota; None if it does not."""
        view = workload.decode(WorkloadView)
        if not view.spec.active or holds(view.status.conditions, names.FINISHED) or workload.deleting:
            return None
        queues = self.objects.facts_of(workload.namespace, view.spec.queue_name)
        gated = view.annotations.get(names.ADMISSION_GATED_BY)
        if gated or not queues.cluster_queue or queues.local_stopped:
            return None
        rules = self.objects.pod_rules(workload.namespace)
        return read_pending(workload, queues.cluster_queue, self.timestamp, rules)

    def _workload_event(self, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is not None:
            self.refresh(obj.key)

    def _flavor_event(self, old: Object | None, new: Object | None) -> None:
        if new is not None and (old is None or old.decode(FlavorView) != new.decode(FlavorView)):
            self.scheduler.set_flavor(read_flavor(new))
        elif new is None and old is not None:
            self.scheduler.remove_flavor(old.name)
        if old is None or new is None:
            self._renew_queues()
        self._changed()

    def _queue_event(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            before = old.decode(ClusterQueueView).spec if old is not None else None
            if before != new.decode(ClusterQueueView).spec or (old is not None and old.deleting != new.deleting):
                self._set_queue(new)
        elif old is not None:
            self.scheduler.remove_queue(old.name)
        self._changed()

    def _set_queue(self, queue: Object) -> None:
        parts = self.objects.parts_of(queue)
        reasons = [reason for reason, _ in inactive_reasons(queue, parts) if reason != "Stopped"]
        spec = read_cluster_queue(queue, active=not reasons)
        checks = [self.objects.checks.get(Key("", rule.name)) for rule in spec.checks]
        handed_on = {check.name for check in checks if check is not None and is_multikueue(check)}
        if handed_on:
            spec = core.ClusterQueueSpec(
                **{name: getattr(spec, name) for name in spec.__struct_fields__ if name != "checks"},
                checks=tuple(rule for rule in spec.checks if rule.name not in handed_on),
            )
        self.scheduler.set_queue(spec)

    def _renew_queues(self) -> None:
        """Something that ClusterQueues name came or went."""
        for queue in self.objects.cluster_queues:
            self._set_queue(queue)

    def _cohort_event(self, old: Object | None, new: Object | None) -> None:
        if new is not None and (old is None or old.metadata.generation != new.metadata.generation):
            self.scheduler.set_cohort(read_cohort(new))
        elif new is None and old is not None:
            self.scheduler.remove_cohort(old.name)
        self._changed()

    def _local_queue_event(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and old.metadata.generation == new.metadata.generation:
            return
        queue = new or old
        if queue is not None:
            for workload in self.objects.workloads_in(queue.key):
                self.refresh(workload.key)

    def _check_event(self, old: Object | None, new: Object | None) -> None:
        self._renew_queues()
        self._changed()

    def _topology_event(self, old: Object | None, new: Object | None) -> None:
        if old is None or new is None:
            self._renew_queues()
            self._changed()

    def _namespace_event(self, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self.scheduler.set_namespace(old.name, None)
        elif new is not None and (old is None or old.metadata.labels != new.metadata.labels):
            self.scheduler.set_namespace(new.name, new.metadata.labels)
        self._changed()

    def _limit_range_event(self, old: Object | None, new: Object | None) -> None:
        limit_range = new or old
        if limit_range is not None:
            for workload in self.objects.workloads_of(limit_range.namespace):
                self.refresh(workload.key)

    def _runtime_class_event(self, old: Object | None, new: Object | None) -> None:
        named = new or old
        for workload in self.objects.workloads:
            templates = (each.template.get("spec") or {} for each in workload.decode(WorkloadView).spec.pod_sets)
            if named is not None and any(each.get("runtimeClassName") == named.name for each in templates):
                self.refresh(workload.key)
