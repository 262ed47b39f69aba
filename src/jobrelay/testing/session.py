"""The clusters of one pytest session: started once, shared by all tests, each of which gets its own namespace."""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from jobrelay.kube import Client
from jobrelay.testing.child import ChildCommand
from jobrelay.testing.isolated_loop import run_isolated

__all__ = ["SessionClusters", "start_cluster", "start_fleet"]

T = TypeVar("T")
CLUSTER: Final = "cluster"
MANAGEMENT: Final = "management"
_LONGEST: Final = 50  # characters of a test's name in the name of its namespace


class SessionClusters:
    """Running clusters. The first kubeconfig is of the one that tests talk to, the others are of workers."""

    def __init__(
        self, command: ChildCommand, kubeconfigs: dict[str, pathlib.Path], logs: dict[str, pathlib.Path]
    ) -> None:
        self.command, self.kubeconfigs, self.logs = command, kubeconfigs, logs
        self._numbers = itertools.count(1)

    def namespace_for(self, test: str) -> str:
        """A name that is unique in this session and includes the name of the test."""
        words = re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")[:_LONGEST].strip("-")
        return f"{words or 'test'}-{next(self._numbers)}"

    def call(self, cluster: str, work: Callable[[Client], Awaitable[T]]) -> T:
        """What `work` returns, given a client of a cluster."""
        self.command.check()
        return run_isolated(_connected(self.kubeconfigs[cluster], work))


async def _connected(kubeconfig: pathlib.Path, work: Callable[[Client], Awaitable[T]]) -> T:
    from jobrelay.kube import connect

    async with connect(kubeconfig) as client:
        return await work(client)


def start_cluster(folder: pathlib.Path, runtime: str, arguments: Sequence[str]) -> SessionClusters:
    """One cluster; raises FleetError."""
    log = folder / "cluster.log"
    options = ["--dir", str(folder), "--memory", "--runtime", runtime, *arguments]
    command = ChildCommand(["cluster", "start", CLUSTER, *options], f"{CLUSTER} ready", log)
    return SessionClusters(command, {CLUSTER: folder / f"{CLUSTER}.kubeconfig"}, {CLUSTER: log})


def start_fleet(folder: pathlib.Path, runtime: str, workers: int, arguments: Sequence[str]) -> SessionClusters:
    """A management cluster, workers and the relay; raises FleetError."""
    from jobrelay.fleet.folder import FleetFolder

    options = ["--dir", str(folder), "--memory", "--runtime", runtime, "--workers", str(workers), *arguments]
    command = ChildCommand(["up", *options], "fleet ready", folder / "up.log")
    ready = [line.split()[0] for line in command.lines if " ready " in line]
    clusters = [name for name in ready if name not in ("relay", "fleet")]
    where = FleetFolder(folder)
    logs = {name: where.log(name) for name in ("relay", *clusters)}
    return SessionClusters(command, {name: where.kubeconfig(name) for name in clusters}, logs)
