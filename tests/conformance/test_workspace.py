"""A run leaves nothing behind, and what a crashed one has left is found."""

from __future__ import annotations

from typing import Any

from jobrelay.cluster import Cluster
from jobrelay.conformance import clean
from jobrelay.conformance.behaviour import PodBehaviour
from jobrelay.conformance.workspace import PREFIX, RunMarks
from jobrelay.kube import Client, FakeClock, SystemClock
from jobrelay.kube.resource import JOBS, NAMESPACES, PODS


async def crashed_run(client: Client, name: str, seconds: float, namespace: str | None = None) -> None:
    """What a run leaves that was killed: a Job that nobody runs, with a pod that nobody lets go."""
    marks = RunMarks.of(name, SystemClock().now(), seconds)
    place = namespace or f"{PREFIX}{name}"
    marked: dict[str, Any] = {"labels": marks.labels, "annotations": marks.annotations}
    if namespace is None:
        await client.create(NAMESPACES, {"metadata": {"name": place, **marked}})
    template = PodBehaviour().template("busybox", marks.labels)
    job = {"metadata": {"name": "j", **marked}, "spec": {"managedBy": "example.com/gone", "template": template}}
    await client.create(JOBS, job, place)
    held = {"name": "p", "labels": marks.labels, "finalizers": ["batch.kubernetes.io/job-tracking"]}
    await client.create(PODS, {"metadata": held, "spec": template["spec"] | {"nodeName": "nowhere"}}, place)


async def left(client: Client) -> list[str]:
    found = [each for kind in (JOBS, PODS) for each in (await client.list(kind)).items]
    spaces = [each.name for each in (await client.list(NAMESPACES)).items if each.name.startswith(PREFIX)]
    return sorted([*(str(each.key) for each in found), *spaces])


async def test_what_a_crashed_run_has_left_is_removed() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await crashed_run(client, "over", -1)
        assert await clean(client, SystemClock()) == ["over"]
        assert await left(client) == []


async def test_a_run_that_is_going_is_left_alone_unless_all_are_meant() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await crashed_run(client, "going", 600)
        before = await left(client)
        assert await clean(client, SystemClock()) == []
        assert await left(client) == before != []
        assert await clean(client, SystemClock(), running=True) == ["going"]
        assert await left(client) == []


async def test_in_a_namespace_of_others_only_the_runs_objects_are_removed() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await crashed_run(client, "over", -1, namespace="default")
        template = PodBehaviour().template("busybox", {})
        job = {"metadata": {"name": "mine"}, "spec": {"managedBy": "example.com/gone", "template": template}}
        await client.create(JOBS, job, "default")
        await clean(client, SystemClock())
        assert await left(client) == ["default/mine"]
        assert (await client.get(NAMESPACES, "default")).deleting is False


def test_the_marks_of_a_run_say_until_when_it_may_last() -> None:
    marks = RunMarks.of("abc", FakeClock().now(), 90)
    assert marks.labels == {"conformance.jobrelay.dev/run": "abc"}
    assert marks.annotations == {"conformance.jobrelay.dev/until": "2026-01-01T00:01:30Z"}


def test_a_pod_ends_the_same_way_by_its_command_and_by_its_script() -> None:
    template = PodBehaviour(seconds=2, failing=(0, 2), stop=3).template("busybox", {})
    assert template["spec"]["containers"][0]["command"][2] == (
        "trap 'sleep 3; exit 143' TERM; sleep 2 & wait $!; case \"$JOB_COMPLETION_INDEX\" in 0|2) exit 1;; esac; exit 0"
    )
    assert template["metadata"]["annotations"] == {
        "jobrelay.dev/run-seconds": "2", "jobrelay.dev/stop-seconds": "3", "jobrelay.dev/fail-indexes": "0,2",
    }  # fmt: skip
