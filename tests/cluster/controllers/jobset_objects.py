"""JobSets and their Jobs for tests."""

from __future__ import annotations

from typing import Any

import msgspec

from jobrelay.cluster.controllers.jobset.children import make_job
from jobrelay.cluster.controllers.jobset.views import JobSet

Obj = dict[str, Any]

NOW = "2026-03-02T10:00:00Z"


def replicated(name: str = "w", replicas: int = 1, *, job: Obj | None = None, **more: Any) -> Obj:
    """A replicated job; `job` are further fields of its Jobs' specs."""
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"name": name, "replicas": replicas, "template": {"spec": {"template": pod, **(job or {})}}, **more}


def jobset(*jobs: Obj, status: Obj | None = None, annotations: Obj | None = None, **spec: Any) -> Obj:
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    metadata = {"name": "s", "namespace": "default", "uid": "u", "annotations": annotations or {}}
    body = {**kind, "metadata": metadata, "spec": {"replicatedJobs": list(jobs or (replicated(),)), **spec}}
    return {**body, "status": status} if status is not None else body


def view(body: Obj) -> JobSet:
    return msgspec.convert(body, JobSet)


def child(
    owner: Obj, index: int = 0, *, of: int = 0, attempt: int | None = None, end: str = "", at: str = NOW,
    spec: Obj | None = None, reason: str = "BackoffLimitExceeded", message: str = "it failed", **status: Any,
) -> Obj:  # fmt: skip
    """A Job of a JobSet as the cluster has it; `end` is the condition that it has ended with."""
    found = view(owner)
    job = make_job(found, found.replicated_jobs[of], index)
    job["metadata"]["uid"] = f"uid-{job['metadata']['name']}"
    if attempt is not None:
        job["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] = str(attempt)
    if end:
        ended = {"type": end, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at}
        status["conditions"] = [ended]
    job["spec"] |= {"parallelism": 1, "completions": 1, **(spec or {})}
    return {**job, "status": status}
