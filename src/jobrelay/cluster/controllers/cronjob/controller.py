"""The CronJob controller: syncs a CronJob when it or a Job of it changes, or when it is due.

A CronJob with a changed schedule is not synced before it is next due, so that no Jobs are created for times at which
the old schedule applied. Caches lag behind the controller's own writes. Until they show its last write, a CronJob is
not synced; otherwise the controller would take the Job that it has just created for an unexpected one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobrelay.apimachinery.cron import ScheduleError, parse_schedule
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.controllers.cronjob.decide import CronJobPlan, decide
from jobrelay.cluster.controllers.cronjob.schedule import until_next
from jobrelay.control import Controller, ControllerContext, Result
from jobrelay.kube import Key, Object, ObjectReference
from jobrelay.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, StatusError
from jobrelay.kube.object_index import is_newer
from jobrelay.kube.resource import CRONJOBS, JOBS

Obj = dict[str, Any]


def set_up(context: ControllerContext) -> None:
    context.manager.add(CronJobController(context).controller)


class CronJobController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._cronjobs, self._jobs = context.cache(CRONJOBS), context.cache(JOBS)
        self._recorder = context.recorder("cronjob-controller")
        self._jobs.add_index("cronjob", _owner_uids)
        self.controller: Controller[Key] = Controller("cronjob-controller", self.reconcile, clock=context.clock)
        self._versions: dict[Key, tuple[str, str]] = {}  # of the last status and the last Job that were written
        self._cronjobs.subscribe(self._changed)
        self.controller.watch(self._jobs, _owner_keys)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _schedule(old) != _schedule(new):
            left = _until_next(new, self._context)
            if left is not None:
                self.controller.queue.add_after(new.key, left)
        elif (either := new or old) is not None:
            self.controller.queue.add(either.key)

    def _is_stale(self, key: Key, cronjob: Object) -> bool:
        """Whether the caches do not show the last writes yet."""
        status, job = self._versions.get(key, ("", ""))
        seen = self._jobs.resource_version
        return (bool(status) and is_newer(status, cronjob.resource_version)) or (bool(job) and is_newer(job, seen))

    async def reconcile(self, key: Key) -> Result | None:
        cached = self._cronjobs.get(key)
        if cached is None:
            self._versions.pop(key, None)
            return None
        if self._is_stale(key, cached):
            return None
        cronjob = cached.decode()
        jobs = [job.decode() for job in self._jobs.by_index("cronjob", cronjob["metadata"]["uid"])]
        plan = decide(cronjob, jobs, self._context.clock.now())
        await self._carry_out(key, cached, plan)
        return Result(requeue_after=plan.requeue_after) if plan.requeue_after is not None else None

    async def _carry_out(self, key: Key, cronjob: Object, plan: CronJobPlan) -> None:
        for kind, reason, message in plan.events:
            self._event(cronjob, kind, reason, message)
        for job in plan.delete:
            await self._delete(key, cronjob, job)
        status = plan.status
        if plan.create is not None and plan.due is not None:
            made = await self._create(key, cronjob, plan.create)
            if made is not None:
                status = _with_active(status if status is not None else cronjob.decode().get("status") or {}, made)
                status["lastScheduleTime"] = format_time(plan.due)
        if status is not None:
            await self._write_status(key, cronjob, status)

    def _event(self, cronjob: Object, kind: str, reason: str, message: str) -> None:
        version = cronjob.metadata.resource_version
        self._recorder.event(ObjectReference.of(cronjob), kind, reason, message, version=version)

    async def _create(self, key: Key, cronjob: Object, job: Obj) -> Object | None:
        name = job["metadata"]["name"]
        try:
            made = await self._context.client.create(JOBS, job, key.namespace)
        except AlreadyExists:
            made = await self._context.client.get(JOBS, name, key.namespace)
            return made if cronjob.uid in _owner_uids(made) else None
        except KubeError as error:
            if not (isinstance(error, StatusError) and error.has_cause("NamespaceTerminating")):
                self._event(cronjob, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        self._versions[key] = (self._versions.get(key, ("", ""))[0], made.resource_version)
        self._event(cronjob, "Normal", "SuccessfulCreate", f"Created job {name}")
        return made

    async def _delete(self, key: Key, cronjob: Object, job: Obj) -> None:
        name = job["metadata"]["name"]
        try:
            await self._context.client.delete(
                JOBS, name, key.namespace, propagation="Background", uid=job["metadata"]["uid"]
            )
        except (NotFound, Conflict):
            return
        self._event(cronjob, "Normal", "SuccessfulDelete", f"Deleted job {name}")

    async def _write_status(self, key: Key, cronjob: Object, status: Obj) -> None:
        body = cronjob.decode()
        body["status"] = status
        written = await self._context.client.replace_status(CRONJOBS, body)
        self._versions[key] = (written.resource_version, self._versions.get(key, ("", ""))[1])


def _schedule(cronjob: Object) -> tuple[str, str]:
    spec = cronjob.decode()["spec"]
    return spec["schedule"], spec.get("timeZone") or ""


def _until_next(cronjob: Object, context: ControllerContext) -> float | None:
    try:
        schedule = parse_schedule(*_schedule(cronjob))
    except ScheduleError:
        return None
    return until_next(cronjob.decode(), context.clock.now(), schedule)


def _with_active(status: Obj, job: Object) -> Obj:
    metadata = job.metadata
    reference = {
        "kind": "Job", "apiVersion": "batch/v1", "namespace": metadata.namespace, "name": metadata.name,
        "uid": metadata.uid, "resourceVersion": metadata.resource_version,
    }  # fmt: skip
    return {**status, "active": [*(status.get("active") or []), reference]}


def _owner_uids(job: Object) -> Iterable[str]:
    return [o.uid for o in job.metadata.owner_references if o.controller and o.kind == "CronJob"]


def _owner_keys(old: Object | None, new: Object | None) -> Iterable[Key]:
    job = new or old
    if job is None:
        return []
    owners = [o for o in job.metadata.owner_references if o.controller and o.kind == "CronJob"]
    return [Key(job.metadata.namespace, owner.name) for owner in owners]
