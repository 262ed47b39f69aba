"""Clusters of either kind with the same nodes, one for each run of a manager."""

from __future__ import annotations

import asyncio
import os
import pathlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import jobrelay
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import find_connection
from tests.real.clusters import programs
from tools.kube.control_plane import control_planes
from tools.kube.nodes import nodes

CPU, MEMORY = "64", "64Gi"
NODES: Final = NodeSettings(runtime="scripted", cpu=CPU, memory=MEMORY)


@asynccontextmanager
async def embedded(folder: pathlib.Path, *options: str) -> AsyncIterator[pathlib.Path]:
    """An embedded cluster as a user starts it, with scripted pods and further options; yields its kubeconfig."""
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(jobrelay.__file__).parents[1])}
    with (folder / "cluster.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "jobrelay", "cluster", "start", "adopters", "--memory", "--runtime", "scripted",
            "--cpu", CPU, "--memory-size", MEMORY, "--dir", folder, *options,
            stdout=asyncio.subprocess.PIPE, stderr=log, env=environment,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        ready = (await process.stdout.readline()).decode().split()
        assert ready[1:2] == ["ready"], (folder / "cluster.log").read_text()
        yield pathlib.Path(ready[3])
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@asynccontextmanager
async def real(folder: pathlib.Path) -> AsyncIterator[pathlib.Path]:
    """A real control plane whose pods are scripted too; yields its kubeconfig."""
    with control_planes(["adopters"], programs(), folder) as planes:
        kubeconfig = planes["adopters"].kubeconfig
        async with nodes(find_connection(kubeconfig), NODES):
            yield kubeconfig


@asynccontextmanager
async def bare(folder: pathlib.Path, *names: str) -> AsyncIterator[dict[str, pathlib.Path]]:
    """Real control planes without nodes; yields their kubeconfigs by name."""
    with control_planes(names, programs(), folder) as planes:
        yield {name: plane.kubeconfig for name, plane in planes.items()}
