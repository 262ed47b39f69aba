"""Names, links and variables of a pod lead nowhere but into its own volumes, and its processes end with it."""

from __future__ import annotations

import asyncio
import os
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobrelay.cluster.node.process import atomicwriter
from jobrelay.cluster.node.process.launcher import Launcher, Process, Program, StartError
from jobrelay.cluster.node.process.names import below, below_path
from jobrelay.cluster.node.process.supervisor import open_beneath

from .world import World, ended, is_alive, mounts, processes, terminated, written

VOLUME = {"name": "v", "emptyDir": {}}


@pytest.fixture
def outside(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder that is in no volume."""
    folder = tmp_path / "outside"
    folder.mkdir(mode=0o700)
    (folder / "f").write_text("not yours\n")
    return folder


@pytest.fixture(params=[pytest.param(True, marks=mounts), False], ids=["mounts", "no mounts"])
async def either(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with processes(tmp_path, mounts=request.param) as made:
        yield made


def init(script: str) -> list[dict[str, Any]]:
    """An init container that sees the whole volume."""
    points = [{"name": "v", "mountPath": "/v"}]
    return [{"name": "i", "image": "i", "command": ["sh", "-c", script], "volumeMounts": points}]


# Names.


@pytest.mark.parametrize("name", ["../..", "..", ".", "a/b", "a\0b"])
async def test_the_name_of_a_claim_is_no_path(world: World, tmp_path: pathlib.Path, name: str) -> None:
    """A real API server accepts such a pod too; the claim cannot exist, so no scheduler places it."""
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    await world.run("true", container=mount, volumes=[claim], nodeName="node")
    assert 'MountVolume.SetUp failed for volume "v"' in await world.event("FailedMount")
    assert all(path.stat().st_mode & 0o002 == 0 for path in (tmp_path, tmp_path / "dev", tmp_path / "dev/pods"))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a\0"])
def test_a_path_is_made_of_names_of_files_only(tmp_path: pathlib.Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not a file name"):
        below(tmp_path, "fine", name)


def test_paths_of_projected_files_stay_below(tmp_path: pathlib.Path) -> None:
    assert below_path(tmp_path, "./a//..b") == tmp_path / "a" / "..b"
    for path in ("/a", "a/../../b", "../b", "a\0"):
        with pytest.raises(ValueError, match=r"is not a file name|relative path"):
            below_path(tmp_path, path)


@pytest.mark.parametrize("path", ["../out", "/tmp/out", "..data", ".", "a/b/../../../out"])
def test_files_are_not_projected_elsewhere(tmp_path: pathlib.Path, path: str) -> None:
    (volume := tmp_path / "v").mkdir()
    with pytest.raises(ValueError, match=r"invalid path|is not a file name"):
        atomicwriter.write(volume, {path: atomicwriter.FileProjection(b"", 0o644)})
    assert os.listdir(tmp_path) == ["v"]


def test_a_write_that_fails_leaves_nothing(tmp_path: pathlib.Path) -> None:
    file = atomicwriter.FileProjection(b"", 0o644)
    with pytest.raises(OSError, match="a"):
        atomicwriter.write(tmp_path, {"a": file, "a/b": file})
    assert os.listdir(tmp_path) == []


async def test_a_relative_host_path_is_refused(world: World) -> None:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    await world.run("true", container=container, volumes=[{"name": "v", "hostPath": {"path": "made-by-a-test"}}])
    assert "is not absolute" in await world.event("FailedMount")
    assert not pathlib.Path("made-by-a-test").exists()


# Links.


async def test_a_sub_path_does_not_follow_links_out_of_its_volume(either: World, outside: pathlib.Path) -> None:
    point = {"name": "v", "mountPath": "/m", "subPath": "link"}
    inits = init(f"ln -s {outside} /v/link")
    await either.run("cat /m/f", container={"volumeMounts": [point]}, volumes=[VOLUME], initContainers=inits)
    assert "leads out of its volume" in terminated(await either.ended())["message"]
    assert await either.log() == ""


async def test_a_sub_path_follows_links_within_its_volume(either: World) -> None:
    point = {"name": "v", "mountPath": "/m", "subPath": "link/deep"}
    inits = init("mkdir -p /v/real/deep; echo held > /v/real/deep/f; ln -s real /v/link")
    await either.run("cat /m/f", container={"volumeMounts": [point]}, volumes=[VOLUME], initContainers=inits)
    await either.ended()
    assert await either.log() == "held\n"


@pytest.mark.parametrize("value", ["../../../..", "/etc", "a/../.."])
async def test_a_variable_in_a_sub_path_does_not_leave_the_volume(either: World, value: str) -> None:
    point = {"name": "v", "mountPath": "/m", "subPathExpr": "$(A)"}
    container = {"volumeMounts": [point], "env": [{"name": "A", "value": value}]}
    await either.run("ls /m", container=container, volumes=[VOLUME])
    message = terminated(await either.ended())["message"]
    assert 'failed to prepare subPath for volumeMount "v" of container' in message


@mounts
async def test_a_link_in_a_volume_is_no_mount_point(world: World, outside: pathlib.Path) -> None:
    points = [{"name": "v", "mountPath": "/m"}, {"name": "w", "mountPath": "/m/link/made"}]
    volumes = [VOLUME, {"name": "w", "emptyDir": {}}]
    inits = init(f"ln -s {outside} /v/link")
    await world.run("true", container={"volumeMounts": points}, volumes=volumes, initContainers=inits)
    assert "is a symbolic link" in terminated(await world.ended())["message"]
    assert os.listdir(outside) == ["f"]


def test_a_path_below_is_opened_without_links(tmp_path: pathlib.Path, outside: pathlib.Path) -> None:
    volume = tmp_path / "v"
    volume.mkdir()
    for name, target in {"out": str(outside), "up": "../outside", "over": str(volume / "up"), "loop": "loop"}.items():
        (volume / name).symlink_to(target)
    for path in ("out", "out/f", "up", "up/f", "over/f", "loop", "../outside"):
        with pytest.raises(OSError, match=r"leads out|symbolic link|levels"):
            open_beneath(str(volume), path, make=True)
    assert os.listdir(outside) == ["f"]
    opened = open_beneath(str(volume), "new/deep", make=True)
    assert os.path.samestat(os.fstat(opened), (volume / "new/deep").stat())
    os.close(opened)


async def test_removing_a_pod_does_not_follow_its_links(either: World, outside: pathlib.Path) -> None:
    point = {"name": "v", "mountPath": "/m"}
    await either.run(f"ln -s {outside} /m/link", container={"volumeMounts": [point]}, volumes=[VOLUME])
    pod = await either.ended()
    folder = outside.parent / "dev" / "pods" / "pods" / pod["metadata"]["uid"]
    assert folder.exists()
    await either.delete()
    await either.true(lambda: not folder.exists())
    assert os.listdir(outside) == ["f"]


# Processes.


def daemons(folder: pathlib.Path, variables: list[str]) -> str:
    """A script that leaves processes in sessions of their own, each with other variables, and writes down their ids."""
    starts = [f"({one} setsid sh -c 'echo $$$$ >> {folder}/new; exec sleep 1000' &)" for one in variables]
    wait = f"until [ $(wc -l < {folder}/new) = {len(starts)} ]; do sleep 0.02; done; mv {folder}/new {folder}/pids"
    return f"touch {folder}/new; {'; '.join(starts)}; {wait}"


async def test_a_process_does_not_outlive_its_container_by_a_variable(world: World, tmp_path: pathlib.Path) -> None:
    await world.run("sleep 1000", "other")
    await world.until(lambda pod: pod["status"]["phase"] == "Running", "other")
    borrowed = [f"JOBRELAY_CONTAINER={number}" for number in range(1, 4)]
    await world.run(daemons(tmp_path, [*borrowed, "env -i PATH=$PATH"]))
    await written(tmp_path / "pids")
    assert (await world.ended())["status"]["phase"] == "Succeeded"
    await ended(tmp_path / "pids")
    assert (await world.until(lambda pod: True, "other"))["status"]["phase"] == "Running"


async def test_a_daemon_without_variables_lives_as_long_as_its_container(world: World, tmp_path: pathlib.Path) -> None:
    await world.run(daemons(tmp_path, ["env -i PATH=$PATH"]) + "; sleep 0.1; sleep 1000")
    pid = int(await written(tmp_path / "pids"))
    await asyncio.sleep(0.5)
    assert is_alive(pid)
    await world.delete()
    await ended(tmp_path / "pids")


async def test_memory_counts_in_any_session(world: World) -> None:
    hog = "setsid python3 -c 'import time; held = b\"x\" * 100_000_000; time.sleep(30)' & wait"
    await world.run(hog, container={"resources": {"limits": {"memory": "40Mi"}}})
    assert terminated(await world.ended())["reason"] == "OOMKilled"


@pytest.fixture
async def launcher() -> AsyncIterator[Launcher]:
    made = Launcher("test-confinement")
    yield made
    await made.stop()


async def spawn(launcher: Launcher, *argv: str, within: int = 0) -> Process:
    with open(os.devnull, "r+b") as nothing:
        fd = nothing.fileno()
        return await launcher.spawn(Program(argv, {"PATH": os.environ["PATH"]}, within=within), fd, fd, fd)


async def test_a_command_in_a_container_ends_with_it(launcher: Launcher) -> None:
    container = await spawn(launcher, "sleep", "1000")
    command = await spawn(launcher, "sleep", "1000", within=container.id)
    other = await spawn(launcher, "sleep", "1000")
    launcher.signal(container, 15)
    async with asyncio.timeout(10):
        assert (await container.exited, await command.exited) == (128 + 15, 128 + 9)
    assert not other.exited.done()
    with pytest.raises(StartError, match="container not running"):
        await spawn(launcher, "true", within=container.id)
