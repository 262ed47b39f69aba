"""The relay is killed at every write about queues; its successor finishes the work, and no quota is given twice.

The story is played once for every write: the n-th is held for ever, before or after it took effect, the relay is killed
there, and a new one is started that knows nothing.
"""

from __future__ import annotations

import asyncio

import pytest

from jobrelay.kube import Request, SystemClock
from jobrelay.kube.resource import JOBS
from jobrelay.queueing.conditions import holds
from jobrelay.queueing.definitions import ensure_definitions
from jobrelay.queueing.gate import QueueingGate
from jobrelay.queueing.resources import WORKLOADS
from jobrelay.queueing.views import WorkloadView
from tests.queueing.fleets import QueueFleet, queued_job
from tests.relay.fleets import fleet
from tests.relay.test_crashes import Trap

MOST = 9
"""Writes about two Jobs: their Workloads, admissions, starts, pods that are ready, ends; some may be left out."""


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is killed does not finish what was begun."""
    monkeypatch.setattr("jobrelay.relay.relay.GRACE", 0.0)
    monkeypatch.setattr("tests.relay.test_crashes._is_write", _is_write)


def _is_write(request: Request) -> bool:
    return request.method != "GET" and ("/jobs" in request.path or "/workloads" in request.path)


async def story(number: int, *, after: bool) -> bool:
    """Two Jobs share a quota for one, with a crash at one write; whether there were that many writes."""
    async with fleet(1, start=False) as base:
        await ensure_definitions(base.client, SystemClock())
        base.gate = QueueingGate
        it, trap, whole = QueueFleet(base), Trap(number, after=after), base.home
        await it.make_queue(cpu=1)
        base.home = trap.around(whole)  # type: ignore[assignment]
        await base.start()
        most = asyncio.ensure_future(most_admitted(it))
        for name in ("first", "second"):
            await it.client.create(JOBS, queued_job(name, suspend=True))
        ended = asyncio.ensure_future(both_end(it))
        caught = asyncio.ensure_future(trap.caught.wait())
        await asyncio.wait({ended, caught}, return_when=asyncio.FIRST_COMPLETED)
        if caught.done():
            await base.kill()
            base.home = whole
            await base.start()
        caught.cancel()
        await ended
        if most.done():
            most.result()
        most.cancel()
        assert len((await it.client.list(WORKLOADS, "default")).items) == 2
        return trap.caught.is_set()


async def both_end(it: QueueFleet) -> None:
    for name in ("first", "second"):
        await it.it.finished(name)
        await it.until_condition(name, "Finished", reason="Succeeded")


async def most_admitted(it: QueueFleet) -> None:
    """Fails if more Workloads hold quota than there is."""
    while True:
        views = [each.decode(WorkloadView) for each in (await it.client.list(WORKLOADS, "default")).items]
        held = [view for view in views if view.status.admission and not holds(view.status.conditions, "Finished")]
        assert len(held) <= 1
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_crash_at_any_write_admits_nothing_twice_and_loses_nothing(after: bool) -> None:
    assert all(await asyncio.gather(*(story(number, after=after) for number in range(MOST))))
