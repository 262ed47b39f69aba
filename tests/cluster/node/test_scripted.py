from __future__ import annotations

from typing import Any

import pytest

from jobrelay.cluster.apiserver.streams import PodLogOptions
from jobrelay.cluster.node.logresponses import scripted_log
from jobrelay.cluster.node.script import parse_script
from jobrelay.kube.resource import PODS

from .fake_time import nodes, pod

INDEX = "batch.kubernetes.io/job-completion-index"


def state(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["status"]["containerStatuses"][0]["state"]
    return found


def conditions(pod: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c.get("reason", "")) for c in pod["status"]["conditions"]}


@pytest.mark.parametrize(
    ("ranges", "index", "fails"), [("1,3-5", "1", True), ("1,3-5", "2", False), ("1,3-5", "5", True), ("", "0", False)]
)
def test_indexes_that_fail(ranges: str, index: str, fails: bool) -> None:
    script = parse_script({"jobrelay.dev/fail-indexes": ranges, INDEX: index}, "Never")
    assert (script.code("c", 0) != 0) is fails


def test_what_cannot_be_read_counts_as_not_given() -> None:
    assert parse_script({"jobrelay.dev/run-seconds": "soon", "jobrelay.dev/exit-code": "-1"}, "Never").run == 0


def test_one_container_can_end_differently() -> None:
    script = parse_script({"jobrelay.dev/exit-code.a": "3"}, "Never")
    assert (script.code("a", 0), script.code("b", 0)) == (3, 0)


async def test_without_a_script_a_pod_succeeds_at_once() -> None:
    async with nodes() as world:
        await world.create(pod())
        found = await world.phase("Succeeded")
        assert state(found)["terminated"]["reason"] == "Completed"
        assert conditions(found) == {
            "PodReadyToStartContainers": ("False", ""), "Initialized": ("True", "PodCompleted"),
            "Ready": ("False", "PodCompleted"), "ContainersReady": ("False", "PodCompleted"),
            "PodScheduled": ("True", ""),
        }  # fmt: skip


async def test_a_label_that_reads_like_a_phase_is_not_one() -> None:
    async with nodes() as world:
        body = pod()
        body["metadata"]["labels"] = {"phase": "Failed"}
        await world.create(body)
        await world.phase("Succeeded")


async def test_a_pod_runs_for_its_time() -> None:
    async with nodes() as world:
        await world.create(pod(annotations={"run-seconds": "60"}))
        found = await world.phase("Running")
        assert conditions(found)["Ready"] == ("True", "")
        await world.clock.advance(59)
        assert (await world.pod())["status"]["phase"] == "Running"
        await world.clock.advance(1)
        await world.phase("Succeeded")


async def test_a_pod_fails_with_its_code() -> None:
    async with nodes() as world:
        await world.create(pod(annotations={"exit-code": "42", "reason": "OOMKilled", "message": "too much"}))
        ended = state(await world.phase("Failed"))["terminated"]
        assert (ended["exitCode"], ended["reason"], ended["message"]) == (42, "OOMKilled", "too much")


async def test_a_pod_starts_and_gets_ready_late() -> None:
    async with nodes() as world:
        await world.create(pod(annotations={"start-seconds": "5", "ready-seconds": "10", "run-seconds": "forever"}))
        await world.until(lambda pod: "nodeName" in pod["spec"])
        assert (await world.pod())["status"]["phase"] == "Pending"
        await world.clock.advance(5)
        assert conditions(await world.phase("Running"))["Ready"] == ("False", "ContainersNotReady")
        await world.clock.advance(10)
        await world.until(lambda pod: conditions(pod)["Ready"] == ("True", ""))


async def test_a_container_starts_again_after_a_pause() -> None:
    async with nodes() as world:
        script = {"fail-restarts": "2", "run-seconds": "1"}
        await world.create(pod(annotations=script, restartPolicy="OnFailure"))
        await world.phase("Running")
        await world.clock.advance(2)
        waiting = await world.until(lambda pod: "waiting" in state(pod))
        assert state(waiting)["waiting"]["reason"] == "CrashLoopBackOff"
        assert waiting["status"]["phase"] == "Running"
        await world.clock.advance(11)
        assert (await world.phase("Succeeded"))["status"]["containerStatuses"][0]["restartCount"] == 2


async def test_a_deleted_pod_ends_and_goes() -> None:
    async with nodes() as world:
        await world.create(pod(annotations={"run-seconds": "forever", "stop-seconds": "3"}))
        await world.phase("Running")
        await world.client.delete(PODS, "p", "default")
        await world.clock.advance(2)
        assert (await world.pod())["metadata"]["deletionTimestamp"]
        await world.clock.advance(1)
        await world.gone()


async def test_a_deleted_pod_with_a_finalizer_shows_how_it_ended() -> None:
    async with nodes() as world:
        body = pod(annotations={"run-seconds": "forever"})
        body["metadata"]["finalizers"] = ["example.com/keep"]
        await world.create(body)
        await world.phase("Running")
        await world.client.delete(PODS, "p", "default")
        found = await world.phase("Failed")
        assert state(found)["terminated"]["exitCode"] == 143
        await world.until(lambda pod: pod["metadata"].get("deletionGracePeriodSeconds") == 0)


async def test_a_pod_ends_by_its_deadline() -> None:
    async with nodes() as world:
        await world.create(pod(annotations={"run-seconds": "forever"}, activeDeadlineSeconds=7))
        await world.phase("Running")
        await world.clock.advance(7)
        assert (await world.phase("Failed"))["status"]["reason"] == "DeadlineExceeded"


async def test_an_evicted_pod_says_so() -> None:
    async with nodes() as world:
        await world.create(pod(annotations={"pod-reason": "Evicted", "disrupted": "true"}))
        found = await world.phase("Failed")
        assert found["status"]["reason"] == "Evicted"
        assert conditions(found)["DisruptionTarget"][0] == "True"


async def test_a_scripted_pod_has_a_log() -> None:
    async with nodes() as world:
        await world.create(pod(annotations={"log": "one\ntwo"}))
        found = await world.phase("Succeeded")
        assert scripted_log(found, PodLogOptions()).body == b"one\ntwo\n"
        assert scripted_log(found, PodLogOptions(tail=1)).body == b"two\n"


async def test_many_pods_cost_no_tasks_each() -> None:
    import asyncio

    async with nodes() as world:
        before = len(asyncio.all_tasks())
        for number in range(50):
            await world.create(pod(f"p{number}", annotations={"run-seconds": "100"}))
        await world.phase("Running", "p49")
        assert len(asyncio.all_tasks()) <= before + 2
