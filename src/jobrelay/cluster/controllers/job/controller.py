"""The Job controller: which events queue which Jobs, and what a sync does.

New Jobs, deleted Jobs and changed specs are synced at once. Changes of pods and of the status are synced a second after
the first of them, so that a burst of changes costs one sync. For a Job with one pod at a time there is nothing to
batch: it is synced soon after its pod has ended. A Job of another controller (`.spec.managedBy`) is skipped inside the
sync, because the key of one Job may by then belong to another of the same name.

The same controller can run under a name of its own beside the built-in one (`jobrelay.kit.pods`).
"""

from __future__ import annotations

from collections.abc import Iterable

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.cluster.controllers.job.expectations import ExpectationStore, JobExpectations
from jobrelay.cluster.controllers.job.metrics import JobMetrics
from jobrelay.cluster.controllers.job.orphans import TRACKED_INDEX, OrphanKey, OrphanPods, tracked
from jobrelay.cluster.controllers.job.podcontrol import reference
from jobrelay.cluster.controllers.job.sync import JobSync, SyncDependencies, WriteStatus, status_update
from jobrelay.cluster.controllers.job.viewcache import ViewCache
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, Job, Pod
from jobrelay.control import LOW_PRIORITY, Controller, ControllerContext, Result, WorkQueue
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER, CONTROLLER_UID
from jobrelay.kube import Conflict, NotFound, Object, OwnerReference
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import JOBS, PODS
from jobrelay.logs import get_logger

log = get_logger(__name__)

NAME = "job-controller"
_OWNED_INDEX = "job-controller-owned"
_SELECTED_INDEX = "job-controller-selected"
_FIRST_RETRY, _LAST_RETRY = 1.0, 60.0
_WORKERS = 16
_MODES = ("NonIndexed", "Indexed")
_ENDED = ("Succeeded", "Failed")
_BATCH_PERIOD, _FINISH_BATCH_PERIOD = 1.0, 0.2
_MANY = 2 * _WORKERS


def _owned(pod: Object) -> tuple[str, ...]:
    """Indexes pods by the uid of their controller, or by namespace if they have none."""
    owner = pod.metadata.controller
    return (owner.uid if owner is not None else f"/{pod.namespace}",)


class BatchJobController:
    """Reconciles all Jobs that name no other controller or, with `managed_by`, those that name this one.

    `write_status` is how a status gets to the API server.
    """

    def __init__(
        self,
        context: ControllerContext,
        *,
        name: str = NAME,
        managed_by: str = BUILT_IN_CONTROLLER,
        write_status: WriteStatus | None = None,
    ) -> None:
        clock, client = context.clock, context.client
        self._managed_by = managed_by
        self._clock = clock
        self._jobs, self._pods = context.cache(JOBS), context.cache(PODS)
        self.metrics = JobMetrics()
        context.add_collector(self.metrics)
        self.expectations = ExpectationStore()
        self._recorder = context.recorder(name)
        write_status = write_status or status_update(client)
        self._shared = SyncDependencies(client, self._recorder, clock, self.metrics, write_status)
        self._orphans = OrphanPods(client, self._jobs, self._pods, managed_by)
        queue: WorkQueue[Key] = WorkQueue(clock=clock, base_delay=_FIRST_RETRY, max_delay=_LAST_RETRY)
        orphan_queue: WorkQueue[OrphanKey] = WorkQueue(clock=clock, base_delay=_FIRST_RETRY, max_delay=_LAST_RETRY)
        self._main = Controller(name, self.reconcile, workers=_WORKERS, queue=queue, clock=clock)
        self._orphan_controller = Controller(
            f"{name} orphans", self._orphans.reconcile, queue=orphan_queue, clock=clock
        )
        self._index()
        for part in (self._main, self._orphan_controller):
            context.add(part)

    def _index(self) -> None:
        self._pod_views, self._job_views = ViewCache(Pod), ViewCache(Job)
        self._pods.add_index(_OWNED_INDEX, _owned)
        self._pods.add_index(TRACKED_INDEX, tracked)
        self._jobs.add_index(_SELECTED_INDEX, self._selected)
        self._jobs.subscribe(self._job_changed)
        self._pods.subscribe(self._pod_changed)

    def _selected(self, job: Object) -> tuple[str, ...]:
        """Indexes Jobs by one label of their selector, to find the Jobs of a pod without matching all of them."""
        labels = (self._job_views.of(job).spec.selector or {}).get("matchLabels") or {}
        wanted = next(iter(labels.items()), None)
        return (f"{job.namespace}/{wanted[0]}={wanted[1]}" if wanted else job.namespace,)

    # Events.

    def _job_changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self.expectations.forget(old.key)
            self._main.queue.add(old.key)
            self._enqueue_orphans(old)
            self._job_views.forget(old.key)
        elif old is None:
            self._main.queue.add(new.key, priority=0 if self._jobs.synced.is_set() else LOW_PRIORITY)
            manager = self._job_views.of(new).controller
            if manager != self._managed_by:
                if manager != BUILT_IN_CONTROLLER:
                    self.metrics.count("jobs_by_external_controller_total", manager)
                self._job_views.forget(new.key)
        elif self._job_views.of(new).status.finished:
            self.expectations.forget(new.key)
            self._enqueue_orphans(new)
            self._job_views.forget(new.key)
        elif new.metadata.generation != old.metadata.generation:
            self._main.queue.add(new.key)
        else:
            self._main.queue.add_after(new.key, _BATCH_PERIOD)

    def _enqueue_orphans(self, job: Object) -> None:
        wanted = self._job_views.of(job).spec.selector
        selector = str(selector_from_object(wanted))
        if selector:
            job_uid = ((wanted or {}).get("matchLabels") or {}).get(CONTROLLER_UID, "")
            self._orphan_controller.queue.add(OrphanKey(job.namespace, selector=selector, job_uid=job_uid))

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        self._count_held(old, new)
        pod = new or old
        assert pod is not None
        if new is None or new.deleting:
            self._pod_deleted(pod)
            if new is None:
                self._pod_views.forget(pod.key)
            return
        owner, before = new.metadata.controller, old.metadata.controller if old is not None else None
        if before is not None and before != owner:
            self._enqueue_owner(before, new)
        if owner is not None:
            self._enqueue_owner(owner, new)
            return
        if TRACKING_FINALIZER in new.metadata.finalizers:
            self._orphan_controller.queue.add(OrphanKey(new.namespace, new.name))
        if old is None or before != owner or old.metadata.labels != new.metadata.labels:
            for key in self._possible_owners(new):
                self._main.queue.add_after(key, _BATCH_PERIOD)

    def _pod_deleted(self, pod: Object) -> None:
        """A deleted or terminating pod concerns its Job, or is an orphan if there is no unfinished Job."""
        owner = pod.metadata.controller
        job = self._job_of(pod.namespace, owner) if owner is not None else None
        if job is not None and not self._job_views.of(job).status.finished:
            self._enqueue(job, pod)
        elif TRACKING_FINALIZER in pod.metadata.finalizers:
            self._orphan_controller.queue.add(OrphanKey(pod.namespace, pod.name))

    def _enqueue_owner(self, owner: OwnerReference, pod: Object) -> None:
        job = self._job_of(pod.namespace, owner)
        if job is not None:
            self._enqueue(job, pod)

    def _enqueue(self, job: Object, pod: Object) -> None:
        alone = self._pod_views.of(pod).status.phase in _ENDED and self._job_views.of(job).spec.parallelism == 1
        self._main.queue.add_after(job.key, _FINISH_BATCH_PERIOD if alone else _BATCH_PERIOD)

    def _job_of(self, namespace: str, owner: OwnerReference) -> Object | None:
        if owner.kind != JOBS.kind:
            return None
        job = self._jobs.get(Key(namespace, owner.name))
        return job if job is not None and job.uid == owner.uid else None

    def _possible_owners(self, pod: Object) -> Iterable[Key]:
        labels = pod.metadata.labels
        values = (pod.namespace, *(f"{pod.namespace}/{key}={value}" for key, value in labels.items()))
        for value in values:
            for job in self._jobs.by_index(_SELECTED_INDEX, value):
                if selector_from_object(self._job_views.of(job).spec.selector).matches(labels):
                    yield job.key

    def _count_held(self, old: Object | None, new: Object | None) -> None:
        was, is_ = self._is_held_after_end(old), self._is_held_after_end(new)
        if was != is_:
            self.metrics.count("terminated_pods_tracking_finalizer_total", "add" if is_ else "delete")

    def _is_held_after_end(self, pod: Object | None) -> bool:
        if pod is None or TRACKING_FINALIZER not in pod.metadata.finalizers:
            return False
        return self._pod_views.of(pod).status.phase in _ENDED

    # Syncs.

    async def reconcile(self, key: Key) -> Result | None:
        obj = self._jobs.get(key)
        if obj is None:
            self.expectations.forget(key)
            return None
        job = self._job_views.of(obj)
        if job.controller != self._managed_by or job.status.finished:
            self.expectations.forget(key)
            return None
        if job.spec.completion_mode not in _MODES:
            message = "Skipped Job sync because completion mode is unknown"
            self._recorder.event(reference(job), "Warning", "UnknownCompletionMode", message)
            return None
        expectations = self.expectations.of(key, obj.uid)
        if expectations.is_ahead_of(obj.resource_version):
            return None
        busy = len(self._main.queue) > _MANY
        return await self._measured(key, JobSync(self._shared, obj, job, expectations, busy=busy), job, expectations)

    async def _measured(self, key: Key, sync: JobSync, job: Job, expectations: JobExpectations) -> Result | None:
        started, result = self._clock.monotonic(), "error"
        try:
            found = await self._sync(key, sync, job, expectations)
            result = "success"
            return found
        except Conflict as error:
            log.debug("the cached Job is out of date", job=str(key), error=str(error))
            return Result(requeue_after=_FINISH_BATCH_PERIOD)
        except NotFound as error:
            log.debug("the Job or its namespace is gone", job=str(key), error=str(error))
            return Result(requeue_after=_FINISH_BATCH_PERIOD)
        finally:
            self.metrics.synced(job, result, sync.action, self._clock.monotonic() - started)

    async def _sync(self, key: Key, sync: JobSync, job: Job, expectations: JobExpectations) -> Result | None:
        if expectations.needs_list:
            await sync.list_pods()
        decision = await sync.claim_and_decide(self._candidates(job), self._pods.resource_version)
        if decision.requeue_after is not None:
            self._main.queue.add_after(key, max(decision.requeue_after, _FINISH_BATCH_PERIOD))
        await sync.carry_out(decision)
        if sync.postponed:
            self._main.queue.add_after(key, _BATCH_PERIOD)
        return None

    def _candidates(self, job: Job) -> tuple[Pod, ...]:
        """The pods that the Job controls, and those of its namespace that have no controller."""
        owned = self._pods.by_index(_OWNED_INDEX, job.metadata.uid)
        free = self._pods.by_index(_OWNED_INDEX, f"/{job.metadata.namespace}")
        return tuple(self._pod_views.of(pod) for pod in (*owned, *free))


def set_up(context: ControllerContext) -> None:
    BatchJobController(context)
