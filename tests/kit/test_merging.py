"""The status that follows from a Job and a report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jobrelay.kit import Condition, Failed, Indexes, JobReport, Succeeded, merged_status

from .jobs import QUEUED, Obj, stored

NOW = datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
T0, T5 = "2024-01-01T00:00:00Z", "2024-01-01T00:05:00Z"
INDEXED: Obj = {"completions": 4, "parallelism": 2, "completionMode": "Indexed"}


def merged(report: JobReport, status: Obj | None = None, **spec: Any) -> Obj:
    return merged_status(stored(status, **spec), report, NOW)


def types(status: Obj) -> list[str]:
    return [f"{one['type']}={one['status']}" for one in status.get("conditions", [])]


def true(*names: str) -> list[Obj]:
    return [{"type": name, "status": "True", "reason": "R", "message": "M"} for name in names]


def test_the_first_report_starts_a_job() -> None:
    assert merged(JobReport(active=1)) == {"startTime": T5, "active": 1, "ready": 0, "terminating": 0}


def test_the_start_stays() -> None:
    assert merged(JobReport(active=1), {"startTime": T0})["startTime"] == T0


def test_counters_do_not_go_back() -> None:
    status = merged(JobReport(succeeded=1, failed=3), {"succeeded": 2, "failed": 2})
    assert (status["succeeded"], status["failed"]) == (2, 3)


def test_an_outcome_is_announced_while_something_runs() -> None:
    status = merged(JobReport(active=1, outcome=Failed("Broken", "It broke")))
    assert types(status) == ["FailureTarget=True"]
    assert (status["conditions"][0]["reason"], status["conditions"][0]["message"]) == ("Broken", "It broke")


def test_an_outcome_is_terminal_when_nothing_runs() -> None:
    status = merged(JobReport(succeeded=1, outcome=Succeeded()), {"startTime": T0})
    assert types(status) == ["SuccessCriteriaMet=True", "Complete=True"]
    assert status["completionTime"] == T5


def test_what_was_announced_is_carried_out_without_a_new_outcome() -> None:
    status = merged(JobReport(), {"startTime": T0, "conditions": true("FailureTarget")})
    assert types(status) == ["FailureTarget=True", "Failed=True"]
    assert (status["conditions"][1]["reason"], status["conditions"][1]["message"]) == ("R", "M")


def test_a_clock_that_was_set_back_does_not_complete_a_job_before_its_start() -> None:
    late = "2024-01-01T00:09:00Z"
    assert merged(JobReport(outcome=Succeeded()), {"startTime": late})["completionTime"] == late


def test_a_suspended_job_with_nothing_active_says_so_and_does_not_start() -> None:
    status = merged(JobReport(), suspend=True)
    assert types(status) == ["Suspended=True"]
    assert "startTime" not in status


def test_a_suspended_job_with_something_active_does_not_say_so_yet() -> None:
    assert types(merged(JobReport(active=1), {"startTime": T0}, suspend=True)) == []


def test_a_resumed_job_starts_anew() -> None:
    status = merged(JobReport(), {"startTime": T0, "conditions": true("Suspended")})
    assert types(status) == ["Suspended=False"]
    assert status["startTime"] == T5


def test_completed_indexes_are_added_and_counted() -> None:
    report = JobReport(completed_indexes=Indexes.of([2]))
    status = merged(report, {"completedIndexes": "0", "succeeded": 1}, **INDEXED)
    assert (status["completedIndexes"], status["succeeded"]) == ("0,2", 2)
    assert "failedIndexes" not in status


def test_failed_indexes_are_shown_with_a_limit_per_index() -> None:
    limited = {**INDEXED, "backoffLimitPerIndex": 0}
    assert merged(JobReport(), **limited)["failedIndexes"] == ""
    assert merged(JobReport(failed_indexes=Indexes.of([1])), **limited)["failedIndexes"] == "1"
    assert merged(JobReport(), {"failedIndexes": "3"}, **limited)["failedIndexes"] == "3"


def test_an_indexed_job_that_was_scaled_down_forgets_what_is_beyond() -> None:
    small = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    status = merged(JobReport(), {"completedIndexes": "0,3", "succeeded": 2}, **small)
    assert (status["completedIndexes"], status["succeeded"]) == ("0", 1)


def test_conditions_of_the_controller_and_of_others_are_kept() -> None:
    status = merged(JobReport(conditions=(QUEUED,)), {"conditions": true("example.com/Other")})
    assert types(status) == ["example.com/Other=True", "example.com/Queued=True"]


def test_a_field_that_is_not_known_stays() -> None:
    assert merged(JobReport(), {"later": 1})["later"] == 1


@pytest.mark.parametrize("type_", ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"])
def test_conditions_of_the_api_follow_from_the_report(type_: str) -> None:
    with pytest.raises(ValueError, match="follows from the report"):
        Condition(type_, True, "R")
