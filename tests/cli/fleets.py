"""Commands in this process, against a fleet in this process: the quick way to try what they print."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from click.testing import CliRunner, Result

from jobrelay.cli import root
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import LeaderElection
from jobrelay.operate.registry import register_worker
from jobrelay.relay.endpoint import ENDPOINT, RelayEndpoint
from tests.relay.fleets import NAMESPACE, Fleet, MakeFleet, fleet


async def call(it: Fleet, *arguments: str) -> Result:
    """A command on the management cluster of a fleet."""
    command = [*arguments, "--kubeconfig", str(it.management.kubeconfig)]
    return await asyncio.to_thread(CliRunner().invoke, root, command, catch_exceptions=False)


@asynccontextmanager
async def answering_fleet(
    make: MakeFleet = fleet, *, registered: bool = False, nodes: NodeSettings | None = None
) -> AsyncIterator[Fleet]:
    """A fleet whose relay can be asked; `registered` makes objects of its workers too."""
    async with make(nodes=nodes) as it, RelayEndpoint() as endpoint:
        assert it.relay is not None
        await it.relay.manager.ready.wait()
        if registered:
            for name, cluster in it.workers.items():
                await register_worker(it.client, name, cluster.kubeconfig.read_bytes(), NAMESPACE)
        annotations = {ENDPOINT: endpoint.url}
        election = LeaderElection(it.client, "jobrelay", NAMESPACE, "tests", annotations=annotations)
        leading = asyncio.create_task(election.run(asyncio.Event().wait))  # type: ignore[arg-type]
        try:
            await election.known.wait()
            with endpoint.serving(it.relay):
                yield it
        finally:
            leading.cancel()
            await asyncio.wait({leading})
