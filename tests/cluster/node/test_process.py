"""Real processes; each test runs a command or two that end by themselves or are ended."""

from __future__ import annotations

import asyncio
import os
import pathlib
from typing import Any

import pytest

from jobrelay.cluster.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube.errors import BadRequest, NotFound
from jobrelay.kube.resource import CONFIGMAPS, EVENTS, PODS

from .fake_time import pod
from .world import World, is_alive, mounts, terminated


async def test_a_command_runs_and_its_log_is_kept(world: World) -> None:
    await world.run("echo out; echo err >&2; exit 3")
    found = await world.ended()
    assert (found["status"]["phase"], terminated(found)["exitCode"], terminated(found)["reason"]) == (
        "Failed",
        3,
        "Error",
    )
    assert sorted((await world.log()).split()) == ["err", "out"]


async def test_sh_is_not_dash(world: World) -> None:
    await world.run("[[ abc == a* ]] && trap 'exit 0' SIGTERM && echo yes")
    assert (await world.ended())["status"]["phase"] == "Succeeded"


async def test_variables_come_from_everywhere(world: World) -> None:
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "cm", "namespace": "default"}, "data": {"K": "v"}})
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "K"}}},
        {"name": "B", "value": "b-$(A)-$$(A)"},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
    ]
    container = {
        "env": env, "envFrom": [{"configMapRef": {"name": "cm"}, "prefix": "X_"}],
        "resources": {"limits": {"memory": "64Mi"}},
    }  # fmt: skip
    await world.run("echo $A $B $C $D $X_K", container=container)
    await world.ended()
    assert await world.log() == "v b-v-$(A) p 64 v\n"


@mounts
async def test_volumes_are_at_their_paths(world: World) -> None:
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "cm", "namespace": "default"}, "data": {"k": "v"}})
    volumes = [{"name": "d", "emptyDir": {}}, {"name": "cm", "configMap": {"name": "cm"}}]
    points = [{"name": "d", "mountPath": "/data"}, {"name": "cm", "mountPath": "/etc/deep/cm"}]
    init = {"name": "i", "image": "x", "command": ["sh", "-c", "echo first > /data/f"], "volumeMounts": points}
    await world.run(
        "cat /data/f /etc/deep/cm/k", container={"volumeMounts": points}, volumes=volumes, initContainers=[init]
    )
    assert (await world.ended())["status"]["phase"] == "Succeeded"
    assert await world.log() == "first\nv"
    assert not os.path.exists("/data/f")


@mounts
async def test_last_words_are_kept(world: World) -> None:
    await world.run("printf bye > /dev/termination-log; exit 1")
    assert terminated(await world.ended())["message"] == "bye"


async def test_a_signal_is_told_by_its_number(world: World) -> None:
    await world.run("kill -KILL $$$$")
    assert terminated(await world.ended())["exitCode"] == 137


async def test_a_program_that_is_not_there(world: World) -> None:
    await world.run("", container={"command": ["no-such-program"]})
    ended = terminated(await world.ended())
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "executable file not found in $PATH" in ended["message"]


async def test_a_missing_path_that_contains_the_word_mount(world: World) -> None:
    await world.run("", container={"command": ["/no/such/mount-tool"]})
    assert terminated(await world.ended())["message"].endswith('exec: "/no/such/mount-tool": no such file or directory')


async def test_a_container_above_its_memory_limit_is_ended(world: World) -> None:
    container = {"resources": {"limits": {"memory": "4Mi"}}}
    await world.run("x=$(head -c 20000000 /dev/zero | tr '\\0' x); sleep 100; true", container=container)
    ended = terminated(await world.ended())
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


async def test_a_deleted_pod_is_asked_to_end_and_its_children_end_too(world: World, tmp_path: pathlib.Path) -> None:
    pids = tmp_path / "pids"
    await world.run(
        f"sleep 100 & echo $! > {pids}.new; (setsid sleep 100 & echo $! >> {pids}.new); mv {pids}.new {pids}; wait"
    )
    async with asyncio.timeout(5):
        while not pids.exists():
            await asyncio.sleep(0.02)
    await world.client.delete(PODS, "p", "default", grace_period=5)
    with pytest.raises(NotFound):
        await world.until(lambda pod: False)
    async with asyncio.timeout(5):
        while any(is_alive(int(pid)) for pid in pids.read_text().split()):
            await asyncio.sleep(0.02)


async def test_a_failed_container_starts_again(world: World) -> None:
    await world.run("exit 1", restartPolicy="OnFailure")

    def waits(pod: dict[str, Any]) -> bool:
        status = (pod["status"].get("containerStatuses") or [{"state": {}}])[0]
        return "waiting" in status["state"] and status["restartCount"] == 1

    found = await world.until(waits)
    assert found["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert found["status"]["phase"] == "Running"
    assert await world.log(previous=True) == ""


async def test_a_sidecar_ends_with_the_containers(world: World) -> None:
    sidecar = {"name": "s", "image": "x", "restartPolicy": "Always", "command": ["sleep", "100"]}
    await world.run("exit 0", initContainers=[sidecar])
    found = await world.ended()
    assert found["status"]["phase"] == "Succeeded"
    assert found["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_pod_is_ready_when_its_probe_says_so(world: World, tmp_path: pathlib.Path) -> None:
    flag = tmp_path / "flag"
    probe = {"exec": {"command": ["test", "-e", str(flag)]}, "periodSeconds": 1}
    await world.run("sleep 100", container={"readinessProbe": probe})
    found = await world.until(lambda pod: pod["status"]["phase"] == "Running")
    assert found["status"]["containerStatuses"][0]["ready"] is False
    flag.touch()
    await world.until(lambda pod: pod["status"]["containerStatuses"][0]["ready"])


async def test_a_log_can_be_followed(world: World) -> None:
    await world.run("echo a; sleep 0.3; echo b")
    await world.until(lambda pod: pod["status"]["phase"] == "Running")
    assert await world.log(follow=True) == "a\nb\n"


async def test_a_pod_that_waits_has_no_log(world: World) -> None:
    await world.run("true", container={"envFrom": [{"configMapRef": {"name": "none"}}]})
    await world.until(lambda pod: bool(pod["status"].get("containerStatuses")))
    with pytest.raises(BadRequest, match="is waiting to start"):
        await world.log()


async def test_a_pause_image_waits_and_others_end(world: World) -> None:
    for name, image in (("waits", "registry.k8s.io/pause:3.10"), ("ends", "busybox")):
        body = pod(name)
        body["spec"]["containers"][0]["image"] = image
        await world.client.create(PODS, body)
    assert (await world.ended("ends"))["status"]["phase"] == "Succeeded"
    assert (await world.until(lambda pod: pod["status"]["phase"] == "Running", "waits"))["status"]["phase"] == "Running"


async def test_after_a_restart_a_running_pod_has_failed_with_a_reason(tmp_path: pathlib.Path) -> None:
    settings = NodeSettings()
    async with Cluster("dev", tmp_path, controllers="namespace-controller", nodes=settings) as cluster:
        first = World(cluster.client())
        await first.run("sleep 100")
        await first.until(lambda pod: pod["status"]["phase"] == "Running")
    async with Cluster("dev", tmp_path, controllers="namespace-controller", nodes=settings) as cluster:
        found = await World(cluster.client()).ended()
        assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "NodeRestarted")
        assert terminated(found)["reason"] == "ContainerStatusUnknown"


async def test_events_name_the_container(world: World) -> None:
    await world.run("true")
    assert await world.event("Started") == "Container started"
    events = [event.decode() for event in (await world.client.list(EVENTS, "default")).items]
    paths = {event["reason"]: event["regarding"].get("fieldPath") for event in events}
    assert (paths["Started"], paths["ImageNotPulled"]) == ("spec.containers{c}", None)


async def test_a_pod_without_a_command_says_that_nothing_is_run(world: World) -> None:
    body = pod()
    body["spec"]["containers"] = [{"name": "a", "image": "nginx"}, {"name": "b", "image": "x", "args": ["true"]}]
    await world.client.create(PODS, body)
    assert await world.event("NothingRun") == (
        'Nothing is run for container "a": it has no command, and images, which might have one, are not pulled'
    )
    await world.ended()
