"""Which kinds a cluster serves is found in the same way on embedded and on real clusters."""

from __future__ import annotations

import asyncio
from random import Random

from jobrelay.kube import SystemClock
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.relay.workers.served_kinds import ServedKinds, Serving
from tests.relay.fleets import AnyCluster
from tests.relay.kinds.renders import RENDERS, definition


async def test_a_definition_is_noticed_when_it_comes_and_when_it_goes(any_cluster: AnyCluster) -> None:
    client, changed = any_cluster.client(), asyncio.Event()
    served = ServedKinds(client, [RENDERS], changed.set, clock=SystemClock(), random=Random(1), idle_timeout=150.0)

    async def until(state: Serving) -> None:
        async with asyncio.timeout(30):
            while served.state(RENDERS) is not state:
                changed.clear()
                await changed.wait()

    running = asyncio.create_task(served.run())
    try:
        await until(Serving.ABSENT)
        await client.create(CUSTOMRESOURCEDEFINITIONS, definition())
        await until(Serving.SERVED)
        await client.delete(CUSTOMRESOURCEDEFINITIONS, str(RENDERS))
        await until(Serving.ABSENT)
    finally:
        running.cancel()
        await asyncio.wait({running})
