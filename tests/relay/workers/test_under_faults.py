"""A link over a network that fails at random ends up knowing everything, and never hurries."""

from __future__ import annotations

from random import Random

import pytest

from jobrelay.kube import AlreadyExists, FakeClock, NotFound
from jobrelay.kube.fault_injection import (
    AnswerStatus,
    CutStream,
    Delay,
    Fault,
    Hang,
    LoseReply,
    RefuseConnection,
    RepeatChunks,
)
from jobrelay.kube.resource import JOBS

from .support import Worker, advance, job, worker

FAULTS: list[Fault] = [
    RefuseConnection(),
    LoseReply(),
    Delay(3),
    Hang(),
    RepeatChunks(),
    CutStream(1),
    CutStream(0, clean=True),
    AnswerStatus(401, "Unauthorized"),
    AnswerStatus(410, "Expired"),
    AnswerStatus(429, "TooManyRequests", retry_after=2),
    AnswerStatus(500, "InternalError"),
    AnswerStatus(503, "ServiceUnavailable"),
]


async def _change(w: Worker, random: Random) -> None:
    name = f"j{random.randrange(8)}"
    try:
        await w.client.create(JOBS, job(name))
    except AlreadyExists:
        try:
            await w.client.delete(JOBS, name, "default", propagation="Background")
        except NotFound:
            pytest.fail("nobody else deletes")


@pytest.mark.parametrize("seed", range(6))
async def test_it_converges_after_any_trouble(clock: FakeClock, seed: int) -> None:
    random = Random(seed)
    async with worker(clock) as w:
        for _ in range(30):
            w.faults.clear()
            for fault in random.sample(FAULTS, 3):
                w.faults.add(fault, times=None, chance=0.3)
            if random.random() < 0.3:
                w.faults.partition()
            await _change(w, random)
            await advance(clock, random.choice([1, 5, 20]), step=2)
            w.faults.heal()
        w.faults.clear()
        await advance(clock, 150, step=5)
        assert w.link.connected
        assert w.link.lost_since is None
        there = await w.client.list(JOBS)
        assert {obj.key: obj.resource_version for obj in w.link.mirrors[JOBS]} == {
            obj.key: obj.resource_version for obj in there.items
        }
        assert len(w.seen.requests) < 3 * clock.monotonic()
