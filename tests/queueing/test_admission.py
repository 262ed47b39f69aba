"""Queued Jobs on an embedded fleet: admitted before they are placed, in order, within quota."""

from __future__ import annotations

from jobrelay.kube.resource import JOBS
from jobrelay.queueing.resources import CLUSTER_QUEUES, WORKLOADS
from jobrelay.queueing.views import WorkloadView
from tests.queueing.fleets import queue_fleet, queued_job, quota_queue


async def test_a_delegated_job_is_admitted_placed_and_finished() -> None:
    async with queue_fleet() as it:
        await it.make_queue()
        await it.client.create(JOBS, queued_job("train"))
        await it.it.finished("train")
        done = await it.until_condition("train", "Finished")
        assert done.reason == "Succeeded"
        admitted = await it.condition("train", "Admitted")
        assert admitted is not None
        assert (admitted.reason, admitted.message) == ("Admitted", "The workload is admitted")


async def test_a_job_waits_until_quota_is_free() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=1)
        await it.client.create(JOBS, queued_job("first", seconds=1000))
        await it.it.runs("first")
        await it.client.create(JOBS, queued_job("second"))
        waits = await it.until_condition("second", "QuotaReserved", status=False)
        assert waits.reason == "Pending"
        assert "insufficient unused quota for cpu in flavor default, 1 more needed" in waits.message
        assert await it.it.place("second") == ""
        await it.client.delete(JOBS, "first", "default", propagation="Background")
        await it.it.finished("second")


async def test_pods_of_a_job_behind_another_one_of_its_shape_are_said_to_be_not_ready() -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=1)
        for name in ("first", "second", "third"):
            await it.client.create(JOBS, queued_job(name, seconds=1000))
        for name in ("first", "second", "third"):
            await it.until_condition(name, "PodsReady", status=False, reason="WaitForStart")


async def test_a_job_that_requests_nothing_of_a_resource_gets_a_flavor_of_it() -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=0)
        await it.client.create(JOBS, queued_job("empty", cpu="0", seconds=1000))
        await it.until_condition("empty", "Admitted")
        found = await it.workload("empty")
        assert found is not None
        admission = found.decode(WorkloadView).status.admission
        assert admission is not None
        assert admission.pod_set_assignments[0].flavors == {"cpu": "default"}


async def test_a_job_without_a_queue_is_not_asked_for_quota() -> None:
    async with queue_fleet() as it:
        await it.it.submit("free")
        await it.it.finished("free")
        assert (await it.client.list(WORKLOADS, "default")).items == ()


async def test_a_queue_with_a_selector_that_is_none_stops_nobody() -> None:
    async with queue_fleet() as it:
        selector = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
        await it.create(CLUSTER_QUEUES, quota_queue("broken", namespaceSelector=selector))
        await it.make_queue()
        await it.client.create(JOBS, queued_job("train"))
        await it.until_condition("train", "QuotaReserved")
