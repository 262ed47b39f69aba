"""Carries out what `lifecycle.next_step` decides about Workloads: evictions, back-offs, checks, deactivation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from jobrelay.control import Controller, Result
from jobrelay.kube import Clock, EventRecorder, NotFound, Object, ObjectReference
from jobrelay.kube.objects import Key
from jobrelay.queueing import changes, core, names
from jobrelay.queueing.admitting import NOT_LEADING
from jobrelay.queueing.conditions import holds
from jobrelay.queueing.lifecycle import next_step
from jobrelay.queueing.metrics import QueueMetrics
from jobrelay.queueing.objects import QueueObjects
from jobrelay.queueing.resources import WORKLOADS
from jobrelay.queueing.views import WorkloadView
from jobrelay.queueing.writing import WorkloadWriter

_WORKERS: Final = 8


class WorkloadController:
    """One step of a Workload at a time; changes of its queues concern all Workloads in them.

    `report_waiting` makes the scheduler write why a Workload waits for quota.
    """

    def __init__(
        self,
        objects: QueueObjects,
        writer: WorkloadWriter,
        recorder: EventRecorder,
        metrics: QueueMetrics,
        config: core.Config,
        clock: Clock,
        *,
        report_waiting: Callable[[Key], None],
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._report_waiting = report_waiting
        self._objects, self._writer, self._recorder, self._metrics = objects, writer, recorder, metrics
        self._config, self._clock, self._leads = config, clock, leads
        self.controller: Controller[Key] = Controller(
            "workloads", self.reconcile, workers=_WORKERS, clock=clock, grace=grace
        )
        self.controller.watch(objects.workloads)
        self.controller.watch(objects.local_queues, self._of_local_queue)
        self.controller.watch(objects.cluster_queues, self._of_cluster_queue)
        for cache in (objects.flavors, objects.checks, objects.topologies):
            self.controller.watch(cache, self._of_parts)

    def _of_local_queue(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        if old is not None and new is not None and old.metadata.generation == new.metadata.generation:
            return ()
        queue = new or old
        return [each.key for each in self._objects.workloads_in(queue.key)] if queue is not None else ()

    def _of_cluster_queue(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        if old is not None and new is not None and old.metadata.generation == new.metadata.generation:
            return ()
        queue = new or old
        return [each.key for each in self._objects.waiting_for(queue.name)] if queue is not None else ()

    def _of_parts(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        """A flavor, check or topology came or went, or a check became active: queues may be active or not now."""
        for queue in self._objects.cluster_queues:
            yield from (each.key for each in self._objects.waiting_for(queue.name))

    async def reconcile(self, key: Key) -> Result | None:
        workload = self._objects.workloads.get(key)
        if workload is None or workload.deleting:
            return None
        if not self._leads():
            return NOT_LEADING
        view, now = workload.decode(WorkloadView), self._clock.now()
        queues = self._objects.facts_of(key.namespace, view.spec.queue_name)
        step = next_step(view, str(key), queues, self._config, now)
        if step.tell_again:
            self._report_waiting(key)
        try:
            if step.spec is not None:
                await self._writer.patch(workload, step.spec)
            elif step.status is not None:
                new = await self._writer.patch_status(workload, step.status)
                self._metrics.changed(view, new.decode(WorkloadView), now)
            elif self._is_abandoned(workload, view):
                await self._writer.patch_status(workload, changes.released(view.status, now))
        except NotFound:
            return None
        self._recorder.record(ObjectReference.of(workload, WORKLOADS), step.events)
        return Result(requeue_after=step.requeue_after) if step.requeue_after is not None else None

    @staticmethod
    def _is_abandoned(workload: Object, view: WorkloadView) -> bool:
        """Whether an evicted Workload has no object that has to be stopped first."""
        evicted = holds(view.status.conditions, names.EVICTED) and view.status.admission is not None
        return evicted and workload.metadata.controller is None
