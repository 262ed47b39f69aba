"""Waiting for drained workers to be empty."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from jobrelay.cli.draining import wait_until_empty
from jobrelay.cli.errors import Failure
from jobrelay.kube import FakeClock
from jobrelay.relay.worker_view import WorkerView
from tests.relay.fleets import MakeFleet

from .fleets import answering_fleet, call


class Relay:
    """Tells a number of workloads on worker `a` at each look, and stays at the last one."""

    def __init__(self, *counts: int, problem: str = "") -> None:
        self._counts, self._problem = list(counts), problem

    async def look(self) -> tuple[Sequence[WorkerView], str]:
        jobs = self._counts.pop(0) if len(self._counts) > 1 else self._counts[0]
        others = [WorkerView("b", connected=True, state="open", jobs=9)]
        return [WorkerView("a", connected=True, state="draining", jobs=jobs), *others], self._problem


async def waited(relay: Relay, within: float | None = None) -> bool:
    clock = FakeClock()
    task = asyncio.create_task(wait_until_empty(["a"], relay.look, clock, within=within))
    while not task.done():
        await clock.advance(1.0)
    return task.result()


async def test_it_tells_each_number_once_and_ends_when_none_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert await waited(Relay(2, 2, 1, 0))
    told = capsys.readouterr().err.splitlines()
    assert told == ["worker a holds 2 workloads", "worker a holds 1 workload", "worker a is empty"]


async def test_it_waits_no_longer_than_asked() -> None:
    assert not await waited(Relay(3), within=10.0)


async def test_without_the_relay_nothing_moves() -> None:
    with pytest.raises(Failure, match="no relay is running"):
        await waited(Relay(3, problem="no relay is running"))


async def test_an_empty_worker_is_drained_at_once(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        result = await call(it, "worker", "drain", "worker-1", "--wait", "--timeout", "1m")
        assert (result.exit_code, result.stderr) == (0, "worker worker-1 draining\nworker worker-1 is empty\n")


async def test_workers_are_listed_as_get_lists_them(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        listed = (await call(it, "worker", "list", "-o", "name")).stdout
        assert listed == (await call(it, "get", "workers", "-o", "name")).stdout
        assert listed.splitlines() == ["worker/worker-1", "worker/worker-2"]
