"""What is decided about a CronJob, case by case."""

from __future__ import annotations

import datetime as dt
from typing import Any

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.controllers.cronjob.decide import SCHEDULED, decide, make_job

START = dt.datetime(2026, 3, 2, 10, 0, tzinfo=dt.UTC)
Obj = dict[str, Any]


def at(minutes: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minutes)


def cronjob(schedule: str = "*/5 * * * *", status: Obj | None = None, **spec: Any) -> Obj:
    return {
        "metadata": {"name": "c", "namespace": "n", "uid": "cu", "creationTimestamp": format_time(START)},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {}}}, **spec},
        "status": status or {},
    }


def job(name: str, outcome: str = "", started: float = 0) -> Obj:
    status: Obj = {"startTime": format_time(at(started))}
    if outcome:
        status["conditions"] = [{"type": outcome, "status": "True"}]
    if outcome == "Complete":
        status["completionTime"] = format_time(at(started + 1))
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": format_time(at(started))}
    return {"metadata": metadata, "status": status}


def active(*names: str) -> list[Obj]:
    return [{"kind": "Job", "name": name, "uid": f"uid-{name}"} for name in names]


def reasons(plan: Any) -> list[str]:
    return [reason for _, reason, _ in plan.events]


def test_before_the_first_time_nothing_happens() -> None:
    plan = decide(cronjob(), [], at(2))
    assert plan.create is None
    assert plan.requeue_after == 3 * 60 + 0.1


def test_a_due_time_makes_its_job() -> None:
    plan = decide(cronjob(), [], at(5.5))
    assert plan.create is not None
    assert plan.create["metadata"]["name"] == f"c-{int(at(5).timestamp()) // 60}"
    assert plan.due == at(5)


def test_the_latest_of_several_missed_times_counts() -> None:
    assert decide(cronjob(), [], at(17)).due == at(15)


def test_very_many_missed_times_are_reported() -> None:
    assert "TooManyMissedTimes" in reasons(decide(cronjob("* * * * *"), [], at(200)))


def test_a_time_is_acted_on_once() -> None:
    assert decide(cronjob(status={"lastScheduleTime": format_time(at(5))}), [], at(6)).create is None


def test_a_suspended_cronjob_makes_nothing() -> None:
    plan = decide(cronjob(suspend=True), [], at(6))
    assert (plan.create, plan.requeue_after) == (None, None)


def test_a_time_older_than_the_deadline_is_not_seen() -> None:
    assert decide(cronjob(startingDeadlineSeconds=30), [], at(6)).create is None


def test_a_deadline_may_be_endless() -> None:
    assert decide(cronjob(startingDeadlineSeconds=2**63 - 1), [], at(6)).create is not None


def test_forbid_waits_for_the_running_job() -> None:
    plan = decide(cronjob(status={"active": active("a")}, concurrencyPolicy="Forbid"), [job("a")], at(6))
    assert plan.create is None
    assert reasons(plan) == ["JobAlreadyActive"]


def test_replace_deletes_the_running_job() -> None:
    plan = decide(cronjob(status={"active": active("a")}, concurrencyPolicy="Replace"), [job("a")], at(6))
    assert [gone["metadata"]["name"] for gone in plan.delete] == ["a"]
    assert plan.create is not None


def test_allow_runs_beside_it() -> None:
    plan = decide(cronjob(status={"active": active("a")}), [job("a")], at(6))
    assert (plan.delete, plan.create is not None) == ([], True)


def test_a_finished_job_leaves_the_active_list() -> None:
    plan = decide(cronjob(status={"active": active("a")}), [job("a", "Complete")], at(1))
    assert plan.status == {"lastSuccessfulTime": format_time(at(1))}
    assert plan.events == [("Normal", "SawCompletedJob", "Saw completed job: a, condition: Complete")]


def test_a_job_that_nobody_made_is_reported() -> None:
    plan = decide(cronjob(), [job("manual")], at(1))
    assert plan.events == [
        ("Warning", "UnexpectedJob", "Saw a job that the controller did not create or forgot: manual")
    ]


def test_a_vanished_job_is_reported() -> None:
    plan = decide(cronjob(status={"active": active("a")}), [], at(1))
    assert (plan.status, reasons(plan)) == ({}, ["MissingJob"])


def test_history_limits_keep_the_youngest() -> None:
    jobs = [job(f"s{n}", "Complete", n) for n in range(4)] + [job(f"f{n}", "Failed", n) for n in range(2)]
    plan = decide(cronjob(successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1, suspend=True), jobs, at(4))
    assert [gone["metadata"]["name"] for gone in plan.delete] == ["s0", "f0"]


def test_an_unknown_zone_is_reported() -> None:
    plan = decide(cronjob(timeZone="Mars/Olympus"), [], at(6))
    assert plan.events == [
        ("Warning", "UnknownTimeZone", 'invalid timeZone: "Mars/Olympus": unknown time zone Mars/Olympus')
    ]


def test_the_job_says_when_it_was_due_in_the_zone() -> None:
    made = make_job(cronjob(timeZone="Europe/Berlin"), at(5))
    assert made["metadata"]["annotations"][SCHEDULED] == "2026-03-02T11:05:00+01:00"
    assert made["metadata"]["ownerReferences"][0]["controller"] is True


def test_an_offset_of_nothing_is_shown_as_utc() -> None:
    made = make_job(cronjob(timeZone="Europe/London"), at(5))
    assert made["metadata"]["annotations"][SCHEDULED] == "2026-03-02T10:05:00Z"


def test_what_history_has_no_room_for_leaves_the_active_list_unsaid() -> None:
    plan = decide(cronjob(status={"active": active("a")}, successfulJobsHistoryLimit=0), [job("a", "Complete")], at(2))
    assert [one["metadata"]["name"] for one in plan.delete] == ["a"]
    assert (reasons(plan), "active" in (plan.status or {})) == ([], False)


def test_a_schedule_that_is_never_due_is_reported() -> None:
    plan = decide(cronjob("59 23 31 2 *"), [], at(2))
    assert (reasons(plan), plan.requeue_after) == (["InvalidSchedule"], None)


def test_years_of_missed_minutes_are_found_at_once() -> None:
    assert decide(cronjob("* * * * *"), [], at(60 * 24 * 365 * 3)).due == at(60 * 24 * 365 * 3)
