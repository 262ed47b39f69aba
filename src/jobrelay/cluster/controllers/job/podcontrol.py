"""Requests about a Job's pods, with their events."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.cluster.controllers.job.expectations import JobExpectations
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
class RequestResults:
    """The results of several requests."""

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

    def __init__(self, client: Client, recorder: EventRecorder, job: Job, expectations: JobExpectations) -> None:
        self._client, self._recorder = client, recorder
        self._job, self._expectations = job, expectations
        self._namespace = job.metadata.namespace

    def event(self, type: str, reason: str, message: str) -> None:
        version = self._job.metadata.resource_version
        self._recorder.event(reference(self._job), type, reason, message, version=version)

    async def create(self, bodies: Sequence[dict[str, Any]]) -> RequestResults:
        """Creates pods in batches of 1, 2, 4 and so on, so that an error that all pods have is met by few of them."""
        results, start, size = RequestResults(), 0, 1
        while start < len(bodies) and results.error is None:
            await _together([self._create(body, results) for body in bodies[start : start + size]])
            start, size = start + size, size * 2
        return results

    async def _create(self, body: dict[str, Any], results: RequestResults) -> None:
        try:
            pod = await self._client.create(PODS, body, self._namespace)
        except KubeError as error:
            if isinstance(error, StatusError) and error.has_cause(_TERMINATING):
                results.created += 1
                return
            if _may_have_happened(error):
                self._expectations.create_unanswered()
            self.event("Warning", "FailedCreate", f"Error creating: {error}")
            results.fail(error)
        else:
            self._expectations.pod_written(pod.resource_version)
            results.created += 1
            self.event("Normal", "SuccessfulCreate", f"Created pod: {pod.name}")

    async def delete(self, pods: Sequence[Pod], *, keep_finalizers: bool) -> RequestResults:
        results = RequestResults()
        if not keep_finalizers:
            self._expectations.expect_deletions(pod.uid for pod in pods)
        await asyncio.gather(*(self._delete(pod, results, keep_finalizers) for pod in pods))
        self._expectations.deletions_failed(pod.uid for pod in pods if pod.uid not in results.done)
        return results

    async def _delete(self, pod: Pod, results: RequestResults, keep_finalizers: bool) -> None:
        try:
            with suppress(NotFound):
                if not keep_finalizers and TRACKING_FINALIZER in pod.metadata.finalizers:
                    await self._client.patch(PODS, pod.name, REMOVE_FINALIZER, self._namespace)
                await self._request_deletion(pod)
        except KubeError as error:
            results.fail(error)
        else:
            results.done.add(pod.uid)

    async def _request_deletion(self, pod: Pod) -> None:
        try:
            await self._client.delete(PODS, pod.name, self._namespace)
        except NotFound:
            raise
        except KubeError as error:
            self.event("Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self.event("Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")

    async def remove_finalizers(self, pods: Sequence[Pod]) -> RequestResults:
        """Removes the tracking finalizer; a pod that no longer exists counts as done."""
        results = RequestResults()
        self._expectations.expect_removals(pod.uid for pod in pods)
        await _together([self._remove_finalizer(pod, results) for pod in pods])
        return results

    async def _remove_finalizer(self, pod: Pod, results: RequestResults) -> None:
        try:
            with suppress(NotFound):
                await self._client.patch(PODS, pod.name, REMOVE_FINALIZER, self._namespace)
        except KubeError as error:
            self._expectations.removal_failed(pod.uid)
            results.fail(error)
        else:
            results.done.add(pod.uid)

    async def patch(self, pod: Pod, change: dict[str, Any]) -> None:
        written = await self._client.patch(PODS, pod.name, strategic_patch(change), self._namespace)
        self._expectations.pod_written(written.resource_version)


async def _together(requests: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Sends requests concurrently; a single one needs no task of its own."""
    if len(requests) == 1:
        await requests[0]
    else:
        await asyncio.gather(*requests)


def _may_have_happened(error: KubeError) -> bool:
    if isinstance(error, StatusError):
        return error.code >= 500
    return isinstance(error, TransportError) and not isinstance(error, ConnectError)
