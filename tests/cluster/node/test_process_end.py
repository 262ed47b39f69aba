"""Nothing outlives its cluster, however that ends, and a cluster that starts again knows what became of its pods."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobrelay.cluster.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.cluster.node.process.container import Container
from jobrelay.cluster.node.process.launcher import Launcher, Process
from jobrelay.kube import connect

from .world import CONTROLLERS, World, ended, is_alive, mounts, terminated, written

ROOT = pathlib.Path(__file__).resolve().parents[3]


@asynccontextmanager
async def started(folder: pathlib.Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command that people use."""
    words = ["cluster", "start", "dev", "--dir", str(folder)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "jobrelay", *words, env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    assert (await process.stdout.readline()).startswith(b"dev ready")
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def family(folder: pathlib.Path) -> str:
    """A script of three processes, one in a session of its own, that writes down their ids and goes on."""
    return (
        f"(trap '' TERM; sleep 1000) & echo $! > {folder}/new; setsid sleep 1000 & echo $! >> {folder}/new; "
        f"echo $$$$ >> {folder}/new; mv {folder}/new {folder}/pids; wait"
    )


async def test_nothing_survives_a_killed_cluster(tmp_path: pathlib.Path) -> None:
    async with started(tmp_path) as process:
        async with connect(tmp_path / "dev.kubeconfig") as client:
            await World(client).run(family(tmp_path))
            await written(tmp_path / "pids")
        process.send_signal(signal.SIGKILL)
        await ended(tmp_path / "pids")


async def test_nothing_survives_a_stopped_cluster(tmp_path: pathlib.Path) -> None:
    async with started(tmp_path) as process:
        async with connect(tmp_path / "dev.kubeconfig") as client:
            await World(client).run(family(tmp_path))
            await written(tmp_path / "pids")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert not [pid for pid in (tmp_path / "pids").read_text().split() if is_alive(int(pid))]


async def test_after_a_crash_a_restarting_pod_runs_again(tmp_path: pathlib.Path) -> None:
    async with started(tmp_path) as process:
        async with connect(tmp_path / "dev.kubeconfig") as client:
            await World(client).run(f"echo $$$$ >> {tmp_path}/runs; sleep 1000", restartPolicy="Always")
            await World(client).until(lambda pod: pod["status"]["phase"] == "Running")
            await written(tmp_path / "runs")
        process.send_signal(signal.SIGKILL)
    async with started(tmp_path):
        async with connect(tmp_path / "dev.kubeconfig") as client:
            found = await World(client).until(lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] == 1)
        last = found["status"]["containerStatuses"][0]["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"]) == (137, "ContainerStatusUnknown")
        assert "state" in found["status"]["containerStatuses"][0]


async def test_a_lost_supervisor_ends_its_containers_and_is_replaced(world: World, tmp_path: pathlib.Path) -> None:
    await world.run(f"echo $PPID > {tmp_path}/parent; {family(tmp_path)}", restartPolicy="Never")
    await written(tmp_path / "pids")
    await world.until(lambda pod: pod["status"]["phase"] == "Running")
    os.kill(int((tmp_path / "parent").read_text()), signal.SIGKILL)
    assert terminated(await world.ended())["exitCode"] == 137
    await world.run("true", "next")
    assert (await world.ended("next"))["status"]["phase"] == "Succeeded"
    await ended(tmp_path / "pids")


async def test_a_pod_deleted_while_its_container_starts_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, asked, spawn, stop = asyncio.Event(), asyncio.Event(), Launcher.spawn, Container.stop

    async def slow_spawn(launcher: Launcher, *given: Any) -> Process:
        begun.set()
        await asked.wait()
        return await spawn(launcher, *given)

    async def told_stop(container: Container, grace: float) -> None:
        asked.set()
        await stop(container, grace)

    monkeypatch.setattr(Launcher, "spawn", slow_spawn)
    monkeypatch.setattr(Container, "stop", told_stop)
    await world.run("sleep 1000")
    await begun.wait()
    await world.delete()
    assert asked.is_set()


async def test_logs_are_there_after_a_restart(tmp_path: pathlib.Path) -> None:
    settings = NodeSettings()
    async with Cluster("dev", tmp_path, controllers=CONTROLLERS, nodes=settings) as cluster:
        await World(cluster.client()).run("echo kept")
        await World(cluster.client()).ended()
    async with Cluster("dev", tmp_path, controllers=CONTROLLERS, nodes=settings) as cluster:
        assert await World(cluster.client()).log() == "kept\n"


@mounts
async def test_a_pods_files_go_with_it(world: World, tmp_path: pathlib.Path) -> None:
    volumes = [{"name": "d", "emptyDir": {}}]
    points = {"volumeMounts": [{"name": "d", "mountPath": "/data"}]}
    await world.run("echo x > /data/f", container=points, volumes=volumes)
    await world.ended()
    folder = tmp_path / "dev" / "pods" / "pods"
    assert list(folder.rglob("f"))
    await world.delete()
    await world.true(lambda: not list(folder.iterdir()))


async def test_a_cluster_without_pods_has_no_supervisor(world: World) -> None:
    own = pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    commands = [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in own.read_text().split()]
    assert not [command for command in commands if b"supervisor.py" in command]
