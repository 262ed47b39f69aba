"""`jobrelay up` and the guide, from the first start to the last signal: nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
import yaml

from jobrelay.fleet.folder import HELLO
from jobrelay.kube import connect
from jobrelay.kube.resource import JOBS, NODES

from .command import COMMAND, ENVIRONMENT, ROOT, end, run
from .terminal import in_terminal

GUIDE = (ROOT / "docs" / "guides" / "relay.md").read_text()
QUICK = ("--runtime", "scripted")


@contextmanager
def up(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A fleet that is ready; ended at the end if the test has not done so."""
    command = [*COMMAND, "up", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        _wait_ready(process)
        yield process
    finally:
        process.terminate()
        process.communicate()


def _wait_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    while line := process.stdout.readline():
        if line.startswith("fleet ready "):
            return
    assert process.stderr is not None
    raise AssertionError(process.stderr.read())


def pids(folder: pathlib.Path) -> list[int]:
    return [int(path.read_text()) for path in sorted(folder.glob("*.pid"))]


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be noticed does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(shown.strip()) and not shown.strip().startswith("Z")


def eventually(what: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def eventually_async(what: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await what():
            await asyncio.sleep(0.05)


async def submit(folder: pathlib.Path, body: str) -> str:
    async with connect(folder / "management.kubeconfig") as client:
        job = yaml.safe_load(body)
        job["metadata"].setdefault("namespace", "default")
        return (await client.create(JOBS, job)).name


async def finished(folder: pathlib.Path, name: str) -> str:
    """Waits for a Job's end; its last condition."""
    async with (
        connect(folder / "management.kubeconfig") as client,
        client.watch(JOBS, "default", field_selector=f"metadata.name={name}") as events,
    ):
        async for event in events:
            conditions = event.object.decode().get("status", {}).get("conditions", [])
            if any(one["type"] in ("Complete", "Failed") for one in conditions):
                return str(conditions[-1]["type"])
    raise AssertionError("the watch ended")


async def test_a_fleet_from_its_first_start_to_its_last(tmp_path: pathlib.Path) -> None:
    where = ["--kubeconfig", tmp_path / "management.kubeconfig"]
    with up("--workers", 2, "--dir", tmp_path, *QUICK) as fleet:
        again = run("up", "--dir", tmp_path)
        assert (again.returncode, f"already running in {tmp_path} (pid {fleet.pid})" in again.stderr) == (2, True)
        name = await submit(tmp_path, HELLO)
        assert await finished(tmp_path, name) == "Complete"
        assert run("explain", f"job/{name}", *where).stdout.startswith("It is complete, on worker-")
        processes = pids(tmp_path)
        assert len(processes) == 4
        assert end(fleet, signal.SIGINT) == 0
    assert not any(map(alive, processes))
    assert list(tmp_path.glob("*.pid")) == []
    detached = run("up", "--workers", 2, "--dir", tmp_path, *QUICK, "-d")
    assert detached.stdout.splitlines()[-1] == f"fleet ready {tmp_path}"
    assert "starting" not in detached.stderr
    assert name in run("get", "jobs", *where).stdout
    processes = pids(tmp_path)
    down = run("down", "--dir", tmp_path)
    assert (down.returncode, down.stderr) == (0, "fleet stopped\n")
    assert not any(map(alive, processes))
    assert run("down", "--dir", tmp_path).stderr == f"no fleet is running in {tmp_path}\n"


def test_a_fleet_ends_with_its_management_cluster_and_not_with_a_worker(tmp_path: pathlib.Path) -> None:
    with up("--workers", 2, "--memory", "--dir", tmp_path, *QUICK) as fleet:
        processes = pids(tmp_path)
        os.kill(int((tmp_path / "worker-1.pid").read_text()), signal.SIGKILL)
        eventually(lambda: not (tmp_path / "worker-1.pid").exists())
        assert fleet.poll() is None
        os.kill(int((tmp_path / "management.pid").read_text()), signal.SIGKILL)
        assert fleet.wait(60) == 2
        assert fleet.stderr is not None
        printed = fleet.stderr.read()
    assert "note: worker-1 was killed by SIGKILL; the rest of the fleet keeps running" in printed
    assert "error: management was killed by SIGKILL" in printed
    assert not any(map(alive, processes))


def test_parts_do_not_outlive_a_fleet_that_is_killed(tmp_path: pathlib.Path) -> None:
    with up("--workers", 1, "--memory", "--dir", tmp_path, *QUICK) as fleet:
        processes = pids(tmp_path)
        fleet.kill()
        eventually(lambda: not any(map(alive, processes)))


def test_a_terminal_is_told_what_starts_and_ctrl_c_ends_it(tmp_path: pathlib.Path) -> None:
    command = [*COMMAND, "up", "--workers", 1, "--memory", "--dir", tmp_path, *QUICK]
    code, shown = in_terminal(command, b"fleet ready", b"\x03")
    parts = ["starting a management cluster, 1 worker and the relay ...", "management ready", "worker-1 ready"]
    places = [shown.index(part) for part in [*parts, "relay ready", "fleet ready"]]
    assert (code, places) == (0, sorted(places))


def test_down_ends_parts_that_were_started_again_by_hand(tmp_path: pathlib.Path) -> None:
    assert run("up", "--workers", 1, "--dir", tmp_path, *QUICK, "-d").returncode == 0
    for name in ("worker-1", "relay"):
        os.kill(int((tmp_path / f"{name}.pid").read_text()), signal.SIGKILL)
        eventually(lambda name=name: not (tmp_path / f"{name}.pid").exists())  # type: ignore[misc]
    started = run("cluster", "start", "worker-1", "--dir", tmp_path, *QUICK, "-d")
    assert started.returncode == 0, started.stderr
    command = [*COMMAND, "relay", "run", "--kubeconfig", tmp_path / "management.kubeconfig"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT) as relay:
        assert relay.stdout is not None
        assert relay.stdout.readline().startswith(b"relay ready")
        down = run("down", "--dir", tmp_path)
        assert (down.returncode, down.stderr) == (0, "fleet stopped\nrelay stopped\nworker-1 stopped\n")
        assert relay.wait(60) == 0
    assert json.loads(run("cluster", "list", "--dir", tmp_path, "-o", "json").stdout)[1]["state"] == "stopped"


def test_commands_in_the_folder_of_a_fleet_need_no_kubeconfig(tmp_path: pathlib.Path) -> None:
    here, below, fleet = tmp_path / "here", tmp_path / "here" / "below", tmp_path / "fleet"
    below.mkdir(parents=True)
    variables = {key: value for key, value in ENVIRONMENT.items() if key != "KUBECONFIG"} | {"HOME": str(tmp_path)}

    def jobrelay(where: pathlib.Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, *map(str, arguments)]
        return subprocess.run(
            command, cwd=where, env=variables | more, capture_output=True, text=True, timeout=120, check=False
        )

    assert jobrelay(here, "up", "--workers", 1, "--memory", "--dir", fleet, *QUICK, "-d").returncode == 0
    try:
        assert jobrelay(below, "get", "workers", "-o", "name").stdout == "worker/worker-1\n"
        assert "no kubeconfig found" in jobrelay(tmp_path, "get", "workers").stderr
        assert "nowhere" in jobrelay(below, "get", "workers", KUBECONFIG="nowhere").stderr
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text("{}")
        assert f"note: using the fleet in {fleet}" in jobrelay(below, "get", "workers").stderr
    finally:
        assert jobrelay(here, "down", "--dir", fleet).returncode == 0
    assert "no current-context" in jobrelay(below, "get", "workers").stderr


async def test_workers_may_have_gpus_and_labels_of_their_own(tmp_path: pathlib.Path) -> None:
    sizes = ("--workers", 2, "--gpu", "8,0", "--label", "zone=a,b")
    with up(*sizes, "--memory", "--dir", tmp_path, *QUICK):
        for name, zone, gpus in (("worker-1", "a", "8"), ("worker-2", "b", None)):
            async with connect(tmp_path / f"{name}.kubeconfig") as client:
                (node,) = (await client.list(NODES)).items
                assert node.metadata.labels["zone"] == zone
                assert node.decode()["status"]["capacity"].get("nvidia.com/gpu") == gpus


@pytest.mark.parametrize("option", ["--gpu=some", "--nodes=0", "--label=zone", "--label=a b=c", "--memory-size=lots"])
def test_a_bad_size_is_named(tmp_path: pathlib.Path, option: str) -> None:
    result = run("up", "--dir", tmp_path, option)
    assert (result.returncode, f"error: {option.replace('=', ' ', 1)}: " in result.stderr) == (2, True)


def test_a_fleet_that_cannot_start_says_why_and_leaves_nothing(tmp_path: pathlib.Path) -> None:
    result = run("up", "--workers", 1, "--dir", tmp_path, "--cpu", "lots")
    assert (result.returncode, "--cpu lots" in result.stderr) == (2, True)
    (tmp_path / "worker-1").mkdir()
    (tmp_path / "worker-1" / "thesis.txt").write_text("mine")
    result = run("up", "--workers", 1, "--memory", "--dir", tmp_path, *QUICK)
    assert (result.returncode, "holds files that are not a jobrelay cluster's" in result.stderr) == (2, True)
    assert list(tmp_path.glob("*.pid")) == []


def guide_lines() -> list[str]:
    blocks = re.findall(r"(<!-- not run[^\n]*\n)?```sh\n(.*?)```", GUIDE, re.DOTALL)
    return [line for left_out, block in blocks if not left_out for line in block.splitlines()]


async def test_the_guide_is_true(tmp_path: pathlib.Path) -> None:
    """Runs every line of the guide, in its order; the Job is applied by our own client where there is no kubectl."""
    first, *lines = guide_lines()
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "jobrelay"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m jobrelay "$@"\n')
    script.chmod(0o755)
    folder = tmp_path / "fleet"
    variables = ENVIRONMENT | {"PATH": f"{script.parent}:{os.environ['PATH']}"}
    (block,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    (tmp_path / "train.yaml").write_text(block)
    options = [each for each in shlex.split(first)[2:] if each != "-d"]  # a fleet that ends with the test
    with up(*options[:-4], "--dir", folder, *options[-2:], *QUICK):
        for name in ("west", "east", "a", "b"):
            shutil.copy(folder / "worker-2.kubeconfig", tmp_path / f"{name}.kubeconfig")
        shutil.copy(folder / "management.kubeconfig", tmp_path)
        for line in lines:
            if line.startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                variables[name] = value
            elif line.startswith("kubectl apply"):
                await submit(folder, block)
            elif line.startswith("jobrelay relay run"):
                _try_relay(line, tmp_path, variables)
            elif not line.startswith("kubectl") or shutil.which("kubectl"):
                done = subprocess.run(
                    ["sh", "-c", line],
                    cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120, check=False,
                )  # fmt: skip
                assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert await finished(folder, "train") == "Complete"


def _try_relay(line: str, folder: pathlib.Path, variables: dict[str, str]) -> None:
    command = [*COMMAND, *shlex.split(line)[1:]]
    with subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.PIPE, text=True) as relay:
        assert relay.stdout is not None
        assert relay.stdout.readline().startswith("relay ready")
        relay.terminate()
        relay.stdout.read()
        assert relay.wait(30) == 0, line
