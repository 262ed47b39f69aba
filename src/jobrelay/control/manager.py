"""The manager, which runs runnables in ordered groups.

A group starts when all members of the group before it are ready: first servers, then caches, which are ready once
synced, then controllers, and last what may run only while this process is the leader. Groups stop in reverse order, so
that a controller never runs without its caches.

A runnable that raises an exception stops the manager, and `run` raises that exception, so that what supervises the
process can start it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from enum import IntEnum
from typing import Protocol

from jobrelay.kube.clock import Clock, SystemClock, deadline
from jobrelay.kube.leader_election import LeaderElection
from jobrelay.logs import get_logger

__all__ = ["Group", "Manager", "Runnable"]

log = get_logger(__name__)


class Group(IntEnum):
    """The groups of runnables, in the order in which they start."""

    SERVERS = 0
    CACHES = 1
    CONTROLLERS = 2
    LEADER = 3


class Runnable(Protocol):
    """Something that runs until it is cancelled."""

    async def run(self) -> None: ...


class Manager:
    """Runs runnables until cancelled or until one of them fails.

    With an `election`, the group LEADER runs only while this process leads. `grace` is how many seconds a group may
    take to stop. `ready` is set while all groups but LEADER run.
    """

    def __init__(
        self, *, election: LeaderElection | None = None, clock: Clock | None = None, grace: float = 30.0
    ) -> None:
        self._election = election
        self._clock = clock or SystemClock()
        self._grace = grace
        self._members: dict[Group, list[Runnable]] = {group: [] for group in Group}
        self._running: list[list[asyncio.Task[None]]] = []
        self._started = False
        self._failed = asyncio.Event()
        self._error: BaseException | None = None
        self.ready = asyncio.Event()

    def add(self, runnable: Runnable, group: Group = Group.CONTROLLERS) -> None:
        """Add a runnable to a group; only before `run` is called."""
        if self._started:
            raise RuntimeError("the manager is already running")
        self._members[group].append(runnable)

    @property
    def members(self) -> tuple[Runnable, ...]:
        """All runnables, in the order in which they start."""
        return tuple(member for group in Group for member in self._members[group])

    async def run(self) -> None:
        """Run all runnables until cancelled or until one of them fails."""
        self._started, self._error = True, None
        self._failed.clear()
        try:
            for group in (Group.SERVERS, Group.CACHES, Group.CONTROLLERS):
                await self._start(group)
            self.ready.set()
            await self._lead()
        finally:
            self.ready.clear()
            while self._running:
                await self._stop(self._running.pop())

    async def _lead(self) -> None:
        """Run the leader's group: always, or while this process leads."""
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
        members, kind = self._members[group], group.name.lower()
        tasks = [asyncio.create_task(one.run(), name=f"{kind}: {_name(one)}") for one in members]
        self._running.append(tasks)
        for task in tasks:
            task.add_done_callback(self._ended)
        for member in members:
            if (wait_synced := getattr(member, "wait_synced", None)) is not None:
                await self._unless_failed(wait_synced())

    async def _stop(self, tasks: list[asyncio.Task[None]]) -> None:
        """Cancel a group and wait for it within the grace period."""
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        try:
            async with deadline(self._clock, self._grace):
                await asyncio.wait(tasks)
        except TimeoutError:
            late = [task.get_name() for task in tasks if not task.done()]
            log.warning("still running after the grace period", seconds=self._grace, runnables=late)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Stop the manager if a runnable raised; one that returned is done."""
        error = None if task.cancelled() else task.exception()
        if error is None or self._error is not None:
            return
        log.error("runnable failed", runnable=task.get_name(), error=repr(error))
        self._error = error
        self._failed.set()

    async def _unless_failed(self, work: Awaitable[None]) -> None:
        """Wait for something, unless a runnable fails meanwhile."""
        task, failed = asyncio.ensure_future(work), asyncio.ensure_future(self._failed.wait())
        try:
            await asyncio.wait({task, failed}, return_when=asyncio.FIRST_COMPLETED)
            if self._error is not None:
                raise self._error
            await task
        finally:
            task.cancel()
            failed.cancel()
            await asyncio.gather(task, failed, return_exceptions=True)


def _name(runnable: Runnable) -> str:
    return getattr(runnable, "name", None) or str(getattr(runnable, "resource", type(runnable).__name__))
