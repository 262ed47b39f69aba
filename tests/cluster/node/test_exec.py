"""`kubectl exec`, by kubectl itself, where it is installed."""

from __future__ import annotations

import asyncio
import pathlib
import shutil
from collections.abc import AsyncIterator

import pytest

from jobrelay.cluster.cluster import Cluster
from jobrelay.cluster.node import NodeSettings

from .world import World

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


@pytest.fixture
async def kubeconfig() -> AsyncIterator[pathlib.Path]:
    async with Cluster(memory=True, controllers="namespace-controller", nodes=NodeSettings()) as cluster:
        world = World(cluster.client())
        await world.run("VARIABLE=1; sleep 100", container={"env": [{"name": "VARIABLE", "value": "held"}]})
        await world.until(lambda pod: pod["status"]["phase"] == "Running")
        yield cluster.kubeconfig


async def kubectl(kubeconfig: pathlib.Path, *words: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        "kubectl", "--kubeconfig", str(kubeconfig), *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(given), 30)
    assert process.returncode is not None
    return process.returncode, out, err


async def test_a_command_runs_in_the_container(kubeconfig: pathlib.Path) -> None:
    script = "echo $VARIABLE; echo aside >&2"
    assert await kubectl(kubeconfig, "exec", "p", "--", "sh", "-c", script) == (0, b"held\n", b"aside\n")


async def test_its_exit_code_comes_back(kubeconfig: pathlib.Path) -> None:
    code, _, _ = await kubectl(kubeconfig, "exec", "p", "--", "sh", "-c", "exit 4")
    assert code == 4


async def test_it_reads_what_is_typed(kubeconfig: pathlib.Path) -> None:
    _, out, _ = await kubectl(kubeconfig, "exec", "-i", "p", "--", "cat", given=b"hello\n")
    assert out == b"hello\n"


async def test_a_program_that_is_not_there(kubeconfig: pathlib.Path) -> None:
    code, _, err = await kubectl(kubeconfig, "exec", "p", "--", "no-such-program")
    assert code != 0
    assert b"executable file not found" in err
