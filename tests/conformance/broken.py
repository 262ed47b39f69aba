"""Controllers with one defect each: the controller from scratch, with one thing about it changed.

A defect changes what the controller believes a Job's spec to be (`seen`), the statuses that it writes (`status`), the
pods that it creates (`pod`), or does something besides when a status was written (`after`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from jobrelay.cluster.controllers.job import BatchJobController as PodMakingController
from jobrelay.cluster.controllers.job import BatchJobStatus
from jobrelay.cluster.controllers.job.viewcache import ViewCache
from jobrelay.cluster.controllers.job.views import Job
from jobrelay.kinds.batch.job.names import INDEX_KEY
from jobrelay.kit import ControllerRuntime
from jobrelay.kube import Client, Clock, Object, Resource, merge_patch
from jobrelay.kube.resource import JOBS, PODS

from .worlds import MANAGER

Obj = dict[str, Any]


def unchanged(job: Job) -> Job:
    return job


def same(job: Obj, status: Obj) -> Obj | None:
    return status


def same_pod(pod: Obj) -> Obj:
    return pod


async def nothing(client: Client, job: Obj) -> None:
    return None


@dataclass(frozen=True)
class Defect:
    """One defect; `status` may return None, and then nothing is written."""

    seen: Callable[[Job], Job] = unchanged
    status: Callable[[Obj, Obj], Obj | None] = same
    pod: Callable[[Obj], Obj] = same_pod
    after: Callable[[Client, Obj], Awaitable[None]] = nothing


class BrokenController(ControllerRuntime):
    """The controller from scratch with a defect."""

    def __init__(self, client: Client, clock: Clock, defect: Defect) -> None:
        super().__init__(client, MANAGER, clock=clock)
        self._defect = defect
        self._other = Client(client.transport, clock=clock, user_agent="another")
        create = self.client.create

        async def create_changed(resource: Resource, body: Any, *more: Any, **query: Any) -> Object:
            if resource is PODS:
                body = defect.pod(msgspec.json.decode(body) if isinstance(body, bytes) else dict(body))
            return await create(resource, body, *more, **query)

        self.client.create = create_changed  # type: ignore[method-assign,assignment]
        made = PodMakingController(self._context, name=self.name, managed_by=MANAGER, write_status=self._write_status)
        made._job_views = Views(defect)

    async def _write_status(self, job: Object, status: BatchJobStatus) -> Object:
        old = job.decode()
        new = self._defect.status(old, msgspec.json.decode(msgspec.json.encode(status)))
        if new is None or new == old.get("status"):
            return job
        old["metadata"].pop("managedFields", None)
        made = await self.client.replace_status(JOBS, old | {"status": new}, key=job.key)
        self.jobs.observe(made)
        await self._defect.after(self._other, made.decode())
        return made


class Views(ViewCache[Job]):
    """Jobs as a defective controller sees them."""

    def __init__(self, defect: Defect) -> None:
        super().__init__(Job)
        self._defect = defect

    def of(self, obj: Object) -> Job:
        return self._defect.seen(super().of(obj))


def spec(job: Job, **changes: Any) -> Job:
    return replace(job, spec=replace(job.spec, **changes))


def conditions(status: Obj) -> dict[str, Obj]:
    return {each["type"]: each for each in status.get("conditions", ()) if each["status"] == "True"}


def finished(status: Obj) -> bool:
    return bool({"Complete", "Failed"} & conditions(status).keys())


# What it writes.


def ends_unannounced(job: Obj, status: Obj) -> Obj | None:
    announced = {"SuccessCriteriaMet", "FailureTarget"} & conditions(status).keys()
    return None if announced and not finished(status) else status


def ends_with_another_message(job: Obj, status: Obj) -> Obj:
    for each in status.get("conditions", ()):
        if each["type"] in ("Complete", "Failed"):
            each["message"] = "It is over"
    return status


def repeats_conditions(job: Obj, status: Obj) -> Obj:
    known = status.get("conditions", [])
    return status | {"conditions": [*known, known[0]]} if len(known) == 1 else status


def counts_one_index_more(job: Obj, status: Obj) -> Obj:
    return status | {"succeeded": status["succeeded"] + 1} if status.get("completedIndexes") else status


def forgets_failed_indexes(job: Obj, status: Obj) -> Obj:
    return status | {"failedIndexes": ""} if status.get("failedIndexes") and finished(status) else status


def starts_without_a_time(job: Obj, status: Obj) -> Obj:
    if status.get("active") and "startTime" not in job.get("status", {}):
        status.pop("startTime", None)
    return status


def says_suspended(job: Obj, status: Obj) -> Obj:
    if status.get("active") and not status.get("conditions"):
        time = status["startTime"]
        said = {"type": "Suspended", "status": "True", "lastProbeTime": time, "lastTransitionTime": time}
        return status | {"conditions": [said | {"reason": "JobSuspended", "message": "Job suspended"}]}
    return status


def started_long_ago(job: Obj, status: Obj) -> Obj:
    if "startTime" in status and "startTime" not in job.get("status", {}):
        return status | {"startTime": "2000-01-01T00:00:00Z"}
    return status


def loses_failures(job: Obj, status: Obj) -> Obj:
    before = job.get("status", {})
    listed = before.get("uncountedTerminatedPods", {}).get("failed", [])
    if len(status.get("uncountedTerminatedPods", {}).get("failed", [])) < len(listed):
        return status | {"failed": before.get("failed", 0)}
    return status


def renames_the_reason(job: Obj, status: Obj) -> Obj:
    for each in status.get("conditions", ()):
        if each["reason"] == "BackoffLimitExceeded":
            each["reason"] = "TooManyFailures"
    return status


def counts_one_failure_more(job: Obj, status: Obj) -> Obj:
    return status | {"failed": status.get("failed", 0) + 1} if "Failed" in conditions(status) else status


def hides_failed_indexes(job: Obj, status: Obj) -> Obj:
    return status | {"failedIndexes": ""} if "failedIndexes" in status else status


def is_silent_about_suspension(job: Obj, status: Obj) -> Obj:
    if "startTime" not in status:
        status.pop("conditions", None)
    return status


def keeps_the_first_start(job: Obj, status: Obj) -> Obj:
    return status | {"startTime": job["status"]["startTime"]} if "startTime" in job.get("status", {}) else status


# What it does when it has written.


async def writes_after_the_end(client: Client, job: Obj) -> None:
    if finished(job["status"]):
        await add_condition(client, job, "example.com/Late", MANAGER.replace("/", "-"))


async def writes_under_two_names(client: Client, job: Obj) -> None:
    if job["status"].get("active") and not conditions(job["status"]):
        await add_condition(client, job, "example.com/Seen", "another")


async def add_condition(client: Client, job: Obj, type: str, manager: str) -> None:
    said = [*job["status"].get("conditions", ()), {"type": type, "status": "True"}]
    patch, meta = merge_patch({"status": {"conditions": said}}), job["metadata"]
    await client.patch(JOBS, meta["name"], patch, meta["namespace"], subresource="status", field_manager=manager)


async def leaves_a_pod(client: Client, job: Obj) -> None:
    if not finished(job["status"]):
        return
    meta, pod = job["metadata"], {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"], "controller": True}
    made = {"generateName": "left-", "ownerReferences": [owner]}
    await client.create(PODS, {"metadata": made, "spec": pod}, meta["namespace"])


async def holds_jobs(client: Client, job: Obj) -> None:
    await hold(client, job, "ttlSecondsAfterFinished" not in job["spec"])


async def holds_finished_jobs(client: Client, job: Obj) -> None:
    await hold(client, job, "ttlSecondsAfterFinished" in job["spec"])


async def hold(client: Client, job: Obj, this: bool) -> None:
    meta = job["metadata"]
    if this and job["status"].get("active") and "finalizers" not in meta:
        patch = merge_patch({"metadata": {"finalizers": ["example.com/held"]}})
        await client.patch(JOBS, meta["name"], patch, meta["namespace"])


# What it believes, and what it creates.


def ends_early(job: Job) -> Job:
    return spec(job, completions=2) if job.spec.completions == 3 and not job.indexed else job


def starts_too_many(job: Job) -> Job:
    return spec(job, parallelism=job.spec.parallelism + 1)


def starts_suspended_jobs(job: Job) -> Job:
    return spec(job, suspend=False) if job.status.start_time is None else job


def does_not_stop(job: Job) -> Job:
    return spec(job, suspend=False) if job.status.start_time is not None else job


def ignores_deadlines(job: Job) -> Job:
    return spec(job, active_deadline_seconds=None)


def takes_all_jobs(job: Job) -> Job:
    return spec(job, managed_by=MANAGER)


def replaces_at_once(job: Job) -> Job:
    return spec(job, pod_replacement_policy="TerminatingOrFailed") if job.spec.pod_failure_policy is None else job


class DoesNotScale:
    """Sees parallelism as it was at first."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}

    def __call__(self, job: Job) -> Job:
        return spec(job, parallelism=self._first.setdefault(job.metadata.uid, job.spec.parallelism))


def has_no_index_label(pod: Obj) -> Obj:
    pod["metadata"].get("labels", {}).pop(INDEX_KEY, None)
    return pod


DEFECTS: dict[str, Defect] = {
    "C1": Defect(status=ends_unannounced),
    "C2": Defect(status=ends_with_another_message),
    "C3": Defect(status=repeats_conditions),
    "C4": Defect(after=writes_after_the_end),
    "C5": Defect(status=counts_one_index_more),
    "C6": Defect(status=forgets_failed_indexes),
    "C7": Defect(seen=ends_early),
    "C8": Defect(seen=starts_too_many),
    "C9": Defect(status=starts_without_a_time),
    "C10": Defect(seen=starts_suspended_jobs),
    "C11": Defect(status=says_suspended),
    "C12": Defect(after=writes_under_two_names),
    "C13": Defect(status=started_long_ago),
    "C14": Defect(status=loses_failures),
    "R2": Defect(seen=ignores_deadlines),
    "R3": Defect(status=renames_the_reason),
    "R4": Defect(status=counts_one_failure_more),
    "R5": Defect(status=hides_failed_indexes),
    "R6": Defect(seen=takes_all_jobs),
    "R7": Defect(status=is_silent_about_suspension),
    "R8": Defect(seen=does_not_stop),
    "R9": Defect(status=keeps_the_first_start),
    "R10": Defect(seen=DoesNotScale()),
    "R11": Defect(seen=replaces_at_once),
    "R12": Defect(after=holds_jobs),
    "R13": Defect(after=leaves_a_pod),
    "R14": Defect(pod=has_no_index_label),
    "R15": Defect(after=holds_finished_jobs),
}
"""By the rule that finds it; R1 is that of a controller that does not run."""


# What an API server refuses, and one from before 1.32 does not.


def completes_without_a_time(job: Obj, status: Obj) -> Obj:
    status.pop("completionTime", None)
    return status


def never_announces_failures(job: Obj, status: Obj) -> Obj:
    status["conditions"] = [each for each in status.get("conditions", ()) if each["type"] != "FailureTarget"]
    return status


def ends_with_active_pods(job: Obj, status: Obj) -> Obj:
    return status | {"active": 1} if finished(status) else status


def ends_with_terminating_pods(job: Obj, status: Obj) -> Obj:
    return status | {"terminating": 1} if finished(status) else status


def takes_failures_back(job: Obj, status: Obj) -> Obj:
    return status | {"failed": 0} if finished(status) and job["status"].get("failed") else status


ILLEGAL: dict[str, Defect] = {
    "S11": Defect(status=completes_without_a_time),
    "S13": Defect(status=never_announces_failures),
    "S15": Defect(status=ends_with_active_pods),
    "S23": Defect(status=ends_with_terminating_pods),
    "S29": Defect(status=takes_failures_back),
}
"""By the rule that finds it."""
