"""The mirror of a Job: what it is made of, and what follows when the original changes.

The mirror is the original without everything that belongs to the management cluster: `managedBy`, or nobody would run it;
the selector and labels that the API server generated, or the worker would refuse them; `ttlSecondsAfterFinished`, or the
worker would delete it before its end is seen. With a manual selector nothing is generated, and all of it is the user's.

A Job that is created without labels shows those of its pod template, generated ones included. Only a Job that shows its
own uid there has got them that way: a user's own `job-name` label on a Job is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from jobrelay.kinds.batch.job.names import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from jobrelay.kube import Object
from jobrelay.workloads.adapter import Marks
from jobrelay.workloads.job.views import OpenJob
from jobrelay.workloads.names import DOMAIN, EPOCH, KUEUE_ORIGIN, ORIGIN, ORIGIN_NAME, ORIGIN_UID
from jobrelay.workloads.patches import status_patch

__all__ = ["forward", "mirror", "mirror_annotations", "mirror_labels", "mirror_spec"]

_GENERATED: Final = (CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_MIRRORED: Final = frozenset({"managedBy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "selector"})
_DEFAULTED: Final = ("suspend", "parallelism", "backoffLimit", "podReplacementPolicy")
"""What a user may change and every server fills in: if one is absent, its server does not know it."""
_OPTIONAL: Final = ("activeDeadlineSeconds", "maxFailedIndexes")
_DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")


def mirror(obj: Object, marks: Marks) -> dict[str, Any]:
    """The body of the mirror to create."""
    job = obj.decode()
    labels, annotations = _marks(obj, marks)
    metadata = {
        "name": marks.name,
        "namespace": obj.namespace,
        "labels": mirror_labels(job) | labels,
        "annotations": mirror_annotations(job) | annotations,
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": mirror_spec(job, marks.deadline)}


def mirror_labels(job: Mapping[str, Any]) -> dict[str, str]:
    """The labels that are the user's."""
    metadata = job["metadata"]
    labels: dict[str, str] = dict(metadata.get("labels") or {})
    uid = metadata.get("uid")
    if uid is not None and uid in (labels.get(CONTROLLER_UID), labels.get(LEGACY_CONTROLLER_UID)):
        return _not_generated(labels)
    return labels


def mirror_annotations(job: Mapping[str, Any]) -> dict[str, str]:
    """The annotations that are the user's and mean something on a worker."""
    annotations = job["metadata"].get("annotations") or {}
    return {key: text for key, text in annotations.items() if key != _LAST_APPLIED and not key.startswith(DOMAIN)}


def mirror_spec(job: Mapping[str, Any], deadline: int | None = None) -> dict[str, Any]:
    """The spec of a mirror; a deadline takes the place of the user's."""
    given = job["spec"]
    spec = {name: value for name, value in given.items() if name not in _NOT_MIRRORED}
    deadline = given.get("activeDeadlineSeconds") if deadline is None else deadline
    if deadline is not None:
        spec["activeDeadlineSeconds"] = deadline
    if given.get("manualSelector"):
        spec["selector"] = given.get("selector")
        return spec
    template = given["template"]
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = _not_generated(metadata.get("labels") or {})
    spec["template"] = template | {"metadata": metadata}
    return spec


def _not_generated(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _GENERATED}


def _marks(obj: Object, marks: Marks) -> tuple[dict[str, str], dict[str, str]]:
    labels = {ORIGIN: marks.origin, KUEUE_ORIGIN: marks.origin}
    return labels, {ORIGIN_UID: obj.uid, ORIGIN_NAME: obj.name, EPOCH: str(marks.epoch)}


def forward(obj: Object, mirror: Object, marks: Marks) -> dict[str, Any] | None:
    """A merge patch with what a user may change on a Job, as far as a worker allows it; it also mends the marks."""
    patch: dict[str, Any] = {}
    if metadata := _changed_marks(mirror, _marks(obj, marks)):
        patch["metadata"] = metadata
    original, copy = obj.decode(OpenJob).spec, mirror.decode(OpenJob)
    if marks.deadline is not None:
        original = replace(original, active_deadline_seconds=marks.deadline)
    spec = _changed_spec(msgspec.to_builtins(original), msgspec.to_builtins(copy.spec))
    if copy.spec.suspend and copy.status.start_time is None and (template := _changed_template(obj, mirror)):
        spec["template"] = template
    if spec:
        patch["spec"] = spec
    return patch or None


def _changed_marks(mirror: Object, wanted: tuple[dict[str, str], dict[str, str]]) -> dict[str, Any]:
    found = (mirror.metadata.labels, mirror.metadata.annotations)
    changes = {
        name: {key: value for key, value in want.items() if have.get(key) != value}
        for name, want, have in zip(("labels", "annotations"), wanted, found, strict=True)
    }
    return {name: change for name, change in changes.items() if change}


def _changed_spec(want: dict[str, Any], have: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {name: want[name] for name in _DEFAULTED if name in want and want[name] != have.get(name)}
    patch |= {name: want.get(name) for name in _OPTIONAL if want.get(name) != have.get(name)}
    completions = want.get("completions")
    if want.get("completionMode") == "Indexed" and completions != have.get("completions"):
        # Both change together or not at all; where they differ in the end, parallelism follows in a second step.
        patch |= {"completions": completions, "parallelism": completions}
    return patch


def _changed_template(obj: Object, mirror: Object) -> dict[str, Any]:
    """The scheduling directives, which are open to change until a suspended Job starts for the first time."""
    want, have = mirror_spec(obj.decode()), mirror.decode()["spec"]
    manual = bool(want.get("manualSelector"))
    return status_patch(_directives(have["template"], manual), _directives(want["template"], manual))


def _directives(template: Mapping[str, Any], manual: bool) -> dict[str, Any]:
    """The parts of a pod template that may change; a worker's own generated labels are not compared."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    labels = metadata.get("labels") or {}
    pod: dict[str, Any] = {name: spec[name] for name in _DIRECTIVES if spec.get(name)}
    if node := (spec.get("affinity") or {}).get("nodeAffinity"):
        pod["affinity"] = {"nodeAffinity": node}
    shown = {"labels": labels if manual else _not_generated(labels), "annotations": metadata.get("annotations") or {}}
    return {"metadata": shown, "spec": pod | {"affinity": pod.get("affinity", {})}}
