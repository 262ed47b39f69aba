"""What a node does for containers while they run: probes, hooks, limits, last words, users."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest

from jobrelay.cluster.node.process.container import Container
from jobrelay.cluster.node.process.security import NOBODY, ProcessUser, process_user
from jobrelay.kube.resource import PODS

from .world import World, is_alive, mounts, terminated, written

root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")


def command(script: str) -> dict[str, Any]:
    return {"exec": {"command": ["sh", "-c", script]}}


async def test_a_container_that_is_not_alive_is_restarted(world: World, tmp_path: pathlib.Path) -> None:
    probe = command(f"test -e {tmp_path}/alive") | {"periodSeconds": 1, "failureThreshold": 1}
    script = f"test -e {tmp_path}/alive && exit 0; trap 'touch {tmp_path}/alive; exit 1' TERM; sleep 1000 & wait"
    await world.run(script, container={"livenessProbe": probe}, restartPolicy="OnFailure")
    found = await world.ended()
    assert (found["status"]["phase"], found["status"]["containerStatuses"][0]["restartCount"]) == ("Succeeded", 1)
    assert await world.event("Killing") == "Container c failed liveness probe, will be restarted"


async def test_a_start_up_probe_holds_the_others_back(world: World, tmp_path: pathlib.Path) -> None:
    slow = command(f"test -e {tmp_path}/up") | {"periodSeconds": 1, "failureThreshold": 100}
    alive = command(f"test -e {tmp_path}/up || touch {tmp_path}/wrong") | {"periodSeconds": 1}
    await world.run("sleep 1000", container={"startupProbe": slow, "livenessProbe": alive})
    found = await world.until(lambda pod: pod["status"]["phase"] == "Running")
    assert found["status"]["containerStatuses"][0]["started"] is False
    (tmp_path / "up").touch()
    await world.until(lambda pod: pod["status"]["containerStatuses"][0]["started"])
    assert not (tmp_path / "wrong").exists()


async def test_the_hook_after_the_start(world: World, tmp_path: pathlib.Path) -> None:
    hook = command(f"echo $COLOUR > {tmp_path}/hook")
    container = {"lifecycle": {"postStart": hook}, "env": [{"name": "COLOUR", "value": "red"}]}
    await world.run("sleep 1000", container=container)
    assert await written(tmp_path / "hook") == "red\n"


async def test_a_container_whose_hook_fails_is_ended(world: World) -> None:
    await world.run("sleep 1000", container={"lifecycle": {"postStart": command("exit 9")}})
    assert (await world.ended())["status"]["phase"] == "Failed"
    assert "exit code 9" in await world.event("FailedPostStartHook")


async def test_the_hook_before_the_end(world: World, tmp_path: pathlib.Path) -> None:
    script = f"trap 'echo signal >> {tmp_path}/order; exit 0' TERM; echo > {tmp_path}/up; sleep 1000 & wait"
    await world.run(script, container={"lifecycle": {"preStop": command(f"echo hook >> {tmp_path}/order")}})
    await written(tmp_path / "up")
    await world.client.delete(PODS, "p", "default", grace_period=20)
    await world.gone()
    assert (tmp_path / "order").read_text() == "hook\nsignal\n"


@mounts
async def test_last_words_at_a_path_of_its_own(world: World) -> None:
    await world.run("printf bye > /run/words", container={"terminationMessagePath": "/run/words"})
    assert terminated(await world.ended())["message"] == "bye"


@pytest.mark.parametrize(("code", "message"), [(1, "the end\n"), (0, None)])
async def test_the_end_of_the_log_speaks_for_a_failed_container(world: World, code: int, message: str | None) -> None:
    container = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    await world.run(f"echo the end; exit {code}", container=container)
    assert terminated(await world.ended()).get("message") == message


async def test_a_cpu_limit_is_a_number_of_cpus(world: World) -> None:
    await world.run("nproc", container={"resources": {"limits": {"cpu": "500m"}}})
    await world.ended()
    assert await world.log() == "1\n"


@root
async def test_a_container_runs_as_the_user_it_names(world: World) -> None:
    context = {"runAsUser": 1234, "runAsGroup": 2345}
    volumes = [{"name": "d", "emptyDir": {}}]
    points = {"volumeMounts": [{"name": "d", "mountPath": "/data"}], "securityContext": context}
    script = "touch /data/f; stat -c %u:%g /data/f; id -G; echo ok > /dev/stdout; printf bye > /dev/termination-log"
    await world.run(script, container=points, volumes=volumes, securityContext={"fsGroup": 3456})
    assert terminated(await world.ended())["message"] == "bye"
    assert await world.log() == "1234:3456\n2345 3456\nok\n"


@pytest.mark.parametrize(
    ("whole", "own", "found"),
    [
        ({}, {}, None),
        ({"runAsUser": 5}, {}, ProcessUser(5, 0)),
        ({"runAsUser": 5, "runAsGroup": 6}, {"runAsUser": 7}, ProcessUser(7, 6)),
        ({"runAsNonRoot": True}, {}, ProcessUser(NOBODY, 0)),
        ({"fsGroup": 8, "supplementalGroups": [9]}, {}, ProcessUser(0, 0, (9, 8))),
    ],
)
def test_whom_a_container_becomes(
    monkeypatch: pytest.MonkeyPatch, whole: dict[str, Any], own: dict[str, Any], found: ProcessUser | None
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert process_user({"spec": {"securityContext": whole}}, {"securityContext": own}) == found


async def test_a_node_that_cannot_go_on_fails_the_pod(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaks(self: Container, process: Any) -> int:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Container, "_wait", breaks)
    await world.run("sleep 1000")
    status = (await world.ended())["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "UnexpectedError")
    assert "a bug" in status["message"]


async def test_such_a_pod_leaves_no_process(
    world: World, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids: list[int] = []

    async def breaks(self: Container, process: Any) -> int:
        pids.append(int(await written(tmp_path / "pid")))
        raise RuntimeError("a bug")

    monkeypatch.setattr(Container, "_wait", breaks)
    await world.run(f"echo $$$$ > {tmp_path}/pid; sleep 1000")
    await world.ended()
    await world.true(lambda: not is_alive(pids[0]))
