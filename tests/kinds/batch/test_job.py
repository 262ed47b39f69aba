"""Jobs: defaults, generated labels, immutable fields, warnings, deletion."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kinds.batch.job.strategy import STRATEGIES
from jobrelay.kinds.batch.job.validation import managed_by_errors
from tests.kinds.workloads import UID, create, hooks, job, read, template, texts, update

JOB = STRATEGIES[("batch", "jobs")]
GENERATED = {
    "batch.kubernetes.io/controller-uid": UID, "batch.kubernetes.io/job-name": "x",
    "controller-uid": UID, "job-name": "x",
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {"parallelism": 1, "completions": 1, "backoffLimit": 6, "podReplacementPolicy": "TerminatingOrFailed"}),
        ({"parallelism": 3}, {"parallelism": 3, "completions": None}),
        ({"completions": 3}, {"parallelism": 1, "completions": 3}),
        ({"backoffLimitPerIndex": 1}, {"backoffLimit": 2147483647}),
        ({"podFailurePolicy": {"rules": []}}, {"podReplacementPolicy": "Failed"}),
        ({}, {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False}),
    ],
)
def test_defaults(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    spec = read("Job", job(**given))["spec"]
    assert {name: spec.get(name) for name in wanted} == wanted


def test_pod_failure_patterns_mean_a_true_condition() -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec = read("Job", job(podFailurePolicy={"rules": [rule]}))["spec"]
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"


def test_labels_and_selector_are_generated() -> None:
    made, errors = create("Job", job())
    assert not errors
    assert made["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}


def test_a_job_without_labels_shows_those_of_its_template() -> None:
    made, _ = create("Job", job())
    assert made["metadata"]["labels"] == GENERATED
    labelled, _ = create("Job", job(template=template({"app": "a"}, restartPolicy="Never")))
    assert labelled["metadata"]["labels"] == {"app": "a"} | GENERATED
    assert labelled["metadata"]["labels"] is not labelled["spec"]["template"]["metadata"]["labels"]


def test_a_job_with_labels_keeps_them() -> None:
    body = job()
    body["metadata"]["labels"] = {"mine": "1"}
    assert create("Job", body)[0]["metadata"]["labels"] == {"mine": "1"}


def test_labels_taken_over_are_not_validated_twice() -> None:
    _, errors = create("Job", job("x" * 64))
    assert {error.field for error in errors} == {"spec.template.labels"}


def test_status_is_cleared_and_generation_starts_at_one() -> None:
    made, _ = create("Job", {**job(), "status": {"active": 3}})
    assert made["status"] == {}
    assert made["metadata"]["generation"] == 1


def test_a_spec_change_counts_a_generation_and_keeps_the_status() -> None:
    made, _ = create("Job", job())
    made["status"] = {"active": 1}
    new, errors = update("Job", made, {"spec": {"parallelism": 4}, "status": {"active": 9}})
    assert not errors
    assert (new["metadata"]["generation"], new["status"]) == (2, {"active": 1})


def test_a_status_write_keeps_the_spec_and_takes_metadata() -> None:
    made, _ = create("Job", job())
    changes = {"spec": {"parallelism": 4}, "metadata": {"annotations": {"a": "b"}}, "status": {"active": 2}}
    new, errors = update("Job", made, changes, "status")
    assert not errors
    assert new["spec"] == made["spec"]
    assert new["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"completions": 2}, "spec.completions: Invalid value: 2: field is immutable"),
        ({"managedBy": "b.io/y"}, 'spec.managedBy: Invalid value: "b.io/y": field is immutable'),
        ({"managedBy": None}, "spec.managedBy: Invalid value: null: field is immutable"),
        ({"completionMode": "Indexed"}, 'spec.completionMode: Invalid value: "Indexed": field is immutable'),
    ],
)
def test_immutable_fields(changes: dict[str, Any], problem: str) -> None:
    made, _ = create("Job", job(managedBy="a.io/x"))
    assert texts(update("Job", made, {"spec": changes})[1]) == [problem]


def test_an_indexed_job_is_scaled_in_tandem() -> None:
    made, _ = create("Job", job(completionMode="Indexed", completions=3, parallelism=3))
    assert not update("Job", made, {"spec": {"completions": 5, "parallelism": 5}})[1]
    problem = "spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"
    assert texts(update("Job", made, {"spec": {"completions": 5}})[1]) == [problem]


NODE_AFFINITY: dict[str, Any] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"nodeSelector": {"zone": "a"}}},
        {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}},
        {"spec": {"schedulingGates": [{"name": "a.b/c"}]}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"affinity": NODE_AFFINITY}},
    ],
)
def test_a_suspended_job_that_never_started_may_be_rescheduled(changes: dict[str, Any]) -> None:
    suspended, _ = create("Job", job(suspend=True))
    assert not update("Job", suspended, {"spec": {"template": changes}})[1]
    suspended["status"] = {"startTime": "2024-01-01T00:00:00Z"}
    errors = update("Job", suspended, {"spec": {"template": changes}})[1]
    assert [(error.field, error.detail) for error in errors] == [("spec.template", "field is immutable")]


def test_a_changed_template_is_shown_as_the_server_has_it() -> None:
    made, _ = create("Job", job())
    (error,) = update("Job", made, {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}})[1]
    assert error.text().startswith('spec.template: Invalid value: {"labels":{"batch.kubernetes.io/controller-uid":')
    assert '"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"a","Image":"b:1",' in error.text()
    assert '"SecurityContext":{"HostNetwork":false,"HostPID":false,' in error.text()


@pytest.mark.parametrize(
    ("value", "details"),
    [
        ("example.com/x", []),
        ("kubernetes.io/job-controller", []),
        ("", [""]),
        ("example.com", ['must be a domain-prefixed path (such as "acme.io/foo")']),
        ("a.io/" + "x" * 58, []),
        ("a.io/" + "x" * 59, ["may not be more than 63 bytes"]),
    ],
)
def test_managed_by(value: str, details: list[str]) -> None:
    assert [error.detail for error in managed_by_errors(value)] == details


def test_deleting_orphans_pods_and_says_so() -> None:
    assert JOB.default_propagation == "Orphan"
    assert JOB.warn_delete[0].startswith("child pods are preserved by default when jobs are deleted; ")


def test_jobs_are_selected_by_successes() -> None:
    made, _ = create("Job", job())
    assert hooks("Job").fields(made)["status.successful"] == "0"
    assert JOB.unsupported_field is not None
    assert JOB.unsupported_field("status.failed", "Job") == 'field label "status.failed" not supported for Job'


def test_a_name_that_is_no_hostname_warns() -> None:
    made, _ = create("Job", job("a.b"))
    (warning,) = hooks("Job").warn_create(made)
    assert warning.endswith("a DNS label is recommended: [must not contain dots]")


def test_empty_policies_are_told_from_absent_ones_until_they_are_stored() -> None:
    made, errors = create("Job", job(successPolicy={"rules": []}))
    problem = 'spec.successPolicy: Invalid value: {"Rules":[]}: requires indexed completion mode'
    assert texts(errors) == [problem]
    assert made["spec"]["successPolicy"] == {"rules": None}
    same, errors = update("Job", made, {"spec": {"successPolicy": {"rules": []}}})
    assert same["metadata"]["generation"] == 1
    assert {error.detail for error in errors} == {"requires indexed completion mode"}
