"""The Job controller at work on an API server, on fake time."""

from __future__ import annotations

import asyncio

from jobrelay.cluster.controllers.job import BatchJobController
from jobrelay.control import ControllerContext
from jobrelay.kube.metrics import exposition

from ..apiserver.serving import MERGE
from .job_world import JOBS, PODS, TEMPLATE, Jobs, job_world
from .running import world

TRACKING = "batch.kubernetes.io/job-tracking"


async def test_a_job_runs_to_its_end() -> None:
    async with job_world() as jobs:
        await jobs.create(completions=3, parallelism=2)
        await jobs.end()
        await jobs.end()
        status = await jobs.status()
        assert (status["succeeded"], status["terminating"], status.get("active")) == (3, 0, None)
        assert await jobs.conditions() == [
            "SuccessCriteriaMet=True/CompletionsReached",
            "Complete=True/CompletionsReached",
        ]
        assert await jobs.events() == ["SuccessfulCreate"] * 3 + ["Completed"]
        assert [pod["metadata"].get("finalizers") for pod in await jobs.pods()] == [None] * 3


async def test_the_end_of_the_only_pod_is_looked_at_soon() -> None:
    async with job_world() as jobs:
        await jobs.create()
        await jobs.become((await jobs.pods())[0], "Succeeded")
        await jobs.settle(0.3)
        assert (await jobs.status())["succeeded"] == 1


async def test_the_ends_of_several_pods_are_gathered_for_a_second() -> None:
    async with job_world() as jobs:
        await jobs.create(completions=2, parallelism=2)
        for pod in await jobs.pods():
            await jobs.become(pod, "Succeeded")
            await jobs.settle(0.4)
        assert "succeeded" not in await jobs.status()
        await jobs.settle(0.3)
        assert (await jobs.status())["succeeded"] == 2


async def test_an_indexed_job_completes_its_indexes() -> None:
    async with job_world() as jobs:
        await jobs.create(completionMode="Indexed", completions=4, parallelism=4)
        await jobs.end()
        assert (await jobs.status())["completedIndexes"] == "0-3"


async def test_a_failure_is_replaced_after_its_delay() -> None:
    async with job_world() as jobs:
        await jobs.create()
        await jobs.end("Failed")
        assert (len(await jobs.pods()), (await jobs.status())["failed"]) == (1, 1)
        await jobs.settle(6)
        assert len(await jobs.pods()) == 1
        await jobs.settle(2)
        assert len(await jobs.pods()) == 2


async def test_a_job_fails_when_its_limit_is_used_up() -> None:
    async with job_world() as jobs:
        await jobs.create(backoffLimit=1)
        for _ in range(2):
            await jobs.end("Failed", finished=100)
        assert await jobs.conditions() == [
            "FailureTarget=True/BackoffLimitExceeded",
            "Failed=True/BackoffLimitExceeded",
        ]
        assert (await jobs.events())[-1] == "BackoffLimitExceeded"


async def test_a_deadline_ends_a_job_by_itself() -> None:
    async with job_world() as jobs:
        await jobs.create(activeDeadlineSeconds=30)
        await jobs.settle(31)
        assert (await jobs.conditions())[-1] == "Failed=True/DeadlineExceeded"
        assert await jobs.pods() == []


async def test_a_deadline_that_is_moved_is_kept() -> None:
    async with job_world() as jobs:
        await jobs.create(activeDeadlineSeconds=300)
        await jobs.patch(activeDeadlineSeconds=20)
        await jobs.settle(21)
        assert (await jobs.conditions())[-1] == "Failed=True/DeadlineExceeded"


async def test_suspend_and_resume() -> None:
    async with job_world() as jobs:
        await jobs.create(completions=2, parallelism=2)
        await jobs.patch(suspend=True)
        assert (await jobs.pods(), (await jobs.status()).get("failed")) == ([], None)
        await jobs.patch(suspend=False)
        assert len(await jobs.pods()) == 2
        assert await jobs.conditions() == ["Suspended=False/JobResumed"]
        assert [one for one in await jobs.events() if one in ("Suspended", "Resumed")] == ["Suspended", "Resumed"]


async def test_the_end_waits_for_terminating_pods() -> None:
    async with job_world() as jobs:
        await jobs.create(completions=2, parallelism=2, backoffLimit=0)
        first, second = await jobs.pods()
        await jobs.become(second, "Running")
        await jobs.become(first, "Failed")
        await jobs.settle()
        assert await jobs.conditions() == ["FailureTarget=True/BackoffLimitExceeded"]
        assert ((await jobs.status())["terminating"], (await jobs.status())["failed"]) == (1, 2)
        await jobs.server.ok("DELETE", f"{PODS}/{second['metadata']['name']}", {"gracePeriodSeconds": 0})
        await jobs.settle()
        assert (await jobs.conditions())[-1] == "Failed=True/BackoffLimitExceeded"


async def test_a_job_that_someone_else_manages_is_left_alone() -> None:
    made: list[BatchJobController] = []

    def set_up(context: ControllerContext) -> None:
        made.append(BatchJobController(context))

    async with world(set_up) as w:
        body = {"metadata": {"name": "j"}, "spec": {"template": TEMPLATE, "managedBy": "example.com/me"}}
        await w.server.ok("POST", JOBS, body)
        await w.pass_(5)
        await w.server.ok("PATCH", f"{JOBS}/j", {"spec": {"suspend": True}}, media=MERGE)
        await w.pass_(5)
        assert (await w.get(f"{JOBS}/j"))["status"] == {}
        assert await w.names(PODS) == []
        counted = made[0].metrics.counters["jobs_by_external_controller_total"]
        assert counted == {("example.com/me",): 1}


async def test_a_delegated_job_under_the_name_of_a_standard_one_is_left_alone() -> None:
    async with job_world() as jobs:
        await jobs.create()
        await jobs.server.ok("DELETE", f"{JOBS}/j", {"propagationPolicy": "Background"})
        await jobs.create(managedBy="example.com/me")
        assert (await jobs.status(), await jobs.pods()) == ({}, [])


async def test_a_pod_that_nobody_owns_loses_the_finalizer() -> None:
    async with job_world() as jobs:
        body = {"metadata": {"name": "stray", "finalizers": [TRACKING, "example.com/mine"]}, "spec": TEMPLATE["spec"]}
        await jobs.server.ok("POST", PODS, body)
        await jobs.settle()
        assert (await jobs.pods())[0]["metadata"]["finalizers"] == ["example.com/mine"]


async def test_pods_of_a_deleted_job_are_released() -> None:
    async with job_world() as jobs:
        await jobs.create(completions=2, parallelism=2)
        await jobs.server.ok("DELETE", f"{JOBS}/j", {"propagationPolicy": "Orphan"})
        await jobs.settle()
        assert [pod["metadata"].get("finalizers") for pod in await jobs.pods()] == [None, None]


async def test_an_orphan_that_matches_is_adopted() -> None:
    async with job_world() as jobs:
        selector = {"matchLabels": {"app": "x"}}
        body = {"metadata": {"name": "orphan", "labels": {"app": "x"}}, "spec": TEMPLATE["spec"]}
        await jobs.server.ok("POST", PODS, body)
        await jobs.create(
            manualSelector=True, selector=selector, template={"metadata": {"labels": {"app": "x"}}, **TEMPLATE}
        )
        (pod,) = await jobs.pods()
        assert (pod["metadata"]["ownerReferences"][0]["name"], pod["metadata"]["finalizers"]) == ("j", [TRACKING])


async def test_pods_that_cannot_be_created_are_reported_and_retried() -> None:
    async with job_world() as jobs:
        await jobs.create(template={"spec": {**TEMPLATE["spec"], "serviceAccountName": "later"}})
        (event,) = await jobs.events()
        assert event == "FailedCreate"
        await jobs.server.ok("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "later"}})
        await jobs.settle(10)
        assert len(await jobs.pods()) == 1


async def test_the_metrics_have_their_names() -> None:
    made: list[BatchJobController] = []

    def set_up(context: ControllerContext) -> None:
        made.append(BatchJobController(context))

    async with world(set_up) as w:
        await w.server.ok("POST", JOBS, {"metadata": {"name": "j"}, "spec": {"template": TEMPLATE, "completions": 0}})
        await w.pass_(3)
    lines = exposition([made[0].metrics]).decode().splitlines()
    labels = 'completion_mode="NonIndexed",reason="CompletionsReached",result="succeeded"'
    finished = f"job_controller_jobs_finished_total{{{labels}}} 1.0"
    assert finished in lines
    assert any(line.startswith("job_controller_job_sync_duration_seconds_bucket") for line in lines)


async def many(jobs: Jobs) -> list[str]:
    """Creates so many Jobs at once that some have to wait; returns the names of those without a start time."""
    bodies = [{"metadata": {"name": f"j-{number}"}, "spec": {"template": TEMPLATE}} for number in range(100)]
    await asyncio.gather(*(jobs.server.ok("POST", JOBS, body) for body in bodies))
    await jobs.settle(0.5)
    found = (await jobs.world.get(JOBS))["items"]
    return [each["metadata"]["name"] for each in found if "startTime" not in each["status"]]


async def test_while_many_wait_the_status_of_a_job_that_has_only_started_is_gathered_for_a_second() -> None:
    async with job_world() as jobs:
        started_at = jobs.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        assert 20 < len(await many(jobs)) < 100
        assert len(await jobs.pods()) == 100
        await jobs.settle(0.6)
        statuses = [each["status"] for each in (await jobs.world.get(JOBS))["items"]]
        assert {(status["active"], status["startTime"]) for status in statuses} == {(1, started_at)}


async def test_a_job_that_is_suspended_before_it_is_reported_as_started_gets_a_new_start_time() -> None:
    async with job_world() as jobs:
        path = f"{JOBS}/{(await many(jobs))[0]}"
        await jobs.server.ok("PATCH", path, {"spec": {"suspend": True, "activeDeadlineSeconds": 30}}, media=MERGE)
        await jobs.settle(60)
        await jobs.server.ok("PATCH", path, {"spec": {"suspend": False}}, media=MERGE)
        resumed = jobs.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        await jobs.settle()
        status = (await jobs.world.get(path))["status"]
        assert (status["active"], status["startTime"]) == (1, resumed)
