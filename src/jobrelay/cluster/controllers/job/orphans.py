"""Orphan pods: no Job will count them, so their tracking finalizer is removed, which would otherwise keep them forever.

These are pods without a controller, and pods whose Job is deleted or finished. Pods of a Job that another controller
manages are left to that controller, and pods with other kinds of owners are ignored.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from jobrelay.apimachinery.selectors import parse_label_selector
from jobrelay.cluster.controllers.job.podcontrol import REMOVE_FINALIZER
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, Job
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER, CONTROLLER_UID
from jobrelay.kube import Cache, Client, NotFound, Object
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import PODS

TRACKED_INDEX = "job-controller-tracked"


class OrphanKey(NamedTuple):
    """One pod by name, or all that a selector matches; `job_uid` is the Job whose label the selector requires."""

    namespace: str
    name: str = ""
    selector: str = ""
    job_uid: str = ""


def tracked(pod: Object) -> tuple[str, ...]:
    """Indexes pods that have the finalizer by namespace, and by the Job in their label."""
    if TRACKING_FINALIZER not in pod.metadata.finalizers:
        return ()
    job_uid = pod.metadata.labels.get(CONTROLLER_UID)
    return (pod.namespace, f"{pod.namespace}/{job_uid}") if job_uid else (pod.namespace,)


class OrphanPods:
    """Removes the tracking finalizer of orphan pods."""

    def __init__(self, client: Client, jobs: Cache, pods: Cache, managed_by: str = BUILT_IN_CONTROLLER) -> None:
        self._client, self._jobs, self._pods = client, jobs, pods
        self._managed_by = managed_by

    async def reconcile(self, key: OrphanKey) -> None:
        for pod in self._select(key):
            if self._is_orphan(pod):
                with suppress(NotFound):
                    await self._client.patch(PODS, pod.name, REMOVE_FINALIZER, pod.namespace)

    def _select(self, key: OrphanKey) -> list[Object]:
        if key.name:
            pod = self._pods.get(Key(key.namespace, key.name))
            return [pod] if pod is not None else []
        selector = parse_label_selector(key.selector)
        value = f"{key.namespace}/{key.job_uid}" if key.job_uid else key.namespace
        pods = self._pods.by_index(TRACKED_INDEX, value)
        return [pod for pod in pods if selector.matches(pod.metadata.labels)]

    def _is_orphan(self, pod: Object) -> bool:
        if TRACKING_FINALIZER not in pod.metadata.finalizers:
            return False
        owner = pod.metadata.controller
        if owner is None:
            return self._is_built_in
        if (owner.kind, owner.api_version) != ("Job", "batch/v1"):
            return False
        found = self._jobs.get(Key(pod.namespace, owner.name))
        if found is None or found.uid != owner.uid:
            return self._is_built_in
        job = found.decode(Job)
        return job.controller == self._managed_by and job.status.finished

    @property
    def _is_built_in(self) -> bool:
        """Pods without a Job are left to the cluster's own controller, whichever controller made them."""
        return self._managed_by == BUILT_IN_CONTROLLER
