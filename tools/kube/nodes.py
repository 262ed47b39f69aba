"""Nodes for a real control plane: our scheduler and our scripted pods, over the network.

    python -m tools.kube.nodes --kubeconfig FILE [--nodes 3]

They stand in for kube-scheduler and kubelets, so pods are bound, start and end as their annotations say
(docs/reference/scripted-pods.md).
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobrelay.cluster.node import NodeSettings, set_up
from jobrelay.control import ControllerContext
from jobrelay.kube import Connection, find_connection
from jobrelay.kube.network import NetworkTransport


@asynccontextmanager
async def nodes(connection: Connection, settings: NodeSettings | None = None) -> AsyncIterator[None]:
    """Nodes that run pods while the block runs."""
    async with NetworkTransport(connection) as transport:
        context = ControllerContext(transport)
        set_up(context, settings or NodeSettings(runtime="scripted"))
        running = asyncio.create_task(context.manager.run())
        ready = asyncio.create_task(context.manager.ready.wait())
        try:
            await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            yield
        finally:
            running.cancel()
            ready.cancel()
            await asyncio.wait({running, ready})


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", type=pathlib.Path, required=True)
    parser.add_argument("--nodes", type=int, default=1)
    options = parser.parse_args()
    async with nodes(find_connection(options.kubeconfig), NodeSettings(runtime="scripted", nodes=options.nodes)):
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
