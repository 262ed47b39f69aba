"""A worker that hangs keeps its connections open and answers nothing.

Here it is the one that has taken a Job of the same shape before, which takes longer than one that was not asked yet:
`tests/simulation/test_unreachable.py` has both.
"""

from __future__ import annotations

import asyncio

from jobrelay.kube.fault_injection import Hang
from jobrelay.relay.workers import Timing
from tests.relay.fleets import MakeFleet

JOBS_SENT = 20


async def test_jobs_do_not_wait_for_it(fleet: MakeFleet) -> None:
    async with fleet(2, timing=Timing(), lost_timeout=5.0) as it:
        await it.submit("first")
        await it.finished("first")
        hung = await it.place("first")
        it.links[hung].add(Hang(), times=None)
        started = asyncio.get_running_loop().time()
        names = [f"job-{number}" for number in range(JOBS_SENT)]
        for name in names:
            await it.submit(name)
        async with asyncio.timeout(60):
            await asyncio.gather(*map(it.finished, names))
        assert asyncio.get_running_loop().time() - started < 15
        assert {await it.place(name) for name in names} == set(it.workers) - {hung}
