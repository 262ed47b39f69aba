"""The copies of Workloads on workers that run Kueue, by which these are asked to admit them: pure functions.

A clone has the name, labels, annotations and spec of the Workload that it was made from, and no status: the worker's
Kueue writes that. It carries the marks and the proof of a mirror, so that only what the relay has made is ever touched.
The mirror of the original on that worker is created when its clone is admitted, and refers to it by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.relay.multikueue.views import PENDING, READY, RETRY, WORKLOADS, MultiKueueCheckState, QueuedWorkload
from jobrelay.relay.worker_assignment import WorkerAssignment
from jobrelay.workloads.metadata import user_annotations
from jobrelay.workloads.names import EPOCH, KUEUE_ORIGIN, ORIGIN, ORIGIN_NAME, ORIGIN_UID, PROOF

_JOB_UID: Final = "kueue.x-k8s.io/job-uid"
_PRIORITY: Final = ("priority", "priorityClassRef")
_GATES: Final = "preemptionGates"
ADMISSION: Final = "jobrelay.dev/admission"
EVICTED_ON_MANAGER: Final = "EvictedOnManagerCluster"


@dataclass(frozen=True, slots=True)
class CreateClone:
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FindClone:
    """A clone that is not among those that are proven: another controller has made it, or it is gone."""


@dataclass(frozen=True, slots=True)
class PatchClone:
    patch: Mapping[str, Any]
    subresource: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteClone:
    why: str


CloneAction = CreateClone | FindClone | PatchClone | DeleteClone | None


def asked(workload: QueuedWorkload, own: MultiKueueCheckState, to: WorkerAssignment | None) -> tuple[str, ...]:
    """The workers that have to have a clone."""
    if workload.finished or not workload.reserved:
        return ()
    if own.state in (READY, RETRY):
        return (workload.cluster,) if workload.cluster else ()
    if own.state != PENDING:
        return ()
    return (to.cluster,) if to is not None and to.admission == workload.id else workload.nominated


def admission_of(clone: Object) -> str:
    """The id of the reservation that a clone was made for."""
    return clone.metadata.annotations.get(ADMISSION, "")


def identity(workload: Object, reservation: str, origin: str, proof: str) -> dict[str, Any]:
    """The labels and annotations that make an object a clone of ours."""
    marks = {ORIGIN_UID: workload.uid, ORIGIN_NAME: workload.name, EPOCH: "1", PROOF: proof, ADMISSION: reservation}
    return {"labels": {ORIGIN: origin, KUEUE_ORIGIN: origin}, "annotations": marks}


def clone_body(workload: Object, reservation: str, origin: str, proof: str) -> dict[str, Any]:
    """The body of a clone to create."""
    marks, metadata = identity(workload, reservation, origin, proof), workload.metadata
    labels = {key: value for key, value in metadata.labels.items() if key != _JOB_UID}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": workload.name,
            "namespace": workload.namespace,
            "labels": labels | marks["labels"],
            "annotations": user_annotations(metadata.annotations) | marks["annotations"],
        },
        "spec": workload.decode()["spec"],
    }


def reconcile_clone(
    workload: QueuedWorkload, obj: Object, state: str, wanted: bool, clone: Object | None, body: Mapping[str, Any]
) -> CloneAction:
    """The next step about a clone on one worker; `state` is that of the check, `body` what a new clone would be."""
    if not wanted:
        keep = clone is None or clone.deleting or workload.finished
        return None if keep else DeleteClone("its worker is not asked any more")
    if clone is None:
        return CreateClone(body) if state == PENDING else FindClone()
    if clone.deleting:
        return None
    if admission_of(clone) not in ("", workload.id):
        return DeleteClone("it was made for an earlier reservation")
    if workload.evicted:
        return _deactivated(workload, clone)
    return _in_line(obj, clone)


def _deactivated(workload: QueuedWorkload, clone: Object) -> CloneAction:
    """Have the worker's Kueue stop what runs, while the management cluster waits for that to release the quota."""
    status = clone.decode().get("status") or {}
    conditions = status.get("conditions") or []
    if any(one.get("type") == "DeactivationTarget" and one.get("status") == "True" for one in conditions):
        return None
    evicted = workload.conditions["Evicted"]
    told = {
        "type": "DeactivationTarget",
        "status": "True",
        "reason": EVICTED_ON_MANAGER,
        "message": f"Evicted on manager: {evicted.message}",
        "lastTransitionTime": evicted.last_transition_time,
    }
    others = [one for one in conditions if one.get("type") != "DeactivationTarget"]
    return PatchClone({"status": {"conditions": [*others, told]}}, "status")


def _in_line(obj: Object, clone: Object) -> CloneAction:
    """A changed priority is forwarded; with any other change the clone is recreated."""
    want, have = (each.decode().get("spec") or {} for each in (obj, clone))
    differing = {name for name in {*want, *have} - {_GATES, "active"} if want.get(name) != have.get(name)}
    if not differing:
        return None
    if differing <= set(_PRIORITY):
        return PatchClone({"spec": {name: want.get(name) for name in differing}})
    return DeleteClone("the spec of its Workload has changed")
