from __future__ import annotations

import asyncio

import pytest

from jobrelay.control import Group, Manager
from jobrelay.kube import FakeClock


class Thing:
    """Notes when it starts and stops."""

    def __init__(self, name: str, log: list[str], *, fails_after: asyncio.Event | None = None) -> None:
        self.name = name
        self._log = log
        self._fails_after = fails_after or asyncio.Event()

    async def run(self) -> None:
        self._log.append(f"+{self.name}")
        try:
            await self._fails_after.wait()
            raise RuntimeError(f"{self.name} broke")
        finally:
            self._log.append(f"-{self.name}")


class SlowCache(Thing):
    """Is ready only when told."""

    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__(name, log)
        self.synced = asyncio.Event()

    async def wait_synced(self) -> None:
        await self.synced.wait()


class Election:
    """A leader election decided by the test."""

    def __init__(self) -> None:
        self.won = asyncio.Event()
        self.lost = asyncio.Event()

    async def run(self, lead) -> None:  # type: ignore[no-untyped-def]
        await self.won.wait()
        leading = asyncio.ensure_future(lead())
        try:
            await self.lost.wait()
        finally:
            leading.cancel()
            await asyncio.wait({leading})
        raise ConnectionError("lost")


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def test_groups_start_in_order_and_stop_in_reverse(clock: FakeClock) -> None:
    log: list[str] = []
    manager = Manager(clock=clock)
    manager.add(Thing("leader", log), Group.LEADER)
    manager.add(Thing("controller", log))
    manager.add(Thing("cache", log), Group.CACHES)
    manager.add(Thing("server", log), Group.SERVERS)
    task = asyncio.create_task(manager.run())
    await clock.settle()
    assert manager.ready.is_set()
    await stop(task)
    assert log == ["+server", "+cache", "+controller", "+leader", "-leader", "-controller", "-cache", "-server"]
    assert not manager.ready.is_set()


async def test_controllers_wait_for_caches_to_sync(clock: FakeClock) -> None:
    log: list[str] = []
    cache = SlowCache("cache", log)
    manager = Manager(clock=clock)
    manager.add(cache, Group.CACHES)
    manager.add(Thing("controller", log))
    task = asyncio.create_task(manager.run())
    await clock.settle()
    assert log == ["+cache"]
    cache.synced.set()
    await clock.settle()
    assert log == ["+cache", "+controller"]
    await stop(task)


async def test_a_failure_takes_everything_down(clock: FakeClock) -> None:
    log: list[str] = []
    broken = asyncio.Event()
    manager = Manager(clock=clock)
    manager.add(Thing("cache", log), Group.CACHES)
    manager.add(Thing("controller", log, fails_after=broken))
    task = asyncio.create_task(manager.run())
    await clock.settle()
    broken.set()
    with pytest.raises(RuntimeError, match="controller broke"):
        await task
    assert log[-1] == "-cache"


async def test_a_failure_during_start_is_not_waited_out(clock: FakeClock) -> None:
    log: list[str] = []
    broken = asyncio.Event()
    manager = Manager(clock=clock)
    manager.add(Thing("server", log, fails_after=broken), Group.SERVERS)
    manager.add(SlowCache("cache", log), Group.CACHES)
    task = asyncio.create_task(manager.run())
    await clock.settle()
    broken.set()
    with pytest.raises(RuntimeError, match="server broke"):
        await task


async def test_the_leader_group_runs_only_while_leading(clock: FakeClock) -> None:
    log: list[str] = []
    election = Election()
    manager = Manager(election=election, clock=clock)  # type: ignore[arg-type]
    manager.add(Thing("controller", log))
    manager.add(Thing("leader", log), Group.LEADER)
    task = asyncio.create_task(manager.run())
    await clock.settle()
    assert log == ["+controller"]
    election.won.set()
    await clock.settle()
    assert log == ["+controller", "+leader"]
    election.lost.set()
    with pytest.raises(ConnectionError):
        await task
    assert log[2:] == ["-leader", "-controller"]


async def test_a_runnable_may_finish(clock: FakeClock) -> None:
    class Once:
        async def run(self) -> None:
            return

    manager = Manager(clock=clock)
    manager.add(Once())
    task = asyncio.create_task(manager.run())
    await clock.settle()
    assert not task.done()
    await stop(task)


async def test_what_does_not_stop_is_left_behind_after_its_grace(clock: FakeClock) -> None:
    release = asyncio.Event()

    class Stubborn:
        async def run(self) -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

    manager = Manager(clock=clock, grace=5)
    manager.add(Stubborn())
    task = asyncio.create_task(manager.run())
    await clock.settle()
    task.cancel()
    await clock.advance(4)
    assert not task.done()
    await clock.advance(2)
    assert task.cancelled()
    release.set()
    await clock.settle()


async def test_nothing_can_be_added_later(clock: FakeClock) -> None:
    manager = Manager(clock=clock)
    task = asyncio.create_task(manager.run())
    await clock.settle()
    with pytest.raises(RuntimeError, match="already running"):
        manager.add(Thing("late", []))
    await stop(task)
