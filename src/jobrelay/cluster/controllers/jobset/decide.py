"""The decision about a JobSet: a pure function of the JobSet, its Jobs and the time.

The controller carries the plan out in the order of its fields. Whatever fails there, the status is not written and
the JobSet is decided about again. The order of the steps is that of JobSet's own controller, since it shows in what
users see: a failed Job ends or restarts the JobSet before another that has succeeded counts, and no Job is created
while either is decided.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from jobrelay.apimachinery.times import format_time, parse_time
from jobrelay.cluster.controllers.jobset import names
from jobrelay.cluster.controllers.jobset.children import job_name, make_claims, make_job, make_service
from jobrelay.cluster.controllers.jobset.failure import apply_failure_policy
from jobrelay.cluster.controllers.jobset.jobs import ChildJobs, label, sort_jobs
from jobrelay.cluster.controllers.jobset.status import StatusDraft
from jobrelay.cluster.controllers.jobset.views import JobSet, ReplicatedJob
from jobrelay.kube.events import EventNote

__all__ = ["JobSetPlan", "decide"]

Obj = dict[str, Any]

_MOST_CREATED: Final = 500
"""Jobs that one plan creates. Their events make the next plan, so that a large JobSet does not keep others waiting."""


@dataclass(slots=True)
class JobSetPlan:
    """What to do. `service` and `claims` are to be created if they are absent; `status` None means no change."""

    delete_jobs: list[Obj] = field(default_factory=list)
    delete_self: bool = False
    service: Obj | None = None
    claims: list[Obj] = field(default_factory=list)
    create_jobs: list[Obj] = field(default_factory=list)
    update_jobs: list[Obj] = field(default_factory=list)
    status: Obj | None = None
    events: list[EventNote] = field(default_factory=list)
    requeue_after: float | None = None


def decide(jobset: JobSet, owned: Iterable[Obj], now: dt.datetime) -> JobSetPlan:
    """The plan for a JobSet; `owned` are the Jobs that it controls. Raises InvalidChild and UnsupportedAction."""
    plan = JobSetPlan()
    if jobset.metadata.deletion_timestamp or jobset.external:
        return plan
    jobs = sort_jobs(jobset, owned)
    counters = {each.name: jobs.counters(each) for each in jobset.replicated_jobs}
    status = StatusDraft(jobset.status, format_time(now))
    status.count_jobs(list(counters.values()))
    if jobset.finished_at is not None:
        plan.delete_jobs = _not_deleting(jobs.active)
        _expire(jobset, jobset.finished_at, now, plan)
    else:
        plan.delete_jobs = _not_deleting(jobs.previous)
        _run(jobset, jobs, counters, status, plan)
    plan.status, plan.events = status.result, status.events
    return plan


def _run(jobset: JobSet, jobs: ChildJobs, counters: dict[str, Obj], status: StatusDraft, plan: JobSetPlan) -> None:
    """Brings a JobSet that is not finished forward."""
    if not jobset.suspended and _all_ready(jobset, counters):
        status.end_restarting("JobsReady", "all jobs are ready")
    if jobs.failed:
        apply_failure_policy(jobset, jobs.failed, status)
        return
    if jobs.successful and _is_success(jobset, jobs):
        status.complete()
        return
    plan.service, plan.claims = make_service(jobset), make_claims(jobset)
    _create_jobs(jobset, jobs, counters, status, plan)
    if jobset.suspended:
        plan.update_jobs = [_suspended(job) for job in jobs.active if not job["spec"].get("suspend")]
        status.suspend()
    else:
        _resume(jobset, jobs, counters, status, plan)


def _not_deleting(jobs: list[Obj]) -> list[Obj]:
    return [job for job in jobs if not job["metadata"].get("deletionTimestamp")]


def _expire(jobset: JobSet, finished_at: str, now: dt.datetime, plan: JobSetPlan) -> None:
    ttl = jobset.spec.ttl_seconds_after_finished
    if ttl is None:
        return
    left = (parse_time(finished_at) + dt.timedelta(seconds=ttl) - now).total_seconds()
    plan.delete_self = left <= 0
    plan.requeue_after = left if left > 0 else None


def _all_ready(jobset: JobSet, counters: dict[str, Obj]) -> bool:
    ready = sum(each["ready"] + each["succeeded"] for each in counters.values())
    return bool(ready == sum(each.replicas for each in jobset.replicated_jobs))


def _is_success(jobset: JobSet, jobs: ChildJobs) -> bool:
    policy = jobset.success_policy
    targets = policy.target_replicated_jobs or tuple(each.name for each in jobset.replicated_jobs)
    succeeded = sum(label(job, names.REPLICATED_JOB) in targets for job in jobs.successful)
    expected = sum(each.replicas for each in jobset.replicated_jobs if each.name in targets)
    return succeeded >= (1 if policy.operator == "Any" else expected)


def _create_jobs(
    jobset: JobSet, jobs: ChildJobs, counters: dict[str, Obj], status: StatusDraft, plan: JobSetPlan
) -> None:
    policy = jobset.spec.failure_policy
    blocked = bool(jobs.previous) and policy is not None and policy.restart_strategy == "BlockingRecreate"
    in_order = jobset.starts_in_order and not jobset.suspended
    existing = jobs.names
    for replicated in jobset.replicated_jobs:
        if not _dependencies_met(jobset, replicated, counters) or (in_order and _is_started(replicated, counters)):
            continue
        if not blocked:
            absent = (each for each in range(replicated.replicas) if job_name(jobset, replicated, each) not in existing)
            room = islice(absent, _MOST_CREATED - len(plan.create_jobs))
            plan.create_jobs += (make_job(jobset, replicated, index) for index in room)
        if in_order:
            status.starting_in_order()
            return
    if in_order:
        status.started_in_order()


def _dependencies_met(jobset: JobSet, replicated: ReplicatedJob, counters: dict[str, Obj]) -> bool:
    """Whether the replicated jobs that one depends on, all of which come before it, have got as far as it needs."""
    replicas: dict[str, int] = {}
    for each in jobset.replicated_jobs:
        replicas[each.name] = each.replicas
        if each.name == replicated.name:
            break
    for dependency in replicated.depends_on or ():
        counted = counters.get(dependency.name)
        if counted is None:
            return False
        reached = counted["succeeded"]
        if dependency.status == "Ready":
            reached += counted["failed"] + counted["ready"]
        if replicas.get(dependency.name, 0) != reached:
            return False
    return True


def _is_started(replicated: ReplicatedJob, counters: dict[str, Obj]) -> bool:
    counted = counters[replicated.name]
    return bool(replicated.replicas == counted["failed"] + counted["ready"] + counted["succeeded"])


def _suspended(job: Obj) -> Obj:
    return {**job, "spec": {**job["spec"], "suspend": True}}


def _resume(jobset: JobSet, jobs: ChildJobs, counters: dict[str, Obj], status: StatusDraft, plan: JobSetPlan) -> None:
    """Resumes suspended Jobs; in order, those of one replicated job, and the next when they have started."""
    suspended = [job for job in jobs.active if job["spec"].get("suspend")]
    for replicated in jobset.replicated_jobs:
        if not _dependencies_met(jobset, replicated, counters):
            continue
        if jobset.starts_in_order and _is_started(replicated, counters):
            continue
        own = [job for job in suspended if label(job, names.REPLICATED_JOB) == replicated.name]
        plan.update_jobs += (_resumed(job, replicated) for job in own)
        if jobset.starts_in_order:
            status.starting_in_order()
            return
    status.resume()


def _resumed(job: Obj, replicated: ReplicatedJob) -> Obj:
    """A Job that is not suspended, with what was changed in the pod template of a suspended JobSet, as Kueue does."""
    found = copy.deepcopy(job)
    template = (replicated.template.get("spec") or {}).get("template") or {}
    metadata, wanted = found["spec"]["template"].setdefault("metadata", {}), template.get("metadata") or {}
    pod, wanted_pod = found["spec"]["template"]["spec"], template.get("spec") or {}
    for old, new, key in (
        (metadata, wanted, "labels"), (metadata, wanted, "annotations"), (pod, wanted_pod, "nodeSelector"),
    ):  # fmt: skip
        if new.get(key):
            old[key] = {**(old.get(key) or {}), **new[key]}
    for key in ("tolerations", "schedulingGates"):
        held = pod.get(key) or []
        if added := [each for each in wanted_pod.get(key) or () if each not in held]:
            pod[key] = [*held, *added]
    found["spec"]["suspend"] = False
    return found
