"""Where the relay admits, and where it leaves that to Kueue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from jobrelay.apimachinery.times import format_micro_time
from jobrelay.cluster import Cluster
from jobrelay.kube import Client, SystemClock
from jobrelay.kube.resource import LEASES, NAMESPACES
from jobrelay.queueing.definitions import ensure_definitions
from jobrelay.queueing.names import KUEUE_LEASE
from jobrelay.queueing.presence import Mode, QueueingPresence

CLOCK = SystemClock()


@asynccontextmanager
async def presence(client: Client, mode: Mode = "auto") -> AsyncIterator[QueueingPresence]:
    found = QueueingPresence(client, mode, None, CLOCK)
    await found.prepare()
    running = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        running.cancel()
        await asyncio.wait({running})


async def hold_lease(client: Client, seconds: float = 15) -> None:
    """Kueue's manager leads, and renewed its lease so many seconds before it runs out."""
    await client.create(NAMESPACES, {"metadata": {"name": "kueue-system"}})
    renewed = format_micro_time(CLOCK.now() - timedelta(seconds=15 - seconds))
    spec = {"holderIdentity": "kueue-0", "leaseDurationSeconds": 15, "renewTime": renewed}
    await client.create(LEASES, {"metadata": {"name": KUEUE_LEASE, "namespace": "kueue-system"}, "spec": spec})


async def test_nothing_is_admitted_where_queues_are_not_served() -> None:
    async with Cluster("m") as cluster, presence(cluster.client()) as found:
        assert await found.gate() is None
        assert "is not served" in found.why_not


async def test_it_begins_when_the_kinds_of_queues_are_defined() -> None:
    async with Cluster("m") as cluster, presence(cluster.client()) as found:
        assert await found.gate() is None
        await ensure_definitions(cluster.client(), CLOCK)
        await asyncio.wait_for(found.changed.wait(), 20)
        assert await found.gate() is not None


async def test_on_defines_the_kinds_of_queues() -> None:
    async with Cluster("m") as cluster, presence(cluster.client(), "on") as found:
        assert await found.gate() is not None


async def test_off_admits_nothing() -> None:
    async with Cluster("m") as cluster:
        await ensure_definitions(cluster.client(), CLOCK)
        async with presence(cluster.client(), "off") as found:
            assert await found.gate() is None


async def test_it_stops_when_kueues_manager_leads() -> None:
    async with Cluster("m") as cluster, presence(cluster.client(), "on") as found:
        assert await found.gate() is not None
        await hold_lease(cluster.client())
        await asyncio.wait_for(found.changed.wait(), 20)
        assert await found.gate() is None
        assert found.why_not == f"Kueue's manager leads: Lease kueue-system/{KUEUE_LEASE}"


async def test_it_begins_when_the_lease_of_kueues_manager_has_run_out() -> None:
    async with Cluster("m") as cluster:
        await hold_lease(cluster.client(), seconds=2)
        async with presence(cluster.client(), "on") as found:
            assert await found.gate() is None
            await asyncio.wait_for(found.changed.wait(), 20)
            assert await found.gate() is not None
