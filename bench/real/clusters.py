"""Measured clusters of both kinds: their address, how long they took to start, and the resources of their processes.

An embedded cluster is one process. A real one is etcd, kube-apiserver and kube-controller-manager and, if it runs pods,
a process with our scheduler and scripted node.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.process import Cluster, cpu_of, helper, memory_of, server
from tools.kube.control_plane import control_planes

NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Measured:
    """A running cluster and its processes by name."""

    cluster: Cluster
    pids: Mapping[str, int]
    seconds: float

    def cpu(self) -> dict[str, float]:
        return {name: cpu_of(pid) for name, pid in self.pids.items()}

    def memory(self) -> dict[str, int]:
        return {name: memory_of(pid) for name, pid in self.pids.items()}


@contextmanager
def embedded(folder: pathlib.Path) -> Iterator[Measured]:
    """`jobrelay cluster start` with a scripted node."""
    with server(folder, ["embedded"], "scripted") as running:
        yield Measured(running.clusters[0], {"jobrelay": running.pid}, running.seconds)


@contextmanager
def real(
    folder: pathlib.Path, programs: pathlib.Path, names: Sequence[str], with_nodes: Sequence[str]
) -> Iterator[list[Measured]]:
    """Real clusters that start side by side; some have a node."""
    begin = time.perf_counter()
    with ExitStack() as stack:
        planes = stack.enter_context(control_planes(names, programs, folder))
        helpers = {
            name: stack.enter_context(helper("bench.real.nodes", str(planes[name].kubeconfig))) for name in with_nodes
        }
        for each in helpers.values():
            each.hear()
        seconds = time.perf_counter() - begin
        yield [
            Measured(
                Cluster(name, plane.url, str(plane.kubeconfig)),
                plane.pids | ({NODES: helpers[name].pid} if name in helpers else {}),
                seconds,
            )
            for name, plane in planes.items()
        ]
