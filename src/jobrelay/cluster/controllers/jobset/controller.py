"""The JobSet controller: which events queue which JobSets, and how a plan is carried out.

What it writes it puts into its caches at once. So it never creates a Job twice because a watch is late, and an older
state of an object that comes by the watch is dropped there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jobrelay.cluster.controllers.jobset.decide import JobSetPlan, decide
from jobrelay.cluster.controllers.jobset.failure import UnsupportedAction
from jobrelay.cluster.controllers.jobset.jobs import InvalidChild
from jobrelay.cluster.controllers.jobset.names import JOBSETS
from jobrelay.cluster.controllers.jobset.served import ServedCache
from jobrelay.cluster.controllers.jobset.views import JobSet
from jobrelay.control import Controller, ControllerContext, Group, Result
from jobrelay.kube import (
    EVENTS_V1,
    AlreadyExists,
    Cache,
    Conflict,
    Key,
    KubeError,
    NotFound,
    Object,
    ObjectReference,
    ProtocolError,
)
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, JOBS, PERSISTENTVOLUMECLAIMS, SERVICES, Resource
from jobrelay.logs import get_logger

__all__ = ["JobSetController", "set_up"]

log = get_logger(__name__)
Obj = dict[str, Any]

NAME: Final = "jobset"
_OWNED: Final = "jobset-owned"
_HINT: Final = "`jobrelay cluster crds add jobset` installs it"
_ACTION: Final = "Reconciling"


def set_up(context: ControllerContext) -> None:
    JobSetController(context)


class JobSetController:
    """Reconciles all JobSets that name no other controller."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock, self._client = context.clock, context.client_of(NAME)
        self._recorder = context.recorder(NAME, NAME, client=self._client, api=EVENTS_V1)
        self._jobsets = Cache(self._client, JOBSETS, clock=self._clock, terminal=(NotFound,))
        self._children = {each: context.cache(each) for each in (JOBS, SERVICES, PERSISTENTVOLUMECLAIMS)}
        self._children[JOBS].add_index(_OWNED, _owner_uids)
        self.controller: Controller[Key] = Controller(NAME, self.reconcile, clock=self._clock)
        self.controller.watch(self._jobsets)
        for resource in (JOBS, SERVICES):
            self.controller.watch(self._children[resource], _owner_keys)
        definitions = Cache(
            self._client, CUSTOMRESOURCEDEFINITIONS, clock=self._clock, field_selector=f"metadata.name={JOBSETS}"
        )
        context.manager.add(definitions, Group.CACHES)
        context.manager.add(ServedCache(self._jobsets, definitions, self._clock, _HINT))
        context.manager.add(self.controller)

    async def reconcile(self, key: Key) -> Result | None:
        cached = self._jobsets.get(key)
        if cached is None:
            return None
        owned = [job.decode() for job in self._children[JOBS].by_index(_OWNED, cached.uid)]
        try:
            plan = decide(cached.decode(JobSet), owned, self._clock.now())
        except (ProtocolError, InvalidChild, UnsupportedAction) as error:
            reason = "InvalidJobSet" if isinstance(error, ProtocolError) else type(error).__name__
            self._event(cached, "Warning", reason, str(error))
            return None
        try:
            await self._carry_out(cached, plan)
        except NotFound as error:
            log.debug("the JobSet, one of its Jobs or its namespace is gone", jobset=str(key), error=str(error))
            return None
        return Result(requeue_after=plan.requeue_after) if plan.requeue_after is not None else None

    async def _carry_out(self, jobset: Object, plan: JobSetPlan) -> None:
        for job in plan.delete_jobs:
            await self._delete_job(job)
        if plan.delete_self:
            await self._delete_jobset(jobset)
            return
        if plan.service is not None:
            await self._ensure(jobset, SERVICES, plan.service, "HeadlessServiceCreationFailed")
        for claim in plan.claims:
            await self._ensure(jobset, PERSISTENTVOLUMECLAIMS, claim, "PVCCreationFailed")
        await self._create_jobs(jobset, plan.create_jobs)
        for job in plan.update_jobs:
            await self._update_job(job)
        if plan.status is not None:
            await self._write_status(jobset, plan)

    def _event(self, jobset: Object, kind: str, reason: str, message: str) -> None:
        self._recorder.event(ObjectReference.of(jobset, JOBSETS), kind, reason, message, action=_ACTION)

    async def _delete_job(self, job: Obj) -> None:
        metadata = job["metadata"]
        try:
            left = await self._client.delete(
                JOBS, metadata["name"], metadata["namespace"], propagation="Foreground", uid=metadata["uid"]
            )
        except (NotFound, Conflict):
            return
        if left is not None:
            self._children[JOBS].observe(left)

    async def _delete_jobset(self, jobset: Object) -> None:
        try:
            await self._client.delete(JOBSETS, jobset.name, jobset.namespace, propagation="Foreground", uid=jobset.uid)
        except (NotFound, Conflict):
            return

    async def _ensure(self, jobset: Object, resource: Resource, body: Obj, failure: str) -> None:
        """Creates an object unless one of its name exists, no matter who created that."""
        if self._children[resource].get(Key(jobset.namespace, body["metadata"]["name"])) is not None:
            return
        try:
            self._children[resource].observe(await self._client.create(resource, body))
        except AlreadyExists:
            return
        except KubeError as error:
            self._event(jobset, "Warning", failure, str(error))
            raise

    async def _create_jobs(self, jobset: Object, jobs: Iterable[Obj]) -> None:
        """Creates all Jobs that can be created, then raises for the others."""
        failures: list[tuple[str, KubeError]] = []
        for job in jobs:
            try:
                self._children[JOBS].observe(await self._create_job(jobset, job))
            except KubeError as error:
                failures.append((job["metadata"]["name"], error))
        if failures:
            text = "\n".join(f'job "{name}" creation failed with error: {error}' for name, error in failures)
            self._event(jobset, "Warning", "JobCreationFailed", text)
            raise failures[0][1]

    async def _create_job(self, jobset: Object, job: Obj) -> Object:
        """Creates a Job, or finds the one whose creation was not answered; raises KubeError."""
        try:
            return await self._client.create(JOBS, job)
        except AlreadyExists:
            found = await self._client.get(JOBS, job["metadata"]["name"], jobset.namespace)
            if jobset.uid not in _owner_uids(found):
                raise
            return found

    async def _update_job(self, job: Obj) -> None:
        """Suspends or resumes a Job. One that has started must lose its start time before its template may change."""
        status = job.get("status") or {}
        if not job["spec"]["suspend"] and status.get("startTime"):
            cleared = {key: value for key, value in status.items() if key != "startTime"}
            written = await self._client.replace_status(JOBS, {**job, "status": cleared})
            self._children[JOBS].observe(written)
            version = {"resourceVersion": written.resource_version}
            job = {**job, "metadata": {**job["metadata"], **version}}
        self._children[JOBS].observe(await self._client.update(JOBS, job))

    async def _write_status(self, jobset: Object, plan: JobSetPlan) -> None:
        body = {**jobset.decode(), "status": plan.status}
        self._jobsets.observe(await self._client.replace_status(JOBSETS, body))
        for event in plan.events:
            self._event(jobset, event.type, event.reason, event.note)


def _owner_uids(child: Object) -> Iterable[str]:
    owner = child.metadata.controller
    return (owner.uid,) if owner is not None and owner.kind == JOBSETS.kind else ()


def _owner_keys(old: Object | None, new: Object | None) -> Iterable[Key]:
    child = new or old
    owner = child.metadata.controller if child is not None else None
    if child is None or owner is None or owner.kind != JOBSETS.kind:
        return ()
    return (Key(child.namespace, owner.name),)
