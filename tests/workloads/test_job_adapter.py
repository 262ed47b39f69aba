"""The smaller questions that the relay asks about a Job."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import pytest

from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.kube.resource import JOBS
from jobrelay.workloads import ADAPTERS, Demand, Haste, status_patch
from jobrelay.workloads.names import MULTIKUEUE, RELAY

from .jobs import ADAPTER, COMPLETE, DONE, LOST, MET, POD, RESUMED, SUSPENDED, T1, T2, TARGET, Obj, as_object, job

NOW = dt.datetime(2026, 1, 1, 12, 1, tzinfo=dt.UTC)


def test_jobs_are_in_the_table() -> None:
    adapter = ADAPTERS[JOBS]
    assert (adapter.managers, adapter.fences) == ({RELAY, MULTIKUEUE}, True)


class TestRead:
    def test_a_job_that_waits(self) -> None:
        facts = ADAPTER.read(as_object(job(suspend=True, activeDeadlineSeconds=5)))
        assert (facts.managed_by, facts.suspended, facts.deadline) == (RELAY, True, 5)
        assert (facts.started, facts.end, facts.deleting) == (None, None, False)

    def test_a_job_that_runs(self) -> None:
        facts = ADAPTER.read(as_object(job({"startTime": T1, "active": 3, "ready": 1})))
        assert (facts.started, facts.active, facts.end) == (NOW, 3, None)

    def test_a_complete_job(self) -> None:
        facts = ADAPTER.read(as_object(job(DONE)))
        assert facts.started == NOW
        assert facts.end is not None
        assert (facts.end.succeeded, facts.end.at, facts.end.reason) == (
            True, NOW + dt.timedelta(minutes=1), "CompletionsReached",
        )  # fmt: skip

    def test_a_failed_job(self) -> None:
        end = ADAPTER.read(as_object(job(LOST))).end
        assert end is not None
        assert (end.succeeded, end.reason) == (False, "BackoffLimitExceeded")

    def test_an_announced_end_is_none(self) -> None:
        assert ADAPTER.read(as_object(job({"conditions": [TARGET]}))).end is None


class TestIdle:
    def test_a_suspended_job_says_so(self) -> None:
        assert ADAPTER.idle(as_object(job(suspend=True)), NOW) == {
            "conditions": [SUSPENDED], "ready": 0, "terminating": 0,
        }  # fmt: skip

    def test_its_pods_are_gone_and_its_counters_stay(self) -> None:
        old = {"startTime": T1, "active": 2, "ready": 1, "failed": 1, "conditions": [RESUMED]}
        told = ADAPTER.idle(as_object(job(old, suspend=True)), NOW)
        assert told == {"startTime": T1, "failed": 1, "ready": 0, "terminating": 0, "conditions": [SUSPENDED]}

    @pytest.mark.parametrize(("status", "suspend"), [({"conditions": [SUSPENDED]}, True), (DONE, True), ({}, False)])
    def test_nothing_to_say(self, status: Obj, suspend: bool) -> None:
        assert ADAPTER.idle(as_object(job(status, suspend=suspend)), NOW) is None


@pytest.mark.parametrize(
    ("old", "new", "haste"),
    [
        ({"active": 1}, {"active": 2, "ready": 1}, Haste.SOON),
        ({}, {"startTime": T1, "active": 1}, Haste.SOON),
        ({"startTime": T1}, {"startTime": T1, "conditions": [SUSPENDED]}, Haste.NOW),
        ({"conditions": [SUSPENDED]}, {"conditions": [RESUMED]}, Haste.NOW),
        ({"startTime": T1}, {"startTime": T1, "terminating": 1, "conditions": [TARGET]}, Haste.NOW),
        ({"startTime": T1, "active": 1}, {"startTime": T1, "conditions": [MET]}, Haste.LATER),
        ({"startTime": T1, "conditions": [MET]}, {"startTime": T1, "completionTime": T2, "conditions": [MET, COMPLETE]}, Haste.NOW),
        ({"startTime": T1}, LOST, Haste.NOW),
    ],
)  # fmt: skip
def test_only_counts_a_start_and_an_end_that_follows_at_once_may_wait(old: Obj, new: Obj, haste: Haste) -> None:
    assert ADAPTER.haste(as_object(job(old)), new) is haste


class TestDemand:
    @pytest.mark.parametrize(
        ("spec", "count"), [({}, 1), ({"parallelism": 3}, 3), ({"parallelism": 5, "completions": 2}, 2), ({"parallelism": 0}, 0)]
    )  # fmt: skip
    def test_pods_at_a_time(self, spec: Obj, count: int) -> None:
        assert demand(**spec).pod_sets[0].count == count

    def test_requests_are_those_of_the_pods(self) -> None:
        container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "500m"}, "requests": {"memory": "1Gi"}}}
        found = demand(template={"spec": POD | {"containers": [container]}}).pod_sets[0].requests
        assert found == {"cpu": Fraction(1, 2), "memory": Fraction(2**30)}

    def test_where_the_pods_may_run(self) -> None:
        pod = POD | {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}]}
        pods = demand(template={"spec": pod}).pod_sets[0]
        assert (pods.node_selector, pods.tolerations, pods.affinity) == (
            {"disk": "ssd"},
            ({"operator": "Exists"},),
            None,
        )

    def test_how_long_they_may_take_to_end(self) -> None:
        assert demand().grace == 30
        assert demand(template={"spec": POD | {"terminationGracePeriodSeconds": 5}}).grace == 5

    def test_jobs_of_one_batch_have_one_shape(self) -> None:
        other = job(None, "k", template=template(args=["2"], env=[{"name": "SEED", "value": "2"}]), suspend=True)
        first = job(template=template(args=["1"], env=[{"name": "SEED", "value": "1"}]))
        assert ADAPTER.demand(as_object(first)).shape == ADAPTER.demand(as_object(other)).shape

    @pytest.mark.parametrize(
        "change", [{"template": {"spec": POD | {"nodeSelector": {"a": "b"}}}}, {"parallelism": 2}, {"backoffLimit": 1}]
    )
    def test_what_a_worker_may_judge_changes_the_shape(self, change: Obj) -> None:
        assert demand(**change).shape != demand().shape


def demand(**spec: Any) -> Demand:
    return ADAPTER.demand(as_object(job(**spec)))


def template(**container: Any) -> Obj:
    return {"spec": POD | {"containers": [{"name": "c", "image": "i:1", **container}]}}


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"active": 1}, {"active": 1}, {}),
        ({"active": 1, "failed": 2}, {"failed": 3}, {"active": None, "failed": 3}),
        ({"pods": {"failed": ["u"], "x": 1}}, {"pods": {"x": 1}}, {"pods": {"failed": None}}),
        ({"pods": {"failed": ["u"]}}, {"pods": {}}, {"pods": {"failed": None}}),
        ({}, {"pods": {}}, {"pods": {}}),
        ({"list": [1, 2]}, {"list": [1]}, {"list": [1]}),
        ({"flag": 1}, {"flag": True}, {"flag": True}),
    ],
)
def test_a_patch_says_what_vanished(old: Obj, new: Obj, patch: Obj) -> None:
    assert status_patch(old, new) == patch
    assert apply_merge_patch(old, patch) == new
