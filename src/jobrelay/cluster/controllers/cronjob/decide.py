"""What to do about a CronJob now: a pure function of the CronJob, its Jobs and the time.

The plan is carried out by the shell in order: tell, delete, create, write the status.
"""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Final
from zoneinfo import ZoneInfo

from jobrelay.apimachinery.cron import ScheduleError, parse_schedule, zone_problem
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.controllers.cronjob.schedule import most_recent, until_next

Obj = dict[str, Any]
SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
Event = tuple[str, str, str]  # type, reason, message


@dataclass(slots=True)
class Plan:
    """What to do. `status` None means that it stays; `create` is the Job to make and `due` the time it is for."""

    delete: list[Obj] = field(default_factory=list)
    create: Obj | None = None
    due: dt.datetime | None = None
    events: list[Event] = field(default_factory=list)
    status: Obj | None = None
    look_again: float | None = None

    def tell(self, kind: str, reason: str, message: str) -> None:
        self.events.append((kind, reason, message))


def finished(job: Obj) -> str:
    """Complete or Failed, or "" for a Job that still runs."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return str(condition["type"])
    return ""


def decide(cronjob: Obj, jobs: list[Obj], now: dt.datetime) -> Plan:
    """The plan for a CronJob; `jobs` are those that it controls."""
    plan = Plan()
    before = cronjob.get("status") or {}
    status = copy.deepcopy(before)
    _clean_up(cronjob, jobs, status, plan)
    _account(jobs, status, plan)
    cronjob = {**cronjob, "status": status}
    if not cronjob["metadata"].get("deletionTimestamp"):
        _follow_schedule(cronjob, now, plan)
    if status != before:
        plan.status = status
    return plan


def _account(jobs: list[Obj], status: Obj, plan: Plan) -> None:
    """Brings the list of active Jobs in line with the Jobs that there are."""
    active = {reference["uid"]: reference for reference in status.get("active") or ()}
    for job in jobs:
        uid, name, outcome = job["metadata"]["uid"], job["metadata"]["name"], finished(job)
        if uid in active and outcome:
            del active[uid]
            plan.tell("Normal", "SawCompletedJob", f"Saw completed job: {name}, condition: {outcome}")
        elif uid not in active and not outcome:
            plan.tell("Warning", "UnexpectedJob", f"Saw a job that the controller did not create or forgot: {name}")
        if outcome == "Complete":
            _note_success(job, status)
    known = {job["metadata"]["uid"] for job in jobs}
    for uid, reference in list(active.items()):
        if uid not in known:
            del active[uid]
            plan.tell("Normal", "MissingJob", f"Active job went missing: {reference['name']}")
    _set_active(status, list(active.values()))


def _note_success(job: Obj, status: Obj) -> None:
    time = (job.get("status") or {}).get("completionTime")
    if time and time > status.get("lastSuccessfulTime", ""):
        status["lastSuccessfulTime"] = time


def _set_active(status: Obj, active: list[Obj]) -> None:
    if active:
        status["active"] = active
    else:
        status.pop("active", None)


def _follow_schedule(cronjob: Obj, now: dt.datetime, plan: Plan) -> None:
    spec = cronjob["spec"]
    zone = spec.get("timeZone") or ""
    if zone and (problem := zone_problem(zone)):
        plan.tell("Warning", "UnknownTimeZone", f"invalid timeZone: {go_quote(zone)}: {problem}")
        return
    if spec.get("suspend"):
        return
    try:
        schedule = parse_schedule(spec["schedule"], zone)
    except ScheduleError as error:
        plan.tell("Warning", "UnparseableSchedule", f"unparseable schedule: {go_quote(spec['schedule'])} : {error}")
        return
    try:
        missed = most_recent(cronjob, now, schedule)
    except ScheduleError as error:
        plan.tell("Warning", "InvalidSchedule", f"invalid schedule: {spec['schedule']} : {error}")
        return
    if missed.many:
        text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        plan.tell("Warning", "TooManyMissedTimes", text)
    if missed.time is not None:
        _act(cronjob, missed.time, now, plan)
    plan.look_again = until_next(cronjob, now, schedule)


def _act(cronjob: Obj, due: dt.datetime, now: dt.datetime, plan: Plan) -> None:
    spec, status = cronjob["spec"], cronjob["status"]
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None and due + dt.timedelta(seconds=deadline) < now:
        when = due.strftime("%a, %d %b %Y %H:%M:%S +0000")
        plan.tell("Warning", "MissSchedule", f"Missed scheduled time to start a job: {when}")
        return
    active = status.get("active") or []
    if any(reference["name"] == job_name(cronjob, due) for reference in active):
        return
    if status.get("lastScheduleTime") == format_time(due):
        return
    if spec.get("concurrencyPolicy") == "Forbid" and active:
        text = "Not starting job because prior execution is running and concurrency policy is Forbid"
        plan.tell("Normal", "JobAlreadyActive", text)
        return
    if spec.get("concurrencyPolicy") == "Replace":
        plan.delete += [{"metadata": {"name": r["name"], "uid": r["uid"]}} for r in active]
        _set_active(status, [])
    plan.create, plan.due = make_job(cronjob, due), due


def job_name(cronjob: Obj, due: dt.datetime) -> str:
    return f"{cronjob['metadata']['name']}-{int(due.timestamp()) // 60}"


def make_job(cronjob: Obj, due: dt.datetime) -> Obj:
    """The Job for one time of the schedule."""
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


def _clean_up(cronjob: Obj, jobs: list[Obj], status: Obj, plan: Plan) -> None:
    """Deletes the oldest finished Jobs beyond the history limits; what is deleted is no longer active."""
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
