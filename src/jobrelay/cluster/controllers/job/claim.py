"""Claims the pods of a Job: its own, those it adopts, those it releases.

A Job adopts pods without a controller that its selector matches, and releases its own pods that the selector no longer
matches. A Job that is being deleted does neither, and a pod that is being deleted is not adopted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.cluster.controllers.job.template import owner_reference
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, Job, Pod


@dataclass(frozen=True, slots=True)
class PodClaims:
    owned: tuple[Pod, ...]
    adopted: tuple[Pod, ...]
    released: tuple[Pod, ...]


def claim(job: Job, pods: Iterable[Pod]) -> PodClaims:
    """Sorts the pods of the Job's namespace that it controls or that have no controller."""
    selector = selector_from_object(job.spec.selector)
    owned: list[Pod] = []
    adopted: list[Pod] = []
    released: list[Pod] = []
    for pod in pods:
        controller = next((owner for owner in pod.metadata.owner_references if owner.controller), None)
        matches = selector.matches(pod.metadata.labels)
        if controller is not None and controller.uid == job.metadata.uid:
            if matches:
                owned.append(pod)
            elif not job.deleting:
                released.append(pod)
        elif controller is None and matches and not job.deleting and pod.metadata.deletion_timestamp is None:
            adopted.append(pod)
    return PodClaims(tuple(owned), tuple(adopted), tuple(released))


def adoption(job: Job, pod: Pod) -> dict[str, Any]:
    metadata = {"uid": pod.uid, "ownerReferences": [owner_reference(job)], "finalizers": [TRACKING_FINALIZER]}
    return {"metadata": metadata}


def release(job: Job, pod: Pod) -> dict[str, Any]:
    return {
        "metadata": {
            "uid": pod.uid,
            "ownerReferences": [{"$patch": "delete", "uid": job.metadata.uid}],
            "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER],
        }
    }
