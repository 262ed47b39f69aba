"""What is started, stopped and reported about the tasks of a Job."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobrelay.kit import Failed, ManagedJob, Succeeded, check_status, merged_status
from jobrelay.kit.tasks import Task, TaskId, TaskPlan, TaskState, plan_tasks
from jobrelay.kube import FakeClock
from jobrelay.kube.objects import decode_object

from .jobs import Obj, stored

CLOCK = FakeClock()
NOW = CLOCK.now()
INDEXED: Obj = {"completionMode": "Indexed"}
QUEUED, RUNNING, STOPPING = TaskState.QUEUED, TaskState.RUNNING, TaskState.STOPPING
SUCCEEDED, FAILED, STOPPED = TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED


def managed(status: Obj | None = None, **spec: Any) -> ManagedJob:
    obj = decode_object(json.dumps(stored(status, **spec)).encode())
    return ManagedJob(obj, None, None, CLOCK)  # type: ignore[arg-type]


def task(index: int, state: TaskState, attempt: int = 0, ended: datetime | None = None) -> Task:
    return Task(TaskId(index, attempt), state, ended)


def plan(*tasks: Task, status: Obj | None = None, **spec: Any) -> TaskPlan:
    return plan_tasks(managed(status, **spec), tasks, NOW)


def started(found: TaskPlan) -> list[tuple[int, int]]:
    return [(each.index, each.attempt) for each in found.start]


def test_as_many_tasks_are_started_as_may_run() -> None:
    found = plan(completions=5, parallelism=2)
    assert started(found) == [(0, 0), (1, 0)]
    assert found.report.active == 2


def test_the_next_place_follows_a_success() -> None:
    found = plan(task(0, SUCCEEDED), task(1, RUNNING), completions=5, parallelism=2)
    assert started(found) == [(2, 0)]
    assert (found.report.active, found.report.ready, found.report.succeeded) == (2, 1, 1)


def test_no_more_than_what_is_left_is_started() -> None:
    assert started(plan(task(0, SUCCEEDED), completions=2, parallelism=9)) == [(1, 0)]


def test_a_failed_place_is_tried_again_after_a_delay() -> None:
    lately = plan(task(0, FAILED, ended=NOW - timedelta(seconds=4)))
    assert (started(lately), lately.requeue_after, lately.report.failed) == ([], 6.0, 1)
    assert started(plan(task(0, FAILED, ended=NOW - timedelta(seconds=10)))) == [(0, 1)]


def test_the_delay_doubles() -> None:
    failures = [task(0, FAILED, attempt, NOW - timedelta(seconds=15)) for attempt in range(2)]
    assert plan(*failures).requeue_after == 5.0


def test_a_stopped_task_is_no_failure_and_is_started_again_at_once() -> None:
    found = plan(task(0, STOPPED))
    assert (started(found), found.report.failed) == ([(0, 1)], 0)


def test_a_place_waits_for_its_task_that_is_stopping() -> None:
    found = plan(task(0, STOPPING))
    assert (started(found), found.report.active, found.report.terminating) == ([], 0, 1)


def test_fewer_tasks_are_wanted_after_parallelism_is_lowered() -> None:
    found = plan(task(0, QUEUED), task(1, RUNNING), completions=2, parallelism=1)
    assert found.stop == (TaskId(0, 0),)


def test_a_suspended_job_has_its_tasks_stopped() -> None:
    found = plan(task(0, RUNNING), task(1, QUEUED), completions=2, parallelism=2, suspend=True)
    assert (len(found.stop), found.start, found.report.terminating) == (2, (), 2)


def test_success_is_announced_when_every_place_has_one() -> None:
    assert plan(task(0, SUCCEEDED)).report.outcome == Succeeded()


def test_a_work_queue_ends_when_one_has_succeeded_and_the_others_have_ended() -> None:
    queue: Obj = {"completions": None, "parallelism": 2}
    waits = plan(task(0, SUCCEEDED), task(1, RUNNING), **queue)
    assert (waits.report.outcome, waits.start, waits.stop) == (None, (), ())
    assert plan(task(0, SUCCEEDED), task(1, FAILED), **queue).report.outcome == Succeeded()


def test_what_the_status_remembers_is_not_run_again() -> None:
    found = plan(status={"succeeded": 2}, completions=3, parallelism=3)
    assert started(found) == [(2, 0)]
    indexes = plan(status={"completedIndexes": "0,2"}, completions=3, parallelism=3, **INDEXED)
    assert started(indexes) == [(1, 0)]


@pytest.mark.parametrize(
    ("failures", "spec", "reason"),
    [
        (2, {"backoffLimit": 1}, "BackoffLimitExceeded"),
        (1, {**INDEXED, "backoffLimitPerIndex": 0}, "FailedIndexes"),
        (1, {**INDEXED, "backoffLimitPerIndex": 0, "maxFailedIndexes": 0}, "MaxFailedIndexesExceeded"),
    ],
)
def test_too_many_failures_fail_the_job(failures: int, spec: Obj, reason: str) -> None:
    outcome = plan(*(task(0, FAILED, attempt) for attempt in range(failures)), **spec).report.outcome
    assert isinstance(outcome, Failed)
    assert outcome.reason == reason


def test_an_outcome_that_is_announced_is_carried_out() -> None:
    announced = [{"type": "FailureTarget", "status": "True", "reason": "R", "message": "M"}]
    found = plan(task(0, RUNNING), status={"conditions": announced})
    assert (found.report.outcome, found.stop) == (Failed("R", "M"), (TaskId(0, 0),))


def test_tasks_beyond_a_smaller_size_are_stopped_and_not_counted() -> None:
    small: Obj = {**INDEXED, "completions": 2, "parallelism": 2}
    found = plan(task(1, SUCCEEDED), task(2, SUCCEEDED), task(3, RUNNING), **small)
    assert (found.stop, str(found.report.completed_indexes)) == ((TaskId(3, 0),), "1")


TASKS = st.dictionaries(
    st.builds(TaskId, st.integers(0, 4), st.integers(0, 2)), st.sampled_from(list(TaskState)), max_size=8
)
SPECS = st.sampled_from(
    [
        {},
        {"completions": None, "parallelism": 3},
        {"completions": 3, "parallelism": 2, "backoffLimit": 1},
        {"completions": 3, "parallelism": 3, **INDEXED},
        {"completions": 4, "parallelism": 2, "backoffLimitPerIndex": 1, "maxFailedIndexes": 1, **INDEXED},
        {"completions": 2, "parallelism": 2, "suspend": True},
        {"completions": 0},
    ]
)


@settings(max_examples=200)
@given(SPECS, st.lists(TASKS, min_size=1, max_size=4))
def test_reports_about_any_tasks_are_legal_and_plans_keep_to_the_limits(
    spec: Obj, moments: list[dict[TaskId, TaskState]]
) -> None:
    obj = stored(**spec)
    for moment in moments:
        if managed(obj["status"], **spec).finished:
            return
        tasks = [Task(id, state, NOW) for id, state in moment.items()]
        found = plan_tasks(managed(obj["status"], **spec), tasks, NOW)
        assert not set(found.start) & set(moment)
        assert found.report.active <= obj["spec"]["parallelism"]
        status = merged_status(obj, found.report, NOW)
        assert check_status(obj, status) == ()
        obj = obj | {"status": status}
