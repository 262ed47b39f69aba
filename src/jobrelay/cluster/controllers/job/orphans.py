"""Pods that nobody will count: their tracking finalizer would hold them forever, so it is taken off.

That are pods without a controller, and pods whose Job is gone or over. Pods of a Job that someone else manages are that
controller's to release, and pods of other kinds of owners are none of our business.
"""

from __future__ import annotations

from typing import NamedTuple

from jobrelay.apimachinery.selectors import parse_label_selector
from jobrelay.cluster.controllers.job.podcontrol import REMOVE_FINALIZER
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, Job
from jobrelay.kinds.batch.job.names import CONTROLLER_UID
from jobrelay.kube import Cache, Client, NotFound, Object
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import PODS

TRACKED_INDEX = "job-controller-tracked"


class OrphanKey(NamedTuple):
    """One pod by name, or with a selector all that it matches; `job_uid` is the Job whose label the selector asks for."""

    namespace: str
    name: str = ""
    selector: str = ""
    job_uid: str = ""


def tracked(pod: Object) -> tuple[str, ...]:
    """Index of pods that have the finalizer, by namespace and by the Job that their label names."""
    if TRACKING_FINALIZER not in pod.metadata.finalizers:
        return ()
    job_uid = pod.metadata.labels.get(CONTROLLER_UID)
    return (pod.namespace, f"{pod.namespace}/{job_uid}") if job_uid else (pod.namespace,)


class Orphans:
    def __init__(self, client: Client, jobs: Cache, pods: Cache) -> None:
        self._client, self._jobs, self._pods = client, jobs, pods

    async def reconcile(self, key: OrphanKey) -> None:
        for pod in self._found(key):
            if self._is_orphan(pod):
                await self._release(pod)

    def _found(self, key: OrphanKey) -> list[Object]:
        if key.name:
            pod = self._pods.get(Key(key.namespace, key.name))
            return [pod] if pod is not None else []
        selector = parse_label_selector(key.selector)
        place = f"{key.namespace}/{key.job_uid}" if key.job_uid else key.namespace
        pods = self._pods.by_index(TRACKED_INDEX, place)
        return [pod for pod in pods if selector.matches(pod.metadata.labels)]

    def _is_orphan(self, pod: Object) -> bool:
        if TRACKING_FINALIZER not in pod.metadata.finalizers:
            return False
        owner = pod.metadata.controller
        if owner is None:
            return True
        if (owner.kind, owner.api_version) != ("Job", "batch/v1"):
            return False
        found = self._jobs.get(Key(pod.namespace, owner.name))
        if found is None or found.uid != owner.uid:
            return True
        job = found.decode(Job)
        return job.external_controller is None and job.status.finished

    async def _release(self, pod: Object) -> None:
        try:
            await self._client.patch(PODS, pod.name, REMOVE_FINALIZER, pod.namespace)
        except NotFound:
            return
