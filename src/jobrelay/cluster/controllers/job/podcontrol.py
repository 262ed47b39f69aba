"""Requests about pods, with the events that tell of them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.cluster.controllers.job.records import Record
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, Job, Pod
from jobrelay.kube import (
    Client,
    ConnectError,
    EventRecorder,
    KubeError,
    NotFound,
    ObjectReference,
    StatusError,
    TransportError,
    strategic_patch,
)
from jobrelay.kube.resource import PODS

REMOVE_FINALIZER: Final = strategic_patch({"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER]}})
_TERMINATING: Final = "NamespaceTerminating"


@dataclass(slots=True)
class Work:
    """What became of a number of requests."""

    done: set[str] = field(default_factory=set)
    created: int = 0
    failed: int = 0
    error: KubeError | None = None

    def fail(self, error: KubeError) -> None:
        self.failed += 1
        self.error = self.error or error


def reference(job: Job) -> ObjectReference:
    return ObjectReference("batch/v1", "Job", job.metadata.name, job.metadata.namespace, job.metadata.uid)


class PodControl:
    """Creates, deletes and patches the pods of one Job."""

    def __init__(self, client: Client, recorder: EventRecorder, job: Job, record: Record) -> None:
        self._client, self._recorder = client, recorder
        self._job, self._record = job, record
        self._namespace = job.metadata.namespace

    def tell(self, type: str, reason: str, message: str) -> None:
        version = self._job.metadata.resource_version
        self._recorder.event(reference(self._job), type, reason, message, version=version)

    async def create(self, bodies: Sequence[dict[str, Any]]) -> Work:
        """Create pods in batches of 1, 2, 4 and so on, so that what fails for all fails for few."""
        work, start, size = Work(), 0, 1
        while start < len(bodies) and work.error is None:
            await _together([self._create(body, work) for body in bodies[start : start + size]])
            start, size = start + size, size * 2
        return work

    async def _create(self, body: dict[str, Any], work: Work) -> None:
        try:
            pod = await self._client.create(PODS, body, self._namespace)
        except KubeError as error:
            if isinstance(error, StatusError) and error.has_cause(_TERMINATING):
                work.created += 1
                return
            if _may_have_happened(error):
                self._record.unsure = True
            self.tell("Warning", "FailedCreate", f"Error creating: {error}")
            work.fail(error)
        else:
            self._record.saw_pod(pod.resource_version)
            work.created += 1
            self.tell("Normal", "SuccessfulCreate", f"Created pod: {pod.name}")

    async def delete(self, pods: Sequence[Pod], *, keep_finalizers: bool) -> Work:
        work = Work()
        if not keep_finalizers:
            self._record.deleting.update(pod.uid for pod in pods)
        await asyncio.gather(*(self._delete(pod, work, keep_finalizers) for pod in pods))
        self._record.deleting.difference_update(pod.uid for pod in pods if pod.uid not in work.done)
        return work

    async def _delete(self, pod: Pod, work: Work, keep_finalizers: bool) -> None:
        try:
            if not keep_finalizers and TRACKING_FINALIZER in pod.metadata.finalizers:
                await self._client.patch(PODS, pod.name, REMOVE_FINALIZER, self._namespace)
            await self._request_deletion(pod)
        except NotFound:
            work.done.add(pod.uid)
        except KubeError as error:
            work.fail(error)
        else:
            work.done.add(pod.uid)

    async def _request_deletion(self, pod: Pod) -> None:
        try:
            await self._client.delete(PODS, pod.name, self._namespace)
        except NotFound:
            raise
        except KubeError as error:
            self.tell("Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self.tell("Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")

    async def remove_finalizers(self, pods: Sequence[Pod]) -> Work:
        """Take the tracking finalizer off; a pod that is gone has lost it too."""
        work = Work()
        self._record.removing.update(pod.uid for pod in pods)
        await _together([self._remove_finalizer(pod, work) for pod in pods])
        return work

    async def _remove_finalizer(self, pod: Pod, work: Work) -> None:
        try:
            await self._client.patch(PODS, pod.name, REMOVE_FINALIZER, self._namespace)
        except NotFound:
            work.done.add(pod.uid)
        except KubeError as error:
            self._record.removing.discard(pod.uid)
            work.fail(error)
        else:
            work.done.add(pod.uid)

    async def patch(self, pod: Pod, change: dict[str, Any]) -> None:
        written = await self._client.patch(PODS, pod.name, strategic_patch(change), self._namespace)
        self._record.saw_pod(written.resource_version)


async def _together(requests: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Send requests at the same time; one alone needs no task of its own."""
    if len(requests) == 1:
        await requests[0]
    else:
        await asyncio.gather(*requests)


def _may_have_happened(error: KubeError) -> bool:
    if isinstance(error, StatusError):
        return error.code >= 500
    return isinstance(error, TransportError) and not isinstance(error, ConnectError)
