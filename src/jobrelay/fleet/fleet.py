"""A fleet on one machine: a management cluster, workers and the relay, each in its own process.

The clusters start at the same time. Then custom kinds are defined on all of them, the workers are registered on the
management cluster as MultiKueueClusters with Secrets, as real workers are, and the relay is started. The fleet keeps
running when a worker dies, and stops when the management cluster does.
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
from jobrelay.fleet.process import FleetProcess
from jobrelay.kube import connect
from jobrelay.kube.resource import CLUSTERROLES
from jobrelay.operate.crds import Definition, install_definitions
from jobrelay.operate.registry import register_worker
from jobrelay.operate.roles import user_roles

__all__ = ["MANAGEMENT", "RELAY", "ClusterPlan", "Fleet", "FleetPlan"]

MANAGEMENT = "management"
RELAY = "relay"
API_OPTIONS = ("--api-listen=127.0.0.1:0", "--api-host=localhost")
"""How the relay of a fleet serves its API to the API server beside it."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """A cluster's name, and the options of `jobrelay cluster start` for it."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """What a fleet consists of. Each process is started by `command`; `notify` gets messages for the user.

    `definitions` are installed on all clusters before the relay starts.
    """

    folder: Path
    command: tuple[str, ...]
    management: ClusterPlan
    workers: tuple[ClusterPlan, ...]
    relay: tuple[str, ...] = ()
    namespace: str = "jobrelay-system"
    definitions: tuple[Definition, ...] = ()
    notify: Callable[[str], None] = field(default=print)
    on_ready: Callable[[FleetProcess], None] = field(default=lambda _: None)
    """Called with each process when it is ready: the management cluster, the workers in their order, the relay."""


class Fleet:
    """A fleet that runs while its `async with` block does."""

    def __init__(self, plan: FleetPlan) -> None:
        self._plan = plan
        self.folder = FleetFolder(plan.folder)
        self.processes: dict[str, FleetProcess] = {}

    async def __aenter__(self) -> Self:
        self.folder.open()
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _start(self) -> None:
        plan = self._plan
        clusters = (plan.management, *plan.workers)
        try:
            for each in clusters:
                await self._spawn(each.name, "cluster", "start", each.name, "--dir", str(plan.folder), *each.arguments)
        except (ClusterError, OSError) as error:
            raise FleetError(str(error), getattr(error, "hint", "")) from error
        await self._wait_ready([self.processes[each.name] for each in clusters])
        await asyncio.gather(*(self._define(each.name) for each in clusters))
        async with connect(self.folder.kubeconfig(MANAGEMENT)) as client:
            for role in user_roles("jobrelay"):
                await client.apply(CLUSTERROLES, role, field_manager="jobrelay", force=True)
            for worker in plan.workers:
                kubeconfig = self.folder.kubeconfig(worker.name).read_bytes()
                await register_worker(client, worker.name, kubeconfig, plan.namespace)
        await self.start_relay()

    async def _wait_ready(self, processes: Sequence[FleetProcess]) -> None:
        """Waits for all at once, and reports each in order; the first that fails ends it."""
        try:
            async with asyncio.TaskGroup() as tasks:
                waiting = [tasks.create_task(each.wait_ready()) for each in processes]
                for process, ready in zip(processes, waiting, strict=True):
                    await ready
                    self._plan.on_ready(process)
        except* FleetError as errors:
            raise errors.exceptions[0] from None

    async def _define(self, cluster: str) -> None:
        """Installs the definitions on a cluster."""
        if self._plan.definitions:
            async with connect(self.folder.kubeconfig(cluster)) as client:
                await install_definitions(client, self._plan.definitions)

    async def start_relay(self) -> None:
        """Starts the relay and waits until it is ready."""
        plan = self._plan
        kubeconfig = str(self.folder.kubeconfig(MANAGEMENT))
        options = ("--kubeconfig", kubeconfig, "--namespace", plan.namespace, "--workers-from", "objects", "-o", "json")
        await self._spawn(RELAY, "relay", "run", *options, *API_OPTIONS, *plan.relay)
        await self._wait_ready([self.processes[RELAY]])

    async def _spawn(self, name: str, *arguments: str) -> None:
        self.processes[name] = await FleetProcess.start(name, (*self._plan.command, *arguments), self.folder)

    async def watch(self) -> None:
        """Reports processes that exit; raises FleetError when the management cluster does."""
        async for process, code in self._exits(list(self.processes.values())):
            if process.stopping:
                continue
            process.remove_pid_file()
            name, problem = process.name, f"{process.name} {process.describe_exit(code)}"
            if name == MANAGEMENT:
                raise FleetError(f"{problem}; the end of {self.folder.log(name)}:\n{self.folder.tail(name)}")
            self._plan.notify(f"{problem}; the rest of the fleet keeps running (log: {self.folder.log(name)})")
            self._plan.notify(f"to start it again: {self._restart_command(name)}")

    def _restart_command(self, name: str) -> str:
        if name == RELAY:
            return f"jobrelay relay run --kubeconfig {self.folder.kubeconfig(MANAGEMENT)} {' '.join(API_OPTIONS)}"
        return f"jobrelay cluster start {name} --dir {self.folder.path}"

    async def _exits(self, processes: Sequence[FleetProcess]) -> AsyncIterator[tuple[FleetProcess, int]]:
        waiting = {asyncio.ensure_future(each.process.wait()): each for each in processes}
        try:
            while waiting:
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield waiting.pop(task), task.result()
        finally:
            for task in waiting:
                task.cancel()

    def kill(self, name: str) -> None:
        """Kills a process, which looks to the others like a failure of its machine."""
        self.processes[name].process.kill()

    async def stop(self) -> None:
        """Stops the relay first, then the clusters; their data stays in the folder."""
        relay = self.processes.get(RELAY)
        try:
            if relay is not None:
                await relay.stop()
            await asyncio.gather(*(each.stop() for each in self.processes.values() if each is not relay))
        finally:
            with contextlib.suppress(OSError):
                self.folder.close()
