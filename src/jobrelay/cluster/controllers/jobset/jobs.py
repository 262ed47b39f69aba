"""The Jobs of a JobSet by what has become of them, and their counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jobrelay.cluster.controllers.jobset import names
from jobrelay.cluster.controllers.jobset.views import JobSet, ReplicatedJob
from jobrelay.kinds.batch.job.names import COMPLETE, FAILED

__all__ = ["ChildJobs", "InvalidChild", "condition", "label", "sort_jobs"]

Obj = dict[str, Any]


class InvalidChild(ValueError):
    """A Job of a JobSet whose labels were changed so that it cannot be placed."""


@dataclass(slots=True)
class ChildJobs:
    """The Jobs of the current attempt by their state, and those of previous attempts."""

    active: list[Obj] = field(default_factory=list)
    successful: list[Obj] = field(default_factory=list)
    failed: list[Obj] = field(default_factory=list)
    previous: list[Obj] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        every = (*self.active, *self.successful, *self.failed, *self.previous)
        return frozenset(each["metadata"]["name"] for each in every)

    def counters(self, replicated: ReplicatedJob) -> Obj:
        """The counters of a replicated job. A Job whose end is not recorded yet may be ready and no longer active."""
        active, successful, failed = (
            [each for each in some if label(each, names.REPLICATED_JOB) == replicated.name]
            for some in (self.active, self.successful, self.failed)
        )
        return {
            "name": replicated.name,
            "ready": sum(map(_is_ready, active)),
            "succeeded": len(successful),
            "failed": len(failed),
            "active": sum((each.get("status") or {}).get("active", 0) > 0 for each in active),
            "suspended": sum(bool(each["spec"].get("suspend")) for each in active),
        }


def sort_jobs(jobset: JobSet, jobs: Iterable[Obj]) -> ChildJobs:
    """Sorts the Jobs that a JobSet owns; raises InvalidChild."""
    found = ChildJobs()
    for job in sorted(jobs, key=lambda each: str(each["metadata"]["name"])):
        if _attempt(job) < jobset.restarts:
            found.previous.append(job)
        elif condition(job, COMPLETE) is not None:
            found.successful.append(job)
        elif condition(job, FAILED) is not None:
            found.failed.append(job)
        else:
            found.active.append(job)
    return found


def label(job: Obj, name: str) -> str:
    return str((job["metadata"].get("labels") or {}).get(name, ""))


def condition(job: Obj, type_: str) -> Obj | None:
    """The condition of a type that is true, if there is one."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] == type_ and each["status"] == "True":
            found: Obj = each
            return found
    return None


def _attempt(job: Obj) -> int:
    text = label(job, names.RESTARTS)
    try:
        return int(text)
    except ValueError:
        raise InvalidChild(f"Job {job['metadata']['name']}: label {names.RESTARTS}={text!r} is not a number") from None


def _is_ready(job: Obj) -> bool:
    status, spec = job.get("status") or {}, job["spec"]
    pods = min(spec.get("parallelism", 1), spec.get("completions", spec.get("parallelism", 1)))
    return bool(status.get("succeeded", 0) + (status.get("ready") or 0) >= pods)
