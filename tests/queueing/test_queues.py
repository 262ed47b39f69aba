"""Queues among each other: cohorts that lend, fair sharing, admission checks, configuration."""

from __future__ import annotations

from typing import Any

from jobrelay.kube.resource import JOBS
from jobrelay.queueing.configuration import parse_configuration
from jobrelay.queueing.resources import ADMISSION_CHECKS, CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WORKLOADS
from tests.queueing.fleets import QueueFleet, queue_fleet, queued_job, quota_queue

NOW = "2026-01-01T00:00:00Z"
FAIR = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "fairSharing": {}}


async def active(it: QueueFleet, status: str, reason: str) -> None:
    """Wait for the condition of the ClusterQueue."""

    async def found() -> bool:
        shown: dict[str, Any] = (await it.client.get(CLUSTER_QUEUES, "cluster-queue")).decode().get("status", {})
        return any((each["status"], each["reason"]) == (status, reason) for each in shown.get("conditions", ()))

    await it.it.until(found)


async def test_a_queue_borrows_what_its_cohort_does_not_use_and_shows_its_share() -> None:
    async with queue_fleet(1, parse_configuration(FAIR)) as it:
        await it.make_queue(cpu=1, cohortName="team")
        await it.create(COHORTS, {"metadata": {"name": "team"}, "spec": {}})
        await it.create(CLUSTER_QUEUES, quota_queue("other", cpu=1, cohortName="team"))
        await it.client.create(JOBS, queued_job("wide", cpu="2", seconds=1000))
        await it.until_condition("wide", "Admitted")

        async def borrowed() -> bool:
            status: dict[str, Any] = (await it.client.get(CLUSTER_QUEUES, "cluster-queue")).decode().get("status", {})
            used = [each["resources"][0].get("borrowed") for each in status.get("flavorsUsage", ())]
            return used == ["1"] and status["fairSharing"]["weightedShare"] == 500

        await it.it.until(borrowed)


async def test_the_share_of_a_cohort_follows_what_its_queues_use() -> None:
    async with queue_fleet(1, parse_configuration(FAIR)) as it:
        await it.make_queue(cpu=0, cohortName="team")
        await it.create(COHORTS, {"metadata": {"name": "team"}, "spec": {"parentName": "all"}})
        await it.create(CLUSTER_QUEUES, quota_queue("other", cpu=4, cohortName="all"))
        await it.client.create(JOBS, queued_job("wide", cpu="2", seconds=1000))

        async def borrowed() -> bool:
            status: dict[str, Any] = (await it.client.get(COHORTS, "team")).decode().get("status", {})
            return status.get("fairSharing", {}).get("weightedShare") == 500

        await it.it.until(borrowed)


async def test_a_check_has_to_be_active_and_ready_before_a_job_is_admitted() -> None:
    async with queue_fleet() as it:
        checks = {"admissionChecks": [{"name": "budget"}]}
        await it.create(ADMISSION_CHECKS, {"metadata": {"name": "budget"}, "spec": {"controllerName": "example.com/b"}})
        await it.make_queue(admissionChecksStrategy=checks)
        await active(it, "False", "AdmissionCheckInactive")
        one = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": NOW}
        await it.patch(ADMISSION_CHECKS, "budget", {"status": {"conditions": [one]}}, subresource="status")
        await active(it, "True", "Ready")
        await it.client.create(JOBS, queued_job("train"))
        await it.until_condition("train", "QuotaReserved")
        assert await it.condition("train", "Admitted") is None
        workload = await it.workload("train")
        assert workload is not None
        ready = {"name": "budget", "state": "Ready", "lastTransitionTime": NOW, "message": "", "podSetUpdates": []}
        change = {"status": {"admissionChecks": [ready]}}
        await it.patch(WORKLOADS, workload.name, change, "default", subresource="status")
        await it.it.finished("train")


async def test_a_check_for_other_clusters_is_the_relays_own_affair() -> None:
    async with queue_fleet() as it:
        spec = {"controllerName": "kueue.x-k8s.io/multikueue"}
        await it.create(ADMISSION_CHECKS, {"metadata": {"name": "multikueue"}, "spec": spec})
        await it.make_queue(admissionChecksStrategy={"admissionChecks": [{"name": "multikueue"}]})
        await it.client.create(JOBS, queued_job("train"))
        await it.it.finished("train")


async def test_jobs_without_a_queue_wait_for_one_where_all_are_managed() -> None:
    everything = parse_configuration({**FAIR, "manageJobsWithoutQueueName": True})
    async with queue_fleet(1, everything) as it:
        await it.make_queue()
        await it.it.submit("train")
        waits = await it.until_condition("train", "QuotaReserved", status=False)
        assert waits.reason == "Inadmissible"
        assert await it.it.mirrors("train") == {}


async def test_a_local_queue_says_that_its_cluster_queue_is_missing() -> None:
    async with queue_fleet() as it:
        await it.local_queue("lost", "nowhere")

        async def told() -> bool:
            status: dict[str, Any] = (await it.client.get(LOCAL_QUEUES, "lost", "default")).decode().get("status", {})
            return any(each["reason"] == "ClusterQueueDoesNotExist" for each in status.get("conditions", ()))

        await it.it.until(told)


async def test_who_was_told_that_a_queue_is_stopped_is_told_why_it_waits_when_it_is_not_any_more() -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=1)
        await it.client.create(JOBS, queued_job("first", seconds=1000))
        await it.until_condition("first", "Admitted")
        await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "Hold"}})
        for name in ("second", "third"):
            await it.client.create(JOBS, queued_job(name, seconds=1000))
        for name in ("second", "third"):
            await it.until_condition(name, "QuotaReserved", status=False, reason="Inadmissible")
        await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "None"}})

        async def told() -> bool:
            found = [await it.condition(name, "QuotaReserved") for name in ("second", "third")]
            return all(each is not None and each.message.endswith("1 more needed") for each in found)

        await it.it.until(told)
