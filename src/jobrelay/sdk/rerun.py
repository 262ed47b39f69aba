"""A new object from one that has ended, without what the server, controllers and the relay have added."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.kube.resource import JOBS
from jobrelay.workloads import Adapter
from jobrelay.workloads.job.mirror import mirror_spec, user_labels
from jobrelay.workloads.names import ASSIGNMENT

__all__ = ["rerun_manifest"]

_ADDED: Final = ("kubectl.kubernetes.io/last-applied-configuration", ASSIGNMENT)
_LONGEST_PREFIX: Final = 57
"""Of a generated name: the server adds five characters, and a name of 63 can be a label."""


def rerun_manifest(adapter: Adapter, obj: Object, name: str = "") -> dict[str, Any]:
    """The manifest; without a name, the server makes one of that of the object that it is made from."""
    whole, metadata = obj.decode(), obj.metadata
    named = {"name": name} if name else {"generateName": whole["metadata"].get("generateName") or _prefix(obj.name)}
    is_job = adapter.resource == JOBS
    labels = user_labels(obj) if is_job else dict(metadata.labels)
    annotations = {key: value for key, value in metadata.annotations.items() if key not in _ADDED}
    kept = {"namespace": obj.namespace, "labels": labels, "annotations": annotations}
    body = {key: value for key, value in whole.items() if key not in ("metadata", "status")}
    if is_job:
        body["spec"] = _job_spec(whole)
    return body | {"metadata": named | {key: value for key, value in kept.items() if value}}


def _job_spec(job: dict[str, Any]) -> dict[str, Any]:
    """As the user wrote it: a mirror leaves out what the server generated, but also what the relay has to know."""
    given = job["spec"]
    return mirror_spec(job) | {key: given[key] for key in ("managedBy", "ttlSecondsAfterFinished") if key in given}


def _prefix(name: str) -> str:
    return name[:_LONGEST_PREFIX].rstrip("-.") + "-"
