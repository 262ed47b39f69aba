"""Whose a Job is: told from its spec, from Leases and from what was written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobrelay.apimachinery.times import format_micro_time, format_time
from jobrelay.conformance.ownership import ownership

Obj = dict[str, Any]
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def job(manager: str | None = "example.com/jobs", *, written: float | None = None, **status: Any) -> Obj:
    writes = [] if written is None else [
        {"manager": "jobs", "subresource": "status", "time": format_time(ago(written))}
    ]  # fmt: skip
    metadata = {"name": "j", "namespace": "a", "creationTimestamp": format_time(ago(3600)), "managedFields": writes}
    return {"metadata": metadata, "spec": {"managedBy": manager} if manager else {}, "status": status}


def lease(name: str, renewed: float, *, namespace: str = "system", holder: str = "host_1") -> Obj:
    times = {"renewTime": format_micro_time(ago(renewed)), "leaseDurationSeconds": 15, "holderIdentity": holder}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": times}


@pytest.mark.parametrize(
    ("manager", "found"),
    [
        ("example.com/jobs", lease("example.com-jobs", 3)),
        ("example.com/jobs", lease("x1.example.com", 3)),
        ("example.com/jobs", lease("leader", 3, holder="jobs-7f_1")),
        ("kueue.x-k8s.io/multikueue", lease("c1f6bfd2.kueue.x-k8s.io", 3)),
        (None, lease("kube-controller-manager", 3, namespace="kube-system")),
    ],
)
def test_a_lease_that_was_renewed_is_a_sign_of_life(manager: str | None, found: Obj) -> None:
    told = ownership(job(manager), [lease("another", 1), found], [], NOW)
    assert (told.alive, told.controller) == (True, manager or "kubernetes.io/job-controller")
    assert f"Lease {found['metadata']['namespace']}/{found['metadata']['name']} was renewed 3s ago" in told.sentence


def test_a_lease_that_was_not_renewed_is_none() -> None:
    told = ownership(job(active=1, written=700), [lease("example.com-jobs", 600)], [], NOW)
    assert told.alive is False
    assert told.sentence == (
        "It belongs to the controller example.com/jobs. That controller shows no sign of life: Lease "
        "system/example.com-jobs was renewed 10m ago by host_1. Nothing has happened for 11m: that is how old the last "
        "write to its status is."
    )


def test_a_write_to_another_job_of_the_controller_is_a_sign_of_life() -> None:
    others = [job("example.com/others", written=1), job(written=90)]
    told = ownership(job(), [lease("node", 1, namespace="kube-node-lease")], others, NOW)
    assert (told.alive, told.evidence) == (True, "jobs wrote the status of Job a/j 90s ago")
    assert "Nobody has written a status since the Job was created 60m ago." in told.sentence


def test_an_old_write_is_no_sign_of_life() -> None:
    assert ownership(job(written=3000, active=1), [], [], NOW).alive is False


def test_without_any_trace_that_is_said() -> None:
    told = ownership(job(), [], [], NOW)
    assert told.alive is None
    assert "There is no trace of that controller" in told.sentence


def test_a_finished_job_is_said_to_be_finished() -> None:
    told = ownership(job(None, written=60, conditions=[{"type": "Complete", "status": "True"}]), [], [], NOW)
    assert "The Job has finished; its status was last written 60s ago." in told.sentence
    assert told.as_json()["quietSince"] == format_time(ago(60))
