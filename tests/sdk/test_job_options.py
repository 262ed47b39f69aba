"""Options of a command line as a Job that an API server accepts."""

from __future__ import annotations

import pytest

from jobrelay.kit.lint import lint_job
from jobrelay.sdk import JobOptions, RelayError, job_manifest


def test_the_least_is_a_name_and_an_image() -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    assert job_manifest(JobOptions("hello", "busybox")) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "hello"},
        "spec": {"template": {"spec": pod}},
    }


def test_amounts_are_requests_and_what_cannot_be_taken_back_is_a_limit() -> None:
    made = job_manifest(JobOptions("hello", "busybox", cpu="500m", memory="1Gi", gpu=2))
    assert made["spec"]["template"]["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"},
        "limits": {"memory": "1Gi", "nvidia.com/gpu": "2"},
    }


def test_several_completions_have_indexes() -> None:
    spec = job_manifest(JobOptions("render", "busybox", completions=8, parallelism=4))["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (8, 4, "Indexed")


def test_a_server_would_refuse_nothing() -> None:
    made = job_manifest(
        JobOptions("a", "b", ["sh", "-c", "true"], "1", "1Gi", 1, {"A": "b=c"}, 3, 2, {"team": "x"}, {"note": "y"})
    )
    made["spec"]["managedBy"] = "jobrelay.dev/relay"
    assert [each for each in lint_job(made) if each.severity == "error"] == []


@pytest.mark.parametrize(("options", "hint"), [({"cpu": "two"}, "500m or 2"), ({"memory": "1 GB"}, "512Mi or 4Gi")])
def test_an_amount_that_is_none_is_an_error_with_an_example(options: dict[str, str], hint: str) -> None:
    with pytest.raises(RelayError, match="not a quantity") as caught:
        job_manifest(JobOptions("a", "b", **options))  # type: ignore[arg-type]
    assert hint in caught.value.hint
