"""What admission means for Jobs that run, on the management cluster itself and on workers."""

from __future__ import annotations

from typing import Any

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube.resource import JOBS
from jobrelay.queueing.resources import CLUSTER_QUEUES, LOCAL_QUEUES, PRIORITY_CLASSES, RESOURCE_FLAVORS, WORKLOADS
from tests.queueing.fleets import QUEUE, QueueFleet, queue_fleet, queued_job
from tests.relay.fleets import Fleet

LABELLED = {"nodeLabels": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
HIGH = "kueue.x-k8s.io/priority-class"


async def suspended(it: Fleet, name: str) -> bool:
    return bool((await it.job(name))["spec"].get("suspend"))


async def pod_spec(it: Fleet, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await it.job(name))["spec"]["template"]
    return found


async def add_priority(it: QueueFleet, name: str, value: int) -> None:
    await it.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})


async def test_an_undelegated_job_is_suspended_until_it_is_admitted() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=1)
        await it.client.create(JOBS, queued_job("first", managed_by=None))
        await it.until_condition("first", "Admitted")
        await it.client.create(JOBS, queued_job("second", managed_by=None))
        await it.until_condition("second", "QuotaReserved", status=False)
        assert not await suspended(it.it, "first")
        assert await suspended(it.it, "second")


async def test_flavors_reach_the_pods_of_an_undelegated_job_and_go_when_it_is_evicted() -> None:
    async with queue_fleet() as it:
        await it.make_queue(flavor=LABELLED)
        await it.client.create(JOBS, queued_job("train", managed_by=None, suspend=True))
        await it.it.until(lambda: _runs(it, "train"))
        template = await pod_spec(it.it, "train")
        assert template["spec"]["nodeSelector"] == {"pool": "gpu"}
        assert template["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
        await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await it.it.until(lambda: _restored(it, "train"))
        assert "tolerations" not in (await pod_spec(it.it, "train"))["spec"]


async def _runs(it: QueueFleet, name: str) -> bool:
    return not await suspended(it.it, name)


async def _restored(it: QueueFleet, name: str) -> bool:
    template = await pod_spec(it.it, name)
    return await suspended(it.it, name) and "nodeSelector" not in template["spec"]


async def test_flavors_reach_the_mirror_of_a_delegated_job() -> None:
    async with queue_fleet(nodes=NodeSettings(runtime="none")) as it:
        await it.make_queue(flavor={"nodeLabels": {"kubernetes.io/os": "linux"}})
        await it.client.create(JOBS, queued_job("train", seconds=1000))
        await it.it.until(lambda: it.it.mirrors("train"))
        mirror = next(iter((await it.it.mirrors("train")).values()))
        assert mirror.decode()["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}


async def test_a_preempted_job_loses_its_mirror_and_is_placed_anew_later() -> None:
    async with queue_fleet() as it:
        await add_priority(it, "high", 100)
        await it.make_queue(cpu=1, preemption={"withinClusterQueue": "LowerPriority"})
        await it.client.create(JOBS, queued_job("low", seconds=1000))
        await it.it.runs("low")
        await it.client.create(JOBS, queued_job("high", seconds=1000, labels={HIGH: "high"}))
        await it.it.runs("high")
        evicted = await it.until_condition("low", "Evicted")
        assert evicted.reason == "Preempted"
        assert "low" not in {name for name in ("low",) if await it.it.mirrors("low")}
        assert (await it.condition("low", "Preempted")).reason == "InClusterQueue"  # type: ignore[union-attr]
        await it.client.delete(JOBS, "high", "default", propagation="Background")
        await it.it.runs("low")


async def test_a_held_queue_lets_running_jobs_go_on_and_admits_no_others() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=2)
        await it.client.create(JOBS, queued_job("first", seconds=1000))
        await it.it.runs("first")
        await it.patch(LOCAL_QUEUES, "main", {"spec": {"stopPolicy": "Hold"}}, "default")
        await it.client.create(JOBS, queued_job("second", seconds=1000))
        waits = await it.until_condition("second", "QuotaReserved", status=False)
        assert (waits.reason, waits.message) == ("Inadmissible", "LocalQueue main is inactive")
        assert await it.it.mirrors("first")
        await it.patch(LOCAL_QUEUES, "main", {"spec": {"stopPolicy": "None"}}, "default")
        await it.it.runs("second")


async def test_a_drained_queue_evicts_and_takes_up_again_when_it_is_resumed() -> None:
    async with queue_fleet() as it:
        await it.make_queue()
        await it.client.create(JOBS, queued_job("train", seconds=1000))
        await it.it.runs("train")
        await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await it.until_condition("train", "QuotaReserved", status=False)
        assert not await it.it.mirrors("train")
        await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "None"}})
        await it.until_condition("train", "Requeued", reason="ClusterQueueRestarted")
        await it.it.runs("train")


async def test_a_deactivated_workload_is_evicted_and_queued_again_when_it_is_active() -> None:
    async with queue_fleet() as it:
        await it.make_queue()
        await it.client.create(JOBS, queued_job("train", seconds=1000))
        await it.it.runs("train")
        workload = await it.workload("train")
        assert workload is not None
        await it.patch(WORKLOADS, workload.name, {"spec": {"active": False}}, "default")
        await it.until_condition("train", "QuotaReserved", status=False)
        assert (await it.condition("train", "Evicted")).reason == "Deactivated"  # type: ignore[union-attr]
        await it.patch(WORKLOADS, workload.name, {"spec": {"active": True}}, "default")
        await it.it.runs("train")


async def test_a_flavor_in_use_is_not_deleted_before_its_queue() -> None:
    async with queue_fleet() as it:
        await it.make_queue()

        async def kept() -> bool:
            return bool((await it.client.get(RESOURCE_FLAVORS, "default")).metadata.finalizers)

        await it.it.until(kept)
        await it.client.delete(RESOURCE_FLAVORS, "default")
        assert (await it.client.get(RESOURCE_FLAVORS, "default")).deleting
        await it.client.delete(CLUSTER_QUEUES, "cluster-queue")
        await it.absent(RESOURCE_FLAVORS, "default")


async def test_the_statuses_of_queues_show_what_is_pending_and_used() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=1)
        for name in ("first", "second"):
            await it.client.create(JOBS, queued_job(name, seconds=1000))

        async def counted() -> dict[str, Any] | None:
            status: dict[str, Any] = (await it.client.get(CLUSTER_QUEUES, "cluster-queue")).decode().get("status", {})
            counts = [status.get(each) for each in ("pendingWorkloads", "admittedWorkloads", "reservingWorkloads")]
            return status if counts == [1, 1, 1] else None

        status = await it.it.until(counted)
        assert status["flavorsUsage"][0]["resources"] == [{"name": "cpu", "total": "1", "borrowed": "0"}]
        assert status["conditions"][0]["reason"] == "Ready"


async def test_with_partial_admission_a_job_runs_with_fewer_pods_until_it_is_evicted() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=2)
        least = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        more = {"parallelism": 4, "completions": 8, "annotations": least, "suspend": True, "seconds": 1000}
        await it.client.create(JOBS, queued_job("train", managed_by=None, **more))
        await it.it.until(lambda: _runs(it, "train"))
        assert (await it.it.job("train"))["spec"]["parallelism"] == 2
        await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "HoldAndDrain"}})

        async def restored() -> bool:
            return bool((await it.it.job("train"))["spec"]["parallelism"] == 4)

        await it.it.until(restored)


async def test_a_job_that_was_queued_gives_its_quota_back_also_without_its_label() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=1)
        await it.client.create(JOBS, queued_job("train", seconds=2))
        await it.it.runs("train")
        await it.patch(JOBS, "train", {"metadata": {"labels": {QUEUE: None}}}, "default")
        await it.it.finished("train")
        await it.until_condition("train", "Finished")
