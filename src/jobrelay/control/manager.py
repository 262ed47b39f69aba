"""Starting things in order and stopping them in reverse.

A manager owns runnables in ordered groups. A group starts when every member of the group before it is ready: servers
first, then caches, which are ready once synced, then controllers, and last, only while this process leads, what must
not run twice. They stop the other way round, so that a controller never sees its cache die under it.

A runnable that ends by an exception takes the whole manager down, and `run` raises that exception: half a control
plane is worse than none, and whoever supervises the process will start it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from enum import IntEnum
from typing import Protocol, runtime_checkable

import structlog

from jobrelay.kube.clock import Clock, SystemClock, deadline
from jobrelay.kube.leader_election import LeaderElection

__all__ = ["Group", "Manager", "Runnable"]

log = structlog.get_logger(__name__)


class Group(IntEnum):
    """When a runnable starts, relative to others."""

    SERVERS = 0
    CACHES = 1
    CONTROLLERS = 2
    LEADER = 3


class Runnable(Protocol):
    """Something that runs until it is cancelled."""

    async def run(self) -> None: ...


@runtime_checkable
class _Synced(Protocol):
    async def wait_synced(self) -> None: ...


class _Running:
    """The tasks of one started group."""

    def __init__(self, group: Group, runnables: list[Runnable]) -> None:
        self.group = group
        self.tasks = [asyncio.create_task(one.run(), name=f"{group.name.lower()}: {_name(one)}") for one in runnables]


class Manager:
    """Owns the lifetime of runnables."""

    def __init__(
        self, *, election: LeaderElection | None = None, clock: Clock | None = None, grace: float = 30.0
    ) -> None:
        self._election = election
        self._clock = clock or SystemClock()
        self._grace = grace
        self._members: dict[Group, list[Runnable]] = {group: [] for group in Group}
        self._running: list[_Running] = []
        self._failed: asyncio.Future[None] | None = None
        self.ready = asyncio.Event()

    def add(self, runnable: Runnable, group: Group = Group.CONTROLLERS) -> None:
        """Have a runnable started with its group; groups that are already running take no more."""
        if self._failed is not None:
            raise RuntimeError("the manager is already running")
        self._members[group].append(runnable)

    @property
    def members(self) -> tuple[Runnable, ...]:
        """Everything that is run, in the order of starting."""
        return tuple(member for group in Group for member in self._members[group])

    async def run(self) -> None:
        """Run everything until cancelled or until something fails."""
        self._failed = asyncio.get_running_loop().create_future()
        try:
            for group in (Group.SERVERS, Group.CACHES, Group.CONTROLLERS):
                await self._start(group)
            self.ready.set()
            await self._lead()
        finally:
            self.ready.clear()
            while self._running:
                await self._stop(self._running.pop())
            if not self._failed.cancel():
                self._failed.exception()

    async def _lead(self) -> None:
        """Run the leader's group: always, or while elected."""
        leading = self._leader_group() if self._election is None else self._election.run(self._leader_group)
        await self._unless_failed(leading)

    async def _leader_group(self) -> None:
        before = len(self._running)
        try:
            await self._start(Group.LEADER)
            await asyncio.Event().wait()
        finally:
            while len(self._running) > before:
                await self._stop(self._running.pop())

    async def _start(self, group: Group) -> None:
        members = self._members[group]
        running = _Running(group, members)
        self._running.append(running)
        for task in running.tasks:
            task.add_done_callback(self._ended)
        for member in members:
            if isinstance(member, _Synced):
                await self._unless_failed(member.wait_synced())

    async def _stop(self, running: _Running) -> None:
        """Cancel a group and give it time to end."""
        for task in running.tasks:
            task.cancel()
        if not running.tasks:
            return
        try:
            async with deadline(self._clock, self._grace):
                await asyncio.wait(running.tasks)
        except TimeoutError:
            late = [task.get_name() for task in running.tasks if not task.done()]
            log.warning("still running after the grace period", seconds=self._grace, runnables=late)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A runnable that returns is finished; one that raises ends everything."""
        error = None if task.cancelled() else task.exception()
        if error is None or self._failed is None or self._failed.done():
            return
        log.error("runnable failed", runnable=task.get_name(), error=repr(error))
        self._failed.set_exception(error)

    async def _unless_failed(self, work: Awaitable[None]) -> None:
        """Wait for something, but not longer than everything is well."""
        assert self._failed is not None
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._failed}, return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                self._failed.result()
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})


def _name(runnable: Runnable) -> str:
    return getattr(runnable, "name", None) or str(getattr(runnable, "resource", type(runnable).__name__))
