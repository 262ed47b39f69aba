"""The mirror of a Job: how it is built, and how changes of the original are forwarded.

The mirror is the original without everything that belongs to the management cluster: `managedBy`, or no controller
would run it; the selector and labels that the API server generated, or the worker would refuse them;
`ttlSecondsAfterFinished`, or the worker would delete it before the relay has seen its end. With a manual selector
nothing is generated, and all of it is the user's.

A Job that is created without labels gets those of its pod template, generated ones included. Only a Job with its own
uid among its labels got them that way: a user's own `job-name` label on a Job is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from jobrelay.kinds.batch.job.names import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from jobrelay.kube import Object
from jobrelay.workloads.adapter import MirrorParameters
from jobrelay.workloads.job.views import MutableJob
from jobrelay.workloads.metadata import metadata_patch, mirror_metadata
from jobrelay.workloads.patches import status_patch

_GENERATED: Final = (CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME)
_NOT_MIRRORED: Final = frozenset({"managedBy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "selector"})
_DEFAULTED: Final = ("suspend", "parallelism", "backoffLimit", "podReplacementPolicy")
"""Fields that a user may change and every server defaults: if one is absent, its server does not know it."""
_OPTIONAL: Final = ("activeDeadlineSeconds", "maxFailedIndexes")
_DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")


def mirror(original: Object, parameters: MirrorParameters) -> dict[str, Any]:
    """The body of the mirror to create."""
    job = original.decode()
    metadata = mirror_metadata(original, parameters, user_labels(original))
    spec = mirror_spec(job, parameters.deadline)
    if parameters.suspend:
        spec["suspend"] = True
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def user_labels(original: Object) -> dict[str, str]:
    """The labels that are the user's."""
    labels = original.metadata.labels
    generated = original.uid and original.uid in (labels.get(CONTROLLER_UID), labels.get(LEGACY_CONTROLLER_UID))
    return _not_generated(labels) if generated else dict(labels)


def mirror_spec(job: Mapping[str, Any], deadline: int | None = None) -> dict[str, Any]:
    """The spec of a mirror; `deadline` replaces the user's."""
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


def mirror_patch(original: Object, mirror: Object, parameters: MirrorParameters) -> dict[str, Any] | None:
    """A merge patch with what a user may change on a Job, as far as a worker allows it; also restores the metadata.

    Scheduling directives are forwarded when the mirror is released, if the relay holds it back.
    """
    patch: dict[str, Any] = {}
    if metadata := metadata_patch(original, mirror, parameters):
        patch["metadata"] = metadata
    wanted, found = original.decode(MutableJob).spec, mirror.decode(MutableJob)
    if parameters.deadline is not None:
        wanted = replace(wanted, active_deadline_seconds=parameters.deadline)
    if parameters.suspend:
        wanted = replace(wanted, suspend=True)
    spec = _changed_spec(msgspec.to_builtins(wanted), msgspec.to_builtins(found.spec))
    may_change = found.spec.suspend and found.status.start_time is None and not parameters.suspend
    if may_change and (template := _changed_template(original, mirror)):
        spec["template"] = template
    if spec:
        patch["spec"] = spec
    return patch or None


def _changed_spec(want: dict[str, Any], have: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {name: want[name] for name in _DEFAULTED if name in want and want[name] != have.get(name)}
    patch |= {name: want.get(name) for name in _OPTIONAL if want.get(name) != have.get(name)}
    completions = want.get("completions")
    if want.get("completionMode") == "Indexed" and completions != have.get("completions"):
        # Both change together or not at all; where they differ in the end, parallelism follows in a second step.
        patch |= {"completions": completions, "parallelism": completions}
    return patch


def _changed_template(original: Object, mirror: Object) -> dict[str, Any]:
    """The scheduling directives, which may change until a suspended Job starts for the first time."""
    want, have = mirror_spec(original.decode()), mirror.decode()["spec"]
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
