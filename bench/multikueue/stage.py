"""The clusters of a measurement: real control planes with audit logs, and Kueue as it is shipped.

One management cluster, a worker that runs Kueue, and a plain one. All rounds use the same ones. Workers are registered
with an administrator of their own, so that what the dispatcher writes there can be told from what others write.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from bench.multikueue.audit import Write, read
from bench.process import cpu_of, helper
from jobrelay.kube import Client, find_connection
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import NAMESPACES
from tests.adopters.kueues import Installation, create_all, edited, queues
from tests.adopters.managers import load
from tools.kube.control_plane import OTHER_TOKEN, TOKEN, ControlPlane, control_planes

MANAGEMENT, QUEUED, PLAIN = "management", "queued", "plain"
CPU: Final = "100000"
_SHIPPED: Final = (
    "s/qps: 200/qps: 300/",
    "s/burst: 400/burst: 500/",
    r"$a controller:\n  groupKindConcurrency:\n    Job.batch: 5\n    Workload.kueue.x-k8s.io: 10\n"
    r"    LocalQueue.kueue.x-k8s.io: 5\n    ClusterQueue.kueue.x-k8s.io: 5",
)
"""The limits and the concurrency of Kueue's published manifests."""


@dataclass(frozen=True)
class Stage:
    """The clusters, with what their API servers have noted."""

    it: Installation
    planes: Mapping[str, ControlPlane]

    def positions(self) -> dict[str, int]:
        """How long the audit logs are."""
        return {name: plane.audit_log.stat().st_size for name, plane in self.planes.items()}

    def writes(self, since: Mapping[str, int]) -> dict[str, Counter[Write]]:
        """What was written on each cluster since then."""
        return {name: read(plane.audit_log, since[name]) for name, plane in self.planes.items()}

    def cpu(self) -> dict[str, float]:
        """The seconds of CPU that the processes of the clusters have used so far, by program; Kueue is one of them."""
        found: dict[str, float] = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                name = next(filter(None, map(_program, words)), "")
                if name and any(str(self.it.folder) in each for each in words):
                    found[name] = found.get(name, 0.0) + cpu_of(int(pid))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
        return found


def _program(word: str) -> str:
    known = ("etcd", "kube-apiserver", "kube-controller-manager", "kueue")
    name = pathlib.PurePath(word).name.partition("-v0")[0]
    return name if name in known else "nodes" if word == "bench.real.nodes" else ""


@asynccontextmanager
async def stage(folder: pathlib.Path, programs: pathlib.Path) -> AsyncIterator[Stage]:
    """The clusters, with Kueue at work on the worker; on the management cluster it is started for each round."""
    manager = load("kueue")
    async with AsyncExitStack() as stack:
        planes = stack.enter_context(control_planes([MANAGEMENT, QUEUED, PLAIN], programs, folder, audited=True))
        clients = {name: await stack.enter_async_context(_client(plane)) for name, plane in planes.items()}
        for name in (QUEUED, PLAIN):
            stack.enter_context(helper("bench.real.nodes", str(planes[name].kubeconfig))).hear()
        where = planes[QUEUED].kubeconfig
        await stack.enter_async_context(edited(manager, where, folder / "kueue-worker", ";".join(_SHIPPED)))
        await create_all(clients[QUEUED], queues(CPU))
        await clients[MANAGEMENT].create(NAMESPACES, {"metadata": {"name": "jobrelay-system"}})
        kubeconfigs = {name: _for_others(plane) for name, plane in planes.items()}
        it = Installation(folder, kubeconfigs, clients, manager, _SHIPPED)
        async with it.kueue(multikueue=True):  # it brings its definitions
            await it.configure(cpu=CPU)
        yield Stage(it, planes)


@asynccontextmanager
async def _client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with NetworkTransport(find_connection(plane.kubeconfig)) as transport:
        yield Client(transport, user_agent="bench")


def _for_others(plane: ControlPlane) -> pathlib.Path:
    """The kubeconfig that workers are registered with; Kueue on the management cluster is its administrator."""
    if plane.name == MANAGEMENT:
        return plane.kubeconfig
    other = plane.folder / "other.kubeconfig"
    other.write_text(json.dumps(json.loads(plane.kubeconfig.read_text())).replace(f'"{TOKEN}"', f'"{OTHER_TOKEN}"'))
    return other
