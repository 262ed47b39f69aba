"""CronJobs: defaults, and what differs between create and update."""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.strategy import Obj
from tests.kinds.workloads import create, hooks, job, texts, update


def cron_job(name: str = "x", **spec: Any) -> Obj:
    return {
        "metadata": {"name": name},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, **spec},
    }


def test_defaults_leave_the_job_template_alone() -> None:
    spec = create("CronJob", cron_job())[0]["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert set(spec["jobTemplate"]["spec"]) == {"template"}


def test_long_names_are_only_refused_on_create() -> None:
    made, errors = create("CronJob", cron_job("x" * 53))
    assert [error.detail for error in errors] == ["must be no more than 52 characters"]
    assert not update("CronJob", made, {"spec": {"suspend": True}})[1]


def test_a_zone_in_the_schedule_is_tolerated_where_it_was_before() -> None:
    old, errors = create("CronJob", cron_job(schedule="TZ=UTC * * * * *"))
    assert [error.detail for error in errors] == ["cannot use TZ or CRON_TZ in schedule, use timeZone field instead"]
    new, errors = update("CronJob", old, {"spec": {"suspend": True}})
    assert not errors
    assert hooks("CronJob").update.warn(new, old)[-1].startswith("cannot use TZ or CRON_TZ in spec.spec.schedule, ")
    both = update("CronJob", old, {"spec": {"timeZone": "UTC"}})[1]
    assert [error.detail for error in both] == ["cannot use both timeZone field and TZ or CRON_TZ in schedule"]


def test_an_unchanged_bad_zone_is_tolerated() -> None:
    old, errors = create("CronJob", cron_job(timeZone="No/Where"))
    assert texts(errors) == ['spec.timeZone: Invalid value: "No/Where": unknown time zone No/Where']
    assert not update("CronJob", old, {"spec": {"suspend": True}})[1]


def test_the_job_template_may_change() -> None:
    old, _ = create("CronJob", cron_job())
    new, errors = update("CronJob", old, {"spec": {"jobTemplate": {"spec": {"managedBy": "a.io/b"}}}})
    assert not errors
    assert new["metadata"]["generation"] == 2
