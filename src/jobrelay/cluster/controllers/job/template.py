"""Builds the pods of a Job from its template."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.cluster.controllers.job.podfailurepolicy import match_failure
from jobrelay.cluster.controllers.job.pods import index_failures, index_ignored_failures
from jobrelay.cluster.controllers.job.views import FAILURE_COUNT, IGNORED_COUNT, TRACKING_FINALIZER, Job, Pod
from jobrelay.kinds.batch.job.names import INDEX_KEY

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX: Final = 58
_template = msgspec.json.Decoder(dict[str, Any])


def new_pod(job: Job, index: int | None = None, replaced: Pod | None = None) -> dict[str, Any]:
    """A new pod, for one index of an Indexed Job; `replaced` is the failed pod that it replaces."""
    template = _template.decode(job.spec.template)
    given = template.get("metadata", {})
    finalizers = given.get("finalizers", [])
    metadata: dict[str, Any] = {
        "generateName": f"{job.metadata.name}-",
        "labels": dict(given.get("labels", {})),
        "annotations": dict(given.get("annotations", {})),
        "finalizers": finalizers if TRACKING_FINALIZER in finalizers else [*finalizers, TRACKING_FINALIZER],
        "ownerReferences": [owner_reference(job)],
    }
    spec = template.get("spec", {})
    if index is not None:
        _set_index(job, index, metadata, spec)
        if job.per_index:
            metadata["annotations"] |= failure_counts(job, replaced)
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def owner_reference(job: Job) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1", "kind": "Job", "name": job.metadata.name, "uid": job.metadata.uid,
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


def failure_counts(job: Job, replaced: Pod | None) -> dict[str, str]:
    """The annotations that carry the failure counts of an index from pod to pod."""
    failed = ignored = 0
    if replaced is not None:
        counts = match_failure(job, replaced).counts
        failed = index_failures(replaced) + counts
        ignored = index_ignored_failures(replaced) + (not counts)
    return {FAILURE_COUNT: str(failed)} | ({IGNORED_COUNT: str(ignored)} if ignored else {})


def _set_index(job: Job, index: int, metadata: dict[str, Any], spec: dict[str, Any]) -> None:
    metadata["annotations"][INDEX_KEY] = metadata["labels"][INDEX_KEY] = str(index)
    ending = f"-{index}-"
    metadata["generateName"] = job.metadata.name[: _LONGEST_PREFIX - len(ending)] + ending
    spec["hostname"] = f"{job.metadata.name}-{index}"
    variable = {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX_KEY}']"}}}
    for container in (*spec.get("initContainers", []), *spec.get("containers", [])):
        known = container.get("env", [])
        if all(one["name"] != INDEX_VARIABLE for one in known):
            container["env"] = [*known, variable]
