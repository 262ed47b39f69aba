"""What is found about Jobs and statuses without a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.apimachinery.decode import DecodeError
from jobrelay.kit import LintFinding, lint_job, lint_status
from jobrelay.kube import Invalid
from jobrelay.kube.resource import JOBS
from tests.relay.fleets import AnyCluster

from .jobs import POD, Obj, job, stored

RELAY = "jobrelay.dev/relay"


def errors(found: tuple[LintFinding, ...]) -> list[str]:
    return [f"{each.field}: {each.message}" for each in found if each.severity == "error"]


def about(found: tuple[LintFinding, ...], severity: str) -> list[tuple[str, str]]:
    return [(each.field, each.message) for each in found if each.severity == severity]


def test_a_broken_rule_is_named_with_its_field_text_and_meaning() -> None:
    (found,) = lint_status(stored(), {"status": {"active": -1}})
    assert (found.severity, found.rule, found.field) == ("error", "S1", "status.active")
    assert found.message == "Invalid value: -1: must be greater than or equal to 0"
    assert found.meaning == "The number of active pods is not negative."


def test_a_legal_status_has_no_findings() -> None:
    assert lint_status(stored(), {"status": {"active": 1, "startTime": "2024-01-01T00:00:00Z"}}) == ()


def test_the_spec_of_the_stored_job_decides() -> None:
    new = job(completionMode="Indexed", completions=3) | {"status": {"completedIndexes": "0"}}
    assert [each.rule for each in lint_status(job(), new)] == ["S20"]


def test_defaults_of_the_stored_job_are_filled_in() -> None:
    """Without `completions`, a Job asks for one, so that index 1 is too large."""
    old = job(completionMode="Indexed", completions=1)
    assert [each.rule for each in lint_status(old, {"status": {"completedIndexes": "1"}})] == ["S18"]


def test_a_status_of_other_types_is_an_error() -> None:
    (found,) = lint_status(stored(), {"status": {"active": "many"}})
    assert "cannot unmarshal string into Go struct field JobStatus.status.active of type int32" in found.message


def test_an_unknown_field_of_a_status_is_a_warning() -> None:
    assert about(lint_status(stored(), {"status": {"x": 1}}), "warning") == [("status", 'unknown field "status.x"')]


def test_what_is_no_job_is_not_judged() -> None:
    with pytest.raises(DecodeError):
        lint_status({"spec": "none"}, {"status": {}})


REFUSED: list[Obj] = [
    job(completions=-1),
    job(managedBy="plain"),
    job(completionMode="Indexed", parallelism=2),
    job(template={"spec": {**POD, "restartPolicy": "Always"}}),
    job("Capital"),
    job("x" * 62, completionMode="Indexed", completions=100),
    job(selector={"matchLabels": {"a": "b"}}),
    job(maxFailedIndexes=1),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
async def test_a_cluster_refuses_what_is_an_error(any_cluster: AnyCluster, number: int) -> None:
    """The findings are the cluster's own answer. Texts that quote the uid differ in it."""
    with pytest.raises(Invalid) as refused:
        await any_cluster.client().create(JOBS, REFUSED[number])
    causes = refused.value.status.details.causes
    assert [each.field for each in causes] == [text.partition(": ")[0] for text in errors(lint_job(REFUSED[number]))]


async def test_a_cluster_accepts_what_has_no_error(any_cluster: AnyCluster) -> None:
    fine = job(managedBy=RELAY, ttlSecondsAfterFinished=1)
    assert errors(lint_job(fine)) == []
    await any_cluster.client().create(JOBS, fine)


def test_a_job_with_a_generated_name_is_fine() -> None:
    made = job(managedBy=RELAY)
    made["metadata"] = {"generateName": "j-"}
    assert errors(lint_job(made)) == []


def test_unknown_fields_and_warnings_of_the_server_are_warnings() -> None:
    found = about(lint_job(job("a.b", backofLimit=1, managedBy=RELAY)), "warning")
    assert found[0] == ("", 'unknown field "spec.backofLimit"')
    assert "a DNS label is recommended" in found[1][1]


def test_what_the_mirror_leaves_out_is_noted() -> None:
    found = lint_job(job(managedBy=RELAY, ttlSecondsAfterFinished=60))
    assert [field for field, _ in about(found, "note")] == ["spec.managedBy", "spec.ttlSecondsAfterFinished"]


def test_what_has_to_be_on_the_worker_is_noted() -> None:
    pod: dict[str, Any] = {**POD, "serviceAccountName": "robot"}
    notes = about(lint_job(job(managedBy=RELAY, template={"spec": pod})), "note")
    assert (
        "spec.template.spec.serviceAccountName",
        "ServiceAccount default/robot has to be on the worker too",
    ) in notes


def test_a_mirror_that_its_own_cluster_would_refuse_is_a_warning() -> None:
    found = lint_job(job("x" * 60, managedBy=RELAY, completionMode="Indexed", completions=2))
    assert errors(found) == []
    ((field, message),) = about(found, "warning")
    assert field == "metadata.name"
    assert message.endswith("(only if the management cluster itself is the worker)")


def test_a_job_of_another_controller_has_no_mirror() -> None:
    assert lint_job(job(managedBy="example.com/other", ttlSecondsAfterFinished=60)) == ()
