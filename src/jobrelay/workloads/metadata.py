"""The metadata of mirrors of every kind: the user's labels and annotations, and those that identify the mirror."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.workloads.adapter import MirrorParameters
from jobrelay.workloads.names import (
    DOMAIN,
    EPOCH,
    KUEUE_ORIGIN,
    ORIGIN,
    ORIGIN_NAME,
    ORIGIN_UID,
    PREBUILT,
    PROOF,
)

_LONGEST_LABEL: Final = 63
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def mirror_metadata(
    original: Object, parameters: MirrorParameters, user_labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The metadata of the mirror to create; `user_labels` replace the labels of the original if they are given."""
    labels, annotations = _identity(original, parameters)
    metadata = original.metadata
    return {
        "name": parameters.name,
        "namespace": original.namespace,
        "labels": dict(metadata.labels if user_labels is None else user_labels) | labels,
        "annotations": user_annotations(metadata.annotations) | annotations,
    }


def user_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that are the user's and mean something on a worker."""
    return {key: text for key, text in annotations.items() if key != _LAST_APPLIED and not key.startswith(DOMAIN)}


def metadata_patch(original: Object, mirror: Object, parameters: MirrorParameters) -> dict[str, Any]:
    """The labels and annotations that identify a mirror: all of them if one was changed or is missing."""
    found = (mirror.metadata.labels, mirror.metadata.annotations)
    return {
        name: want
        for name, want, have in zip(("labels", "annotations"), _identity(original, parameters), found, strict=True)
        if any(have.get(key) != value for key, value in want.items())
    }


def queued_mirror(body: dict[str, Any], workload: str) -> dict[str, Any]:
    """The body of a mirror for a worker that runs Kueue: the Workload of this name queues it there."""
    metadata = body["metadata"]
    labels = {PREBUILT: workload} if len(workload) <= _LONGEST_LABEL else {}
    marked = {"labels": metadata["labels"] | labels, "annotations": metadata["annotations"] | {PREBUILT: workload}}
    return body | {"metadata": metadata | marked}


def prebuilt_workload(mirror: Object) -> str:
    """The name of the Workload that queues an object; empty if none does, or one that Kueue makes itself."""
    return mirror.metadata.annotations.get(PREBUILT) or mirror.metadata.labels.get(PREBUILT, "")


def is_queued(mirror: Object) -> bool:
    """Whether Kueue on its worker decides when a mirror runs."""
    return bool(prebuilt_workload(mirror))


def _identity(original: Object, parameters: MirrorParameters) -> tuple[dict[str, str], dict[str, str]]:
    labels = {ORIGIN: parameters.origin, KUEUE_ORIGIN: parameters.origin}
    annotations = {ORIGIN_UID: original.uid, ORIGIN_NAME: original.name, EPOCH: str(parameters.epoch)}
    return labels, annotations | ({PROOF: parameters.proof} if parameters.proof else {})
