"""The Job controller: what wakes it, and what it then looks at.

New Jobs, deleted Jobs and changed specs are looked at at once; changes of pods and of a status a second after the first of
them, so that a burst is one look. A Job with one pod at a time has nothing to gather: the end of its pod is looked at soon.
A Job that names another controller in `.spec.managedBy` is turned away inside the sync, because a key that was
queued for one Job may by then mean another of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.cluster.controllers.context import Context
from jobrelay.cluster.controllers.job.decoded import Decoded
from jobrelay.cluster.controllers.job.metrics import JobMetrics
from jobrelay.cluster.controllers.job.orphans import TRACKED_INDEX, OrphanKey, Orphans, tracked
from jobrelay.cluster.controllers.job.podcontrol import reference
from jobrelay.cluster.controllers.job.records import Record, Records
from jobrelay.cluster.controllers.job.sync import JobSync, Tools
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, Job, Pod
from jobrelay.control import LOW_PRIORITY, Controller, Result, WorkQueue
from jobrelay.kinds.batch.job.names import CONTROLLER_UID
from jobrelay.kube import Conflict, NotFound, Object, OwnerReference
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import JOBS, PODS

log = structlog.get_logger(__name__)

NAME = "job-controller"
_OWNED_INDEX = "job-controller-owned"
_SELECTED_INDEX = "job-controller-selected"
_FIRST_RETRY, _LAST_RETRY = 1.0, 60.0
_WORKERS = 16
_MODES = ("NonIndexed", "Indexed")
_ENDED = ("Succeeded", "Failed")
_GATHER, _SOON = 1.0, 0.2
_MANY = 2 * _WORKERS


def _owned(pod: Object) -> tuple[str, ...]:
    """Index of pods by the uid of their controller, or by namespace if they have none."""
    owner = pod.metadata.controller
    return (owner.uid if owner is not None else f"/{pod.namespace}",)


class JobController:
    """Looks after all Jobs that name no other controller."""

    def __init__(self, context: Context) -> None:
        clock, client = context.clock, context.client
        self._clock = clock
        self._jobs, self._pods = context.cache(JOBS), context.cache(PODS)
        self.metrics = JobMetrics()
        context.figures.append(self.metrics.lines)
        self.records = Records()
        self._recorder = context.recorder(NAME)
        self._tools = Tools(client, self._recorder, clock, self.metrics)
        self._orphans = Orphans(client, self._jobs, self._pods)
        queue: WorkQueue[Key] = WorkQueue(clock=clock, base_delay=_FIRST_RETRY, max_delay=_LAST_RETRY)
        orphan_queue: WorkQueue[OrphanKey] = WorkQueue(clock=clock, base_delay=_FIRST_RETRY, max_delay=_LAST_RETRY)
        self._main = Controller(NAME, self.reconcile, workers=_WORKERS, queue=queue, clock=clock)
        self._cleanup = Controller(f"{NAME} orphans", self._orphans.reconcile, queue=orphan_queue, clock=clock)
        self._index()
        for part in (self._main, self._cleanup):
            context.manager.add(part)

    def _index(self) -> None:
        self._views, self._decoded = Decoded(Pod), Decoded(Job)
        self._pods.add_index(_OWNED_INDEX, _owned)
        self._pods.add_index(TRACKED_INDEX, tracked)
        self._jobs.add_index(_SELECTED_INDEX, self._selected)
        self._jobs.subscribe(self._job_changed)
        self._pods.subscribe(self._pod_changed)

    def _selected(self, job: Object) -> tuple[str, ...]:
        """Index of Jobs by one label that their pods must have, so that a pod finds its Jobs without asking all of them."""
        labels = (self._decoded.of(job).spec.selector or {}).get("matchLabels") or {}
        wanted = next(iter(labels.items()), None)
        return (f"{job.namespace}/{wanted[0]}={wanted[1]}" if wanted else job.namespace,)

    # What wakes it.

    def _job_changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self.records.forget(old.key)
            self._main.queue.add(old.key)
            self._clean_up(old)
            self._decoded.forget(old.key)
        elif old is None:
            self._main.queue.add(new.key, priority=0 if self._jobs.synced.is_set() else LOW_PRIORITY)
            external = self._decoded.of(new).external_controller
            if external is not None:
                self.metrics.count("jobs_by_external_controller_total", external)
                self._decoded.forget(new.key)
        elif self._decoded.of(new).status.finished:
            self.records.forget(new.key)
            self._clean_up(new)
            self._decoded.forget(new.key)
        elif new.metadata.generation != old.metadata.generation:
            self._main.queue.add(new.key)
        else:
            self._main.queue.add_after(new.key, _GATHER)

    def _clean_up(self, job: Object) -> None:
        wanted = self._decoded.of(job).spec.selector
        selector = str(selector_from_object(wanted))
        if selector:
            job_uid = ((wanted or {}).get("matchLabels") or {}).get(CONTROLLER_UID, "")
            self._cleanup.queue.add(OrphanKey(job.namespace, selector=selector, job_uid=job_uid))

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        self._note_finished(old, new)
        pod = new or old
        assert pod is not None
        if new is None or new.deleting:
            self._pod_going(pod)
            if new is None:
                self._views.forget(pod.key)
            return
        owner, before = new.metadata.controller, old.metadata.controller if old is not None else None
        if before is not None and before != owner:
            self._wake_owner(before, new)
        if owner is not None:
            self._wake_owner(owner, new)
            return
        if TRACKING_FINALIZER in new.metadata.finalizers:
            self._cleanup.queue.add(OrphanKey(new.namespace, new.name))
        if old is None or before != owner or old.metadata.labels != new.metadata.labels:
            for key in self._possible_owners(new):
                self._main.queue.add_after(key, _GATHER)

    def _pod_going(self, pod: Object) -> None:
        """A pod that is deleted, or being deleted, is missed by its Job, or released if there is none to miss it."""
        owner = pod.metadata.controller
        job = self._job_of(pod.namespace, owner) if owner is not None else None
        if job is not None and not self._decoded.of(job).status.finished:
            self._wake(job, pod)
        elif TRACKING_FINALIZER in pod.metadata.finalizers:
            self._cleanup.queue.add(OrphanKey(pod.namespace, pod.name))

    def _wake_owner(self, owner: OwnerReference, pod: Object) -> None:
        job = self._job_of(pod.namespace, owner)
        if job is not None:
            self._wake(job, pod)

    def _wake(self, job: Object, pod: Object) -> None:
        alone = self._views.of(pod).status.phase in _ENDED and self._decoded.of(job).spec.parallelism == 1
        self._main.queue.add_after(job.key, _SOON if alone else _GATHER)

    def _job_of(self, namespace: str, owner: OwnerReference) -> Object | None:
        if owner.kind != JOBS.kind:
            return None
        job = self._jobs.get(Key(namespace, owner.name))
        return job if job is not None and job.uid == owner.uid else None

    def _possible_owners(self, pod: Object) -> Iterable[Key]:
        labels = pod.metadata.labels
        places = (pod.namespace, *(f"{pod.namespace}/{key}={value}" for key, value in labels.items()))
        for place in places:
            for job in self._jobs.by_index(_SELECTED_INDEX, place):
                if selector_from_object(self._decoded.of(job).spec.selector).matches(labels):
                    yield job.key

    def _note_finished(self, old: Object | None, new: Object | None) -> None:
        was, is_ = self._held_after_end(old), self._held_after_end(new)
        if was != is_:
            self.metrics.count("terminated_pods_tracking_finalizer_total", "add" if is_ else "delete")

    def _held_after_end(self, pod: Object | None) -> bool:
        if pod is None or TRACKING_FINALIZER not in pod.metadata.finalizers:
            return False
        return self._views.of(pod).status.phase in _ENDED

    # What it does.

    async def reconcile(self, key: Key) -> Result | None:
        obj = self._jobs.get(key)
        if obj is None:
            self.records.forget(key)
            return None
        job = self._decoded.of(obj)
        if job.external_controller is not None or job.status.finished:
            self.records.forget(key)
            return None
        if job.spec.completion_mode not in _MODES:
            message = "Skipped Job sync because completion mode is unknown"
            self._recorder.event(reference(job), "Warning", "UnknownCompletionMode", message)
            return None
        record = self.records.of(key, obj.uid)
        if record.behind(obj.resource_version):
            return None
        hurried = len(self._main.queue) > _MANY
        return await self._measured(key, JobSync(self._tools, obj, job, record, hurried=hurried), job, record)

    async def _measured(self, key: Key, sync: JobSync, job: Job, record: Record) -> Result | None:
        started, result = self._clock.monotonic(), "error"
        try:
            found = await self._sync(key, sync, job, record)
            result = "success"
            return found
        except Conflict as error:
            log.debug("the cached Job is out of date", job=str(key), error=str(error))
            return Result(requeue_after=_SOON)
        except NotFound as error:
            log.debug("the Job or its namespace is gone", job=str(key), error=str(error))
            return Result(requeue_after=_SOON)
        finally:
            self.metrics.synced(job, result, sync.action, self._clock.monotonic() - started)

    async def _sync(self, key: Key, sync: JobSync, job: Job, record: Record) -> Result | None:
        if record.unsure:
            await sync.learn_version()
        decision = await sync.claimed(self._candidates(job), self._pods.resource_version)
        if decision.look_again is not None:
            self._main.queue.add_after(key, max(decision.look_again, _SOON))
        await sync.carry_out(decision)
        if sync.postponed:
            self._main.queue.add_after(key, _GATHER)
        return None

    def _candidates(self, job: Job) -> tuple[Pod, ...]:
        """The pods that the Job controls, and those of its namespace that nobody does."""
        owned = self._pods.by_index(_OWNED_INDEX, job.metadata.uid)
        free = self._pods.by_index(_OWNED_INDEX, f"/{job.metadata.namespace}")
        return tuple(self._views.of(pod) for pod in (*owned, *free))


def set_up(context: Context) -> None:
    """Have the Job controller run with the cluster's other controllers."""
    JobController(context)
