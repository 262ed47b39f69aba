"""Delegated Jobs as table rows: where each runs, its progress, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobrelay.kinds.tables.ages import since
from jobrelay.kube import Object
from jobrelay.relay.worker_assignment import assignment_of

__all__ = ["finished", "job_row", "job_status"]


def job_status(job: Mapping[str, Any]) -> str:
    """A Job's status in one word."""
    status = job.get("status") or {}
    true = {one["type"] for one in status.get("conditions") or () if one.get("status") == "True"}
    for word in ("Complete", "Failed", "Suspended"):
        if word in true:
            return word
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if not status.get("startTime"):
        return "Waiting"
    return "NotRunning" if status.get("active") and status.get("ready") == 0 else "Running"


def finished(status: str) -> bool:
    return status in ("Complete", "Failed")


def job_row(obj: Object, now: datetime) -> dict[str, Any]:
    """One Job, as the management cluster has it."""
    job, to = obj.decode(), assignment_of(obj)
    spec, status = job["spec"], job.get("status") or {}
    return {
        "namespace": obj.namespace,
        "name": obj.name,
        "cluster": to.cluster if to is not None else None,
        "run": to.epoch if to is not None else None,
        "status": job_status(job),
        "completions": f"{status.get('succeeded', 0)}/{spec.get('completions') or 1}",
        "active": status.get("active", 0),
        "failed": status.get("failed", 0),
        "age": since(job["metadata"].get("creationTimestamp"), now),
    }
