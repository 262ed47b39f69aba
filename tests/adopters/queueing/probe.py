"""Tells how far a manager has got: a Job of its own goes the way of every other, round after round.

When a round that was begun after a change is over, the manager has had its turn with everything that the change led
to: its queues are served in order. A machine that has much to do makes rounds longer, and so the waits that rely on
them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from jobrelay.kube import AlreadyExists, Cache, Client, Key, KubeError
from jobrelay.kube.resource import JOBS, NAMESPACES
from jobrelay.relay.signal import Changes

from . import objects as short
from .objects import CLUSTERQUEUES, FLAVORS, LOCALQUEUES, Names, Obj

NAMES: Final = Names("probing")
QUEUE: Final = NAMES.named("q")
LONGEST: Final = 30.0
"""A round that takes longer is given up; the next one begins without its Job."""


class Probe:
    """`begun` is when the last complete round began."""

    def __init__(self, client: Client, queues: Cache) -> None:
        self.begun = 0.0
        self.changes = Changes()
        self._client, self._queues = client, queues

    async def run(self) -> None:
        """Go round for ever."""
        unsubscribe = self._queues.subscribe(lambda _old, _new: self.changes.notify())
        try:
            number = 0
            while True:
                number += 1
                with suppress(KubeError, TimeoutError):
                    async with asyncio.timeout(LONGEST):
                        await self._round(f"probe-{secrets.token_hex(3)}-{number}")
        finally:
            unsubscribe()

    async def _round(self, name: str) -> None:
        began = time.monotonic()
        await self._client.delete_collection(JOBS, NAMES.namespace(), propagation="Background")
        await self.changes.until(self._admitted(0))
        job = short.job(NAMES, name, {"queue": "q", "cpu": 1})
        await self._client.create(JOBS, short.typed(JOBS, job))
        await self.changes.until(self._admitted(1))
        self.begun = began
        self.changes.notify()

    def _admitted(self, count: int) -> Callable[[], bool]:
        def holds() -> bool:
            queue = self._queues.get(Key("", QUEUE))
            status: Obj = queue.decode().get("status", {}) if queue is not None else {}
            return (status.get("admittedWorkloads", 0), status.get("reservingWorkloads", 0)) == (count, count)

        return holds


@asynccontextmanager
async def probing(client: Client, queues: Cache) -> AsyncIterator[Probe]:
    """A probe at work while the block runs."""
    for resource, body in (
        (NAMESPACES, {"metadata": {"name": NAMES.namespace()}}),
        (FLAVORS, short.flavor(NAMES, "default", {})),
        (CLUSTERQUEUES, short.cluster_queue(NAMES, "q", {"cpu": 1})),
        (LOCALQUEUES, short.local_queue(NAMES, "q", {"queue": "q"})),
    ):
        with suppress(AlreadyExists):
            await client.create(resource, short.typed(resource, body))
    probe = Probe(client, queues)
    task = asyncio.create_task(probe.run())
    try:
        yield probe
    finally:
        task.cancel()
        await asyncio.wait([task])
