"""Runs a reconcile function for the Jobs of one `.spec.managedBy` value.

A Job that is finished, or that names another controller, is never passed to it. With a `clean_up` function, every Job
gets a finalizer before it is first reconciled, so that whatever the controller has made elsewhere can be removed, even
if the Job is deleted while the controller does not run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from jobrelay.apimachinery.names import is_qualified_name
from jobrelay.control import Controller, Result
from jobrelay.kit.job import ManagedJob
from jobrelay.kit.rules import IllegalStatus
from jobrelay.kit.runtime import ControllerRuntime
from jobrelay.kit.views import ManagedByJob
from jobrelay.kube import EVENTS_V1, Cache, Client, EventRecorder, Key, Object, Resource, merge_patch
from jobrelay.kube.clock import Clock
from jobrelay.kube.leader_election import new_identity
from jobrelay.kube.resource import JOBS

__all__ = ["JobController", "ReconcileJob"]

ReconcileJob = Callable[[ManagedJob], Awaitable[Result | None]]
"""Makes what runs match a Job, and reports it; may ask to be called again with a `Result`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Functions:
    reconcile: ReconcileJob
    clean_up: ReconcileJob | None


class JobController(ControllerRuntime):
    """A controller for Jobs with `managedBy: <managed_by>`.

    - `reconcile` is called with a Job whenever it or something that is watched for it has changed.
    - `clean_up` is called with a finished or deleted Job; the Job can go once it returns None.
    - `namespace` limits the controller to one namespace.
    - `lease`: of several processes with the same Lease (namespace and name), one reconciles and the others stand by.
    - `listen`: host and port of a server with `/healthz`, `/readyz` and `/metrics`; port 0 is any free one.
    - `workers`: how many Jobs are reconciled at the same time.
    """

    def __init__(
        self,
        client: Client,
        managed_by: str,
        reconcile: ReconcileJob,
        *,
        clean_up: ReconcileJob | None = None,
        namespace: str | None = None,
        lease: Key | None = None,
        listen: tuple[str, int] | None = None,
        workers: int = 4,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(client, managed_by, namespace=namespace, lease=lease, listen=listen, clock=clock)
        if clean_up is not None and (problems := is_qualified_name(managed_by)):
            raise ValueError(f"{managed_by!r} cannot be the name of a finalizer: {problems[0]}")
        self._functions = _Functions(reconcile=reconcile, clean_up=clean_up)
        self.events: EventRecorder = self._context.recorder(managed_by, new_identity(), api=EVENTS_V1)
        self._controller: Controller[Key] = Controller(self.name, self._reconcile, workers=workers, clock=self._clock)
        self._controller.watch(self.jobs)
        self._context.add(self._controller)

    def cache(self, resource: Resource) -> Cache:
        """A cache of another resource, which runs with the controller; only before `run`."""
        return self._context.cache(resource)

    def watch(self, cache: Cache, job_of: Callable[[Object], Key | None]) -> None:
        """Reconcile the Job that an object of this cache belongs to, whenever it changes."""

        def keys(old: Object | None, new: Object | None) -> list[Key]:
            found = dict.fromkeys(job_of(obj) for obj in (old, new) if obj is not None)
            return [key for key in found if key is not None]

        self._controller.watch(cache, keys)

    def enqueue(self, key: Key) -> None:
        """Reconcile a Job soon, because of something that the API server does not know."""
        self._controller.queue.add(key)

    async def _reconcile(self, key: Key) -> Result | None:
        found = self.jobs.get(key)
        if found is None or found.decode(ManagedByJob).spec.managed_by != self.managed_by:
            return None
        job = ManagedJob(found, self.status, self.events, self._clock)
        if job.finished or (job.deleting and self._functions.clean_up is not None):
            return await self._clean_up(job)
        if self._functions.clean_up is not None:
            await self._set_finalizers(job, (*job.object.metadata.finalizers, self.managed_by))
        try:
            return await self._functions.reconcile(job)
        except IllegalStatus as error:
            job.event("IllegalStatus", str(error)[:1024], type="Warning")
            raise

    async def _clean_up(self, job: ManagedJob) -> Result | None:
        finalizers = job.object.metadata.finalizers
        if self._functions.clean_up is None or self.managed_by not in finalizers:
            return None
        result = await self._functions.clean_up(job)
        if result is None:
            await self._set_finalizers(job, tuple(each for each in finalizers if each != self.managed_by))
        return result

    async def _set_finalizers(self, job: ManagedJob, finalizers: tuple[str, ...]) -> None:
        wanted = tuple(dict.fromkeys(finalizers))
        if wanted == job.object.metadata.finalizers:
            return
        metadata = {"resourceVersion": job.object.resource_version, "finalizers": wanted}
        patch = merge_patch({"metadata": metadata})
        job.object = await self.client.patch(JOBS, job.name, patch, job.namespace)
        self.jobs.observe(job.object)
