"""Jobs, reports and sequences of both, as tests of the kit use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from jobrelay.kit import Condition, Failed, Indexes, JobReport, Succeeded

Obj = dict[str, Any]
MANAGER = "example.com/tests"
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}


def job(name: str = "j", **spec: Any) -> Obj:
    """A Job as a user sends it."""
    metadata = {"name": name, "namespace": "default"}
    template = spec.pop("template", {"spec": POD})
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"managedBy": MANAGER, "template": template, **spec},
    }


def stored(status: Obj | None = None, **spec: Any) -> Obj:
    """A Job as the API server has it, as far as statuses are concerned."""
    defaults = {"parallelism": 1, "completions": 1, "completionMode": "NonIndexed", "suspend": False}
    made = job(**{**defaults, **spec})
    made["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2024-01-01T00:00:00Z"}
    return made | {"status": status or {}}


@dataclass(frozen=True)
class Step:
    """Time passes, the user may suspend, resume or scale the Job, and the controller reports."""

    seconds: int
    suspend: bool | None
    size: int | None
    report: JobReport


SPECS = st.sampled_from(
    [
        {},
        {"suspend": True},
        {"completions": 0, "suspend": True},
        {"completions": 4, "parallelism": 2},
        {"completions": 4, "parallelism": 4, "completionMode": "Indexed"},
        {"completions": 4, "parallelism": 2, "completionMode": "Indexed"},
        {"completions": 4, "parallelism": 4, "completionMode": "Indexed", "backoffLimitPerIndex": 1},
        {
            "completions": 4,
            "parallelism": 2,
            "completionMode": "Indexed",
            "successPolicy": {"rules": [{"succeededCount": 2}]},
        },
    ]
)
"""Specs of all kinds that rules tell apart."""
NUMBERS = st.sampled_from([0, 0, 1, 2, 3, -1])
INDEXES = st.none() | st.sets(st.integers(0, 5)).map(Indexes.of)
OUTCOMES = st.sampled_from([None, None, Succeeded(), Succeeded("SuccessPolicy", "Met"), Failed("Broken", "It broke")])
QUEUED, RUNS = Condition("example.com/Queued", True, "Waits"), Condition("example.com/Queued", False, "Runs")
OWN = st.sampled_from([(), (QUEUED,), (RUNS,)])
REPORTS = st.builds(
    JobReport,
    active=NUMBERS,
    ready=st.sampled_from([0, 0, 0, 1]),
    terminating=NUMBERS,
    succeeded=NUMBERS,
    failed=NUMBERS,
    completed_indexes=INDEXES,
    failed_indexes=INDEXES,
    outcome=OUTCOMES,
    conditions=OWN,
)
STEPS = st.builds(
    Step,
    seconds=st.sampled_from([0, 1, 60, -5]),
    suspend=st.sampled_from([None, None, True, False]),
    size=st.sampled_from([None, None, 2, 4]),
    report=REPORTS,
)
