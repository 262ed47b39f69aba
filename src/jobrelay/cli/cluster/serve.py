"""Runs clusters in the foreground: started one after another in one process, stopped together by SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import gc
import pathlib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

import click

from jobrelay.cli.cluster.common import print_runtime_note
from jobrelay.cli.loop import run_until_stopped
from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings


def serve_clusters(
    folder: pathlib.Path,
    ports: Mapping[str, int | None],
    *,
    memory: bool,
    controllers: str = "all",
    nodes: NodeSettings | None = None,
) -> None:
    """Runs clusters until a signal arrives."""
    clusters = [
        Cluster(name, folder, memory=memory, port=port, controllers=controllers, nodes=nodes)
        for name, port in ports.items()
    ]
    run_until_stopped(_run(clusters, nodes.runtime if nodes is not None else "none"))


async def _run(clusters: Sequence[Cluster], runtime: str) -> None:
    async with AsyncExitStack() as stack:
        for cluster in clusters:
            await stack.enter_async_context(cluster)
            click.echo(f"{cluster.name} ready {cluster.url} {cluster.kubeconfig}")
        print_runtime_note(runtime)
        gc.freeze()
        await asyncio.Event().wait()
