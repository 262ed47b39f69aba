from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, FakeClock, FaultyTransport, NotFound
from jobrelay.kube.fault_injection import AnswerStatus
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.relay.workers import LossRecord, ensure_namespace

from .support import Recording, advance, running

NAMESPACE = "jobrelay-system"


class Management:
    """A management cluster whose record is looked at from outside."""

    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.clock, self.outside = clock, cluster.client()
        self.seen = Recording(cluster.transport())
        self.faults = FaultyTransport(self.seen, clock=clock)

    def record(self, writes: Callable[[], bool] = lambda: True) -> LossRecord:
        return LossRecord(Client(self.faults, clock=self.clock), NAMESPACE, clock=self.clock, writes=writes)

    async def written(self) -> dict[str, str]:
        found = await self.outside.get(CONFIGMAPS, "jobrelay-workers", NAMESPACE)
        data: dict[str, str] = found.decode().get("data", {})
        return {worker: msgspec.json.decode(text)["reason"] for worker, text in data.items()}


@asynccontextmanager
async def management(clock: FakeClock) -> AsyncIterator[Management]:
    async with Cluster(controllers="none") as cluster:
        await ensure_namespace(cluster.client(), NAMESPACE)
        yield Management(cluster, clock)


async def test_a_loss_that_lasts_survives_a_restart(clock: FakeClock) -> None:
    async with management(clock) as cluster:
        record, since = cluster.record(), clock.now()
        await record.load()
        async with running(record.run()):
            record.lost("w1", since, "gone")
            await advance(clock, 7)
        assert await cluster.written() == {"w1": "gone"}
        await advance(clock, 60)
        again = cluster.record()
        await again.load()
        assert again.losses["w1"].since == since
        assert again.losses["w1"].reason == "gone"


async def test_a_short_loss_is_never_written(clock: FakeClock) -> None:
    async with management(clock) as cluster:
        record = cluster.record()
        async with running(record.run()):
            record.lost("w1", clock.now(), "gone")
            await advance(clock, 4)
            record.answered("w1")
            await advance(clock, 10)
        with pytest.raises(NotFound):
            await cluster.written()


async def test_the_end_of_a_loss_is_written_once(clock: FakeClock) -> None:
    async with management(clock) as cluster:
        record = cluster.record()
        async with running(record.run()):
            for worker in ("w1", "w2"):
                record.lost(worker, clock.now(), "gone")
            await advance(clock, 10)
            record.answered("w1")
            await advance(clock, 10)
        assert await cluster.written() == {"w2": "gone"}
        assert cluster.seen.count("PATCH") == 2
        assert cluster.seen.count("POST") == 1


async def test_conflicts_and_outages_are_survived(clock: FakeClock) -> None:
    async with management(clock) as cluster:
        record = cluster.record()
        cluster.faults.add(AnswerStatus(409, "Conflict"), "PATCH *", times=2)
        cluster.faults.add(AnswerStatus(409, "AlreadyExists"), "POST *")
        async with running(record.run()):
            record.lost("w1", clock.now(), "gone")
            cluster.faults.partition()
            await advance(clock, 10)
            cluster.faults.heal()
            await advance(clock, 90)
        assert await cluster.written() == {"w1": "gone"}


async def test_only_the_leader_writes_and_a_new_one_clears_what_is_over(clock: FakeClock) -> None:
    leads = False
    async with management(clock) as cluster:
        standby = cluster.record(lambda: leads)
        leader = cluster.record()
        async with running(standby.run(), leader.run()):
            for record in (leader, standby):
                record.lost("w1", clock.now(), "gone")
            await advance(clock, 10)
            standby.answered("w1")
            await advance(clock, 5)
            assert await cluster.written() == {"w1": "gone"}
        leads = True
        async with running(standby.run()):
            await advance(clock, 5)
        assert await cluster.written() == {}


async def test_entries_that_make_no_sense_are_ignored(clock: FakeClock) -> None:
    async with management(clock) as cluster:
        data = {"w1": "nonsense", "w2": '{"lostSince":"2026-01-01T00:00:00Z"}', "w3": '{"reason":"x"}'}
        metadata = {"name": "jobrelay-workers", "namespace": NAMESPACE}
        await cluster.outside.create(CONFIGMAPS, {"metadata": metadata, "data": data})
        record = cluster.record()
        await record.load()
        assert list(record.losses) == ["w2"]
        assert record.losses["w2"].since - clock.now() == timedelta(0)
