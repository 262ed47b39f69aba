"""The decision about a CronJob: a pure function of the CronJob, its Jobs and the time.

The controller carries the plan out in this order: events, deletions, creation, status.
"""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Final
from zoneinfo import ZoneInfo

from jobrelay.apimachinery.cron import ScheduleError, parse_schedule, zone_problem
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.times import format_time, shifted
from jobrelay.cluster.controllers.cronjob.schedule import most_recent, until_next

Obj = dict[str, Any]
SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
Event = tuple[str, str, str]  # type, reason, message


@dataclass(slots=True)
class CronJobPlan:
    """What to do. `create` is the Job to create and `due` its scheduled time; `status` None means no change."""

    delete: list[Obj] = field(default_factory=list)
    create: Obj | None = None
    due: dt.datetime | None = None
    events: list[Event] = field(default_factory=list)
    status: Obj | None = None
    requeue_after: float | None = None

    def event(self, kind: str, reason: str, message: str) -> None:
        self.events.append((kind, reason, message))


def finished(job: Obj) -> str:
    """Complete or Failed, or "" for an unfinished Job."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return str(condition["type"])
    return ""


def decide(cronjob: Obj, jobs: list[Obj], now: dt.datetime) -> CronJobPlan:
    """The plan for a CronJob; `jobs` are the Jobs that it controls."""
    plan = CronJobPlan()
    before = cronjob.get("status") or {}
    status = copy.deepcopy(before)
    _clean_up(cronjob, jobs, status, plan)
    _update_active(jobs, status, plan)
    cronjob = {**cronjob, "status": status}
    if not cronjob["metadata"].get("deletionTimestamp"):
        _follow_schedule(cronjob, now, plan)
    if status != before:
        plan.status = status
    return plan


def _update_active(jobs: list[Obj], status: Obj, plan: CronJobPlan) -> None:
    """Updates the list of active Jobs from the Jobs that exist."""
    active = {reference["uid"]: reference for reference in status.get("active") or ()}
    for job in jobs:
        uid, name, outcome = job["metadata"]["uid"], job["metadata"]["name"], finished(job)
        if uid in active and outcome:
            del active[uid]
            plan.event("Normal", "SawCompletedJob", f"Saw completed job: {name}, condition: {outcome}")
        elif uid not in active and not outcome:
            plan.event("Warning", "UnexpectedJob", f"Saw a job that the controller did not create or forgot: {name}")
        if outcome == "Complete":
            _update_last_success(job, status)
    known = {job["metadata"]["uid"] for job in jobs}
    for uid, reference in list(active.items()):
        if uid not in known:
            del active[uid]
            plan.event("Normal", "MissingJob", f"Active job went missing: {reference['name']}")
    _set_active(status, list(active.values()))


def _update_last_success(job: Obj, status: Obj) -> None:
    time = (job.get("status") or {}).get("completionTime")
    if time and time > status.get("lastSuccessfulTime", ""):
        status["lastSuccessfulTime"] = time


def _set_active(status: Obj, active: list[Obj]) -> None:
    if active:
        status["active"] = active
    else:
        status.pop("active", None)


def _follow_schedule(cronjob: Obj, now: dt.datetime, plan: CronJobPlan) -> None:
    spec = cronjob["spec"]
    zone = spec.get("timeZone") or ""
    if zone and (problem := zone_problem(zone)):
        plan.event("Warning", "UnknownTimeZone", f"invalid timeZone: {go_quote(zone)}: {problem}")
        return
    if spec.get("suspend"):
        return
    try:
        schedule = parse_schedule(spec["schedule"], zone)
    except ScheduleError as error:
        plan.event("Warning", "UnparseableSchedule", f"unparseable schedule: {go_quote(spec['schedule'])} : {error}")
        return
    try:
        missed = most_recent(cronjob, now, schedule)
    except ScheduleError as error:
        plan.event("Warning", "InvalidSchedule", f"invalid schedule: {spec['schedule']} : {error}")
        return
    if missed.many:
        text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        plan.event("Warning", "TooManyMissedTimes", text)
    if missed.time is not None:
        _start_job(cronjob, missed.time, now, plan)
    plan.requeue_after = until_next(cronjob, now, schedule)


def _start_job(cronjob: Obj, due: dt.datetime, now: dt.datetime, plan: CronJobPlan) -> None:
    spec, status = cronjob["spec"], cronjob["status"]
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None and shifted(due, deadline) < now:
        when = due.strftime("%a, %d %b %Y %H:%M:%S +0000")
        plan.event("Warning", "MissSchedule", f"MissedSchedules scheduled time to start a job: {when}")
        return
    active = status.get("active") or []
    if any(reference["name"] == job_name(cronjob, due) for reference in active):
        return
    if status.get("lastScheduleTime") == format_time(due):
        return
    if spec.get("concurrencyPolicy") == "Forbid" and active:
        text = "Not starting job because prior execution is running and concurrency policy is Forbid"
        plan.event("Normal", "JobAlreadyActive", text)
        return
    if spec.get("concurrencyPolicy") == "Replace":
        plan.delete += [{"metadata": {"name": r["name"], "uid": r["uid"]}} for r in active]
        _set_active(status, [])
    plan.create, plan.due = make_job(cronjob, due), due


def job_name(cronjob: Obj, due: dt.datetime) -> str:
    return f"{cronjob['metadata']['name']}-{int(due.timestamp()) // 60}"


def make_job(cronjob: Obj, due: dt.datetime) -> Obj:
    """The Job for one scheduled time."""
    template, metadata = cronjob["spec"]["jobTemplate"], cronjob["metadata"]
    given = template.get("metadata") or {}
    zone = cronjob["spec"].get("timeZone")
    shown = due.astimezone(ZoneInfo(zone)).isoformat().replace("+00:00", "Z") if zone else format_time(due)
    owner = {
        "apiVersion": "batch/v1", "kind": "CronJob", "name": metadata["name"], "uid": metadata["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    made: Obj = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(cronjob, due),
            "namespace": metadata["namespace"],
            "annotations": {**(given.get("annotations") or {}), SCHEDULED: shown},
            "ownerReferences": [owner],
        },
        "spec": copy.deepcopy(template["spec"]),
    }
    if given.get("labels"):
        made["metadata"]["labels"] = dict(given["labels"])
    return made


def _clean_up(cronjob: Obj, jobs: list[Obj], status: Obj, plan: CronJobPlan) -> None:
    """Deletes the oldest finished Jobs beyond the history limits, and removes them from the active Jobs."""
    for outcome, name in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
        limit = cronjob["spec"].get(name)
        if limit is None:
            continue
        done = sorted((job for job in jobs if finished(job) == outcome), key=_started)
        plan.delete += done[: max(len(done) - limit, 0)]
    deleted = {job["metadata"]["uid"] for job in plan.delete}
    _set_active(status, [one for one in status.get("active") or () if one["uid"] not in deleted])


def _started(job: Obj) -> tuple[bool, str, str]:
    start = (job.get("status") or {}).get("startTime") or ""
    return not start, start, job["metadata"]["name"]
