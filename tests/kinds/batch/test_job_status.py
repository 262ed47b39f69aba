"""The rules S1 to S34 for writes to a Job's status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kinds.batch.job.status import RULES, broken_rules, validate_job_status_update
from jobrelay.kinds.batch.job.write import JobVersion, StatusWrite
from tests.kinds.workloads import texts

ANSWERS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("data").joinpath("job_status_answers.json").read_text()
)
INDEXED = {"completionMode": "Indexed", "completions": 5, "parallelism": 2, "backoffLimitPerIndex": 1}
T1, T2, T3 = "2024-01-01T00:01:00Z", "2024-01-01T00:02:00Z", "2024-01-01T00:03:00Z"


def conditions(*types: str) -> list[dict[str, str]]:
    return [{"type": type_, "status": "True"} for type_ in types]


DONE: dict[str, Any] = {
    "startTime": T1,
    "completionTime": T2,
    "conditions": conditions("SuccessCriteriaMet", "Complete"),
}
LOST: dict[str, Any] = {"startTime": T1, "conditions": conditions("FailureTarget", "Failed")}

CASES: list[tuple[list[str], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (["S1"], {}, {}, {"active": -1}),
    (["S2", "S30"], {}, {}, {"succeeded": -1}),
    (["S3", "S29"], {}, {}, {"failed": -1}),
    (["S4"], {}, {}, {"ready": -1}),
    (["S5"], {}, {}, {"terminating": -1}),
    (["S6"], {}, {}, {"uncountedTerminatedPods": {"failed": [""]}}),
    (["S7"], {}, {}, {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["a"]}}),
    (["S8", "S9", "S25", "S26"], {}, LOST, {**DONE, "conditions": DONE["conditions"] + LOST["conditions"]}),
    (["S9", "S14"], {}, {}, {**DONE, "conditions": conditions("FailureTarget", "Complete")}),
    (["S10"], {}, {}, {"completionTime": T2}),
    (["S11"], {}, {}, {"startTime": T1, "conditions": DONE["conditions"]}),
    (["S12"], {}, {}, {**DONE, "startTime": T3}),
    (["S13"], {}, {}, {**LOST, "conditions": conditions("Failed")}),
    (["S14"], {}, {}, {**DONE, "conditions": conditions("Complete")}),
    (["S15"], {}, {}, {**DONE, "active": 1}),
    (["S16"], {}, {}, {"conditions": LOST["conditions"]}),
    (["S17"], {}, {}, {**DONE, "uncountedTerminatedPods": {"failed": ["u"]}}),
    (["S18"], INDEXED, {}, {"completedIndexes": "3-1"}),
    (["S19"], INDEXED, {}, {"failedIndexes": "x"}),
    (["S20"], {"completions": 5}, {}, {"completedIndexes": "1"}),
    (["S21"], {"completions": 5}, {}, {"failedIndexes": ""}),
    (["S22"], INDEXED, {}, {"completedIndexes": "0-3", "failedIndexes": "2"}),
    (["S23"], {}, {}, {**DONE, "terminating": 1}),
    (["S24"], {}, {}, {"ready": 2, "active": 1}),
    (["S13", "S25"], {}, {}, {"startTime": T1, "conditions": conditions("SuccessCriteriaMet", "Failed")}),
    (["S26"], {}, {}, {"conditions": conditions("SuccessCriteriaMet", "FailureTarget")}),
    (["S14", "S27"], {"successPolicy": {"rules": []}}, {}, {**DONE, "conditions": conditions("Complete")}),
    (["S28", "S28"], {}, LOST, {"startTime": T1}),
    (["S29"], {}, {"failed": 2}, {"failed": 1}),
    (["S30"], {}, {"succeeded": 2}, {}),
    (["S31"], {}, DONE, {**DONE, "completionTime": T3}),
    (["S32"], {}, {"startTime": T1}, {"startTime": T2}),
    (["S33"], {}, {"conditions": conditions("SuccessCriteriaMet")}, {}),
    (["S34"], {}, {**DONE, "conditions": conditions("Complete")}, DONE),
]


def write(spec: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"spec": spec, "status": new}, {"spec": spec, "status": old}


@pytest.mark.parametrize(("rules", "spec", "old", "new"), CASES, ids=["+".join(c[0]) for c in CASES])
def test_rule_fires(rules: list[str], spec: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> None:
    assert [rule.name for rule, _ in broken_rules(*write(spec, old, new))] == rules


def test_every_rule_has_a_case_a_number_and_a_meaning() -> None:
    assert [rule.name for rule in RULES] == [f"S{n}" for n in range(1, 35)]
    assert {name for case in CASES for name in case[0]} == {rule.name for rule in RULES}
    assert all(rule.meaning.endswith(".") for rule in RULES)


@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_combinations_are_told_as_by_a_real_server(answer: dict[str, Any]) -> None:
    errors = validate_job_status_update(*write(answer["spec"], answer["old"], answer["new"]))
    assert texts(errors) == answer["errors"]


def test_success_and_failure_in_one_write_are_legal() -> None:
    assert not validate_job_status_update(*write({}, {}, DONE))
    assert not validate_job_status_update(*write({}, {}, LOST))


def test_old_bad_data_does_not_block_other_changes() -> None:
    bad = {"completedIndexes": "9", "ready": 3}
    assert not validate_job_status_update(*write(INDEXED, bad, {**bad, "failed": 1}))


def test_start_time_may_move_when_the_job_is_resumed_or_suspended() -> None:
    suspended = [{"type": "Suspended", "status": "True"}]
    resumed = [{"type": "Suspended", "status": "False"}]
    old = {"startTime": T1, "conditions": suspended}
    assert not validate_job_status_update(*write({"suspend": False}, old, {"startTime": T2, "conditions": resumed}))
    assert not validate_job_status_update(*write({"suspend": True}, old, {"conditions": suspended}))


def test_an_elastic_job_may_lose_successes() -> None:
    spec = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    assert not validate_job_status_update(*write(spec, {"succeeded": 3}, {"succeeded": 2}))


def test_finished_means_complete_or_failed() -> None:
    assert JobVersion({"spec": {}, "status": DONE}).finished
    assert JobVersion({"spec": {}, "status": LOST}).finished
    assert not JobVersion({"spec": {}, "status": {"conditions": conditions("SuccessCriteriaMet")}}).finished
    assert not JobVersion({"spec": {}}).finished


@given(st.sampled_from([c[3] for c in CASES]), st.sampled_from([c[1] for c in CASES]))
def test_writing_the_same_status_again_breaks_no_change_rule(status: dict[str, Any], spec: dict[str, Any]) -> None:
    always = {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S25", "S26", "S27"}
    assert {rule.name for rule, _ in broken_rules(*write(spec, status, status))} <= always


@given(st.sampled_from(CASES), st.sampled_from([c[3] for c in CASES]))
def test_rules_about_fields_that_did_not_change_are_kept(case: Any, old: dict[str, Any]) -> None:
    after, before = write(case[1], old, {**old, **case[3]})
    checked = [rule.name for rule in RULES for _ in rule.check(StatusWrite(after, before), rule)]
    assert sorted(rule.name for rule, _ in broken_rules(after, before)) == sorted(checked)
