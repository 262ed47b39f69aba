"""A link over a network that fails at random ends up knowing everything, and never hurries."""

from __future__ import annotations

from random import Random

import pytest

from jobrelay.kube import AlreadyExists, FakeClock, NotFound
from jobrelay.kube.faults import Answer, Cut, Delay, Fault, Hang, LoseReply, Refuse, Repeat
from jobrelay.kube.resource import JOBS

from .support import Worker, advance, job, worker

FAULTS: list[Fault] = [
    Refuse(),
    LoseReply(),
    Delay(3),
    Hang(),
    Repeat(),
    Cut(1),
    Cut(0, clean=True),
    Answer(401, "Unauthorized"),
    Answer(410, "Expired"),
    Answer(429, "TooManyRequests", retry_after=2),
    Answer(500, "InternalError"),
    Answer(503, "ServiceUnavailable"),
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
