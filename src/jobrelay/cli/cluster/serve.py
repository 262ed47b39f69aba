"""Clusters in the foreground: started one after the other in one process, stopped together on SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import pathlib
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final

import click
import structlog

from jobrelay.cli.cluster.common import tell_runtime
from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings

log = structlog.get_logger(__name__)
_THRESHOLDS: Final = (50_000, 20, 100)  # the default makes the collector walk all stored objects far too often
_FILES: Final = 65_536


def serve_clusters(
    folder: pathlib.Path,
    ports: Mapping[str, int | None],
    *,
    memory: bool,
    controllers: str = "all",
    nodes: NodeSettings | None = None,
) -> None:
    """Runs clusters until a signal comes."""
    clusters = [
        Cluster(name, folder, memory=memory, port=port, controllers=controllers, nodes=nodes)
        for name, port in ports.items()
    ]
    gc.set_threshold(*_THRESHOLDS)
    _allow_many_connections()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(clusters, nodes.runtime if nodes is not None else "none"))


def _allow_many_connections() -> None:
    """Every watch holds a socket: use as many files as the system lets us, not only as many as it starts us with."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else most
    with contextlib.suppress(ValueError, OSError):  # some systems name a limit that they do not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _serve(clusters: Sequence[Cluster], runtime: str) -> None:
    serving = asyncio.ensure_future(_run(clusters, runtime))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _end, loop, number, serving)
    try:
        await serving
    except asyncio.CancelledError:
        log.debug("ended")


def _end(loop: asyncio.AbstractEventLoop, number: signal.Signals, serving: asyncio.Future[None]) -> None:
    """Ends the clusters cleanly; a second signal then has its usual effect."""
    log.debug("ending", signal=number.name)
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(each)
    serving.cancel()


async def _run(clusters: Sequence[Cluster], runtime: str) -> None:
    async with AsyncExitStack() as stack:
        for cluster in clusters:
            await stack.enter_async_context(cluster)
            click.echo(f"{cluster.name} ready {cluster.url} {cluster.kubeconfig}")
        tell_runtime(runtime)
        gc.freeze()
        await asyncio.Event().wait()
