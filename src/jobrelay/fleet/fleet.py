"""A whole fleet on one machine: a management cluster, workers and the relay, each in a process of its own.

The clusters start together. Workers are registered on the management cluster as any worker is, as MultiKueueCluster and
Secret, and the relay is started last. A worker that dies does not end the fleet: that is what relays are for. The
management cluster's end does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from jobrelay.cluster.errors import ClusterError
from jobrelay.fleet.errors import FleetError
from jobrelay.fleet.folder import FleetFolder
from jobrelay.fleet.part import Part
from jobrelay.fleet.registry import register
from jobrelay.kube import connect

__all__ = ["MANAGEMENT", "RELAY", "ClusterPlan", "Fleet", "FleetPlan"]

MANAGEMENT = "management"
RELAY = "relay"


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """A cluster, and what `cluster start` is told about it."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """What runs where. `command` begins the command line of every part."""

    folder: Path
    command: tuple[str, ...]
    management: ClusterPlan
    workers: tuple[ClusterPlan, ...]
    relay: tuple[str, ...] = ()
    namespace: str = "jobrelay-system"
    tell: Callable[[str], None] = field(default=print)


class Fleet:
    """Runs from `async with` to its end."""

    def __init__(self, plan: FleetPlan) -> None:
        self._plan = plan
        self.folder = FleetFolder(plan.folder)
        self.parts: dict[str, Part] = {}

    async def __aenter__(self) -> Self:
        self.folder.open()
        try:
            await self._start()
        except BaseException:
            await self.end()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def _start(self) -> None:
        plan = self._plan
        clusters = (plan.management, *plan.workers)
        try:
            for each in clusters:
                await self._spawn(each.name, "cluster", "start", each.name, "--dir", str(plan.folder), *each.arguments)
        except (ClusterError, OSError) as error:
            raise FleetError(str(error), getattr(error, "hint", "")) from error
        await asyncio.gather(*(self.parts[each.name].wait_ready() for each in clusters))
        async with connect(self.folder.kubeconfig(MANAGEMENT)) as client:
            for worker in plan.workers:
                kubeconfig = self.folder.kubeconfig(worker.name).read_bytes()
                await register(client, worker.name, kubeconfig, plan.namespace)
        await self.start_relay()

    async def start_relay(self) -> None:
        """Starts the relay and waits until it is ready."""
        plan = self._plan
        kubeconfig = str(self.folder.kubeconfig(MANAGEMENT))
        where = ("--kubeconfig", kubeconfig, "--namespace", plan.namespace, "--workers-from", "objects", "-o", "json")
        await self._spawn(RELAY, "relay", "run", *where, *plan.relay)
        await self.parts[RELAY].wait_ready()

    async def _spawn(self, name: str, *arguments: str) -> None:
        self.parts[name] = await Part.start(name, (*self._plan.command, *arguments), self.folder)

    async def watch(self) -> None:
        """Tells when a part ends, for as long as the fleet is of use; raises FleetError when it no longer is."""
        async for part, code in self._ends(list(self.parts.values())):
            if part.ending:
                continue
            part.forget()
            told = f"{part.name} {part.told(code)}"
            if part.name == MANAGEMENT:
                raise FleetError(f"{told}; the end of {self.folder.log(part.name)}:\n{self.folder.tail(part.name)}")
            self._plan.tell(f"{told}; the rest goes on (its log: {self.folder.log(part.name)})")
            self._plan.tell(f"to have it back: {self._again(part.name)}")

    def _again(self, name: str) -> str:
        """The command that starts a part again, by itself."""
        if name == RELAY:
            return f"jobrelay relay run --kubeconfig {self.folder.kubeconfig(MANAGEMENT)}"
        return f"jobrelay cluster start {name} --dir {self.folder.path}"

    async def _ends(self, parts: Sequence[Part]) -> AsyncIterator[tuple[Part, int]]:
        waiting = {asyncio.ensure_future(part.process.wait()): part for part in parts}
        try:
            while waiting:
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield waiting.pop(task), task.result()
        finally:
            for task in waiting:
                task.cancel()

    def kill(self, name: str) -> None:
        """Cuts a part off, as a failure of its machine would."""
        self.parts[name].process.kill()

    async def end(self) -> None:
        """Ends the relay first, then the clusters; nothing is left but their data."""
        relay = self.parts.get(RELAY)
        try:
            if relay is not None:
                await relay.end()
            await asyncio.gather(*(part.end() for part in self.parts.values() if part is not relay))
        finally:
            with contextlib.suppress(OSError):
                self.folder.close()
