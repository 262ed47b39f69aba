"""The cost of a placement: 50 workers of 20 nodes each, Jobs of ten shapes in turn, and a changed node before each."""

from __future__ import annotations

import pathlib
import statistics
import time
from fractions import Fraction
from typing import Final

from msgspec.structs import replace

from bench.calibrate import round_trip
from bench.report import Figure
from jobrelay.relay.model import Capacity, NodeFacts, WorkerFacts
from jobrelay.relay.placement import PlacementRequest, Placer
from jobrelay.workloads import PodSet, WorkloadDemand

WORKERS: Final = 50
NODES: Final = 20
JOBS: Final = 10_000
SHAPES: Final = 10


def placement(folder: pathlib.Path) -> list[Figure]:
    """Microseconds for one placement."""
    workers = [_worker(number) for number in range(WORKERS)]
    demands = [
        WorkloadDemand(
            (PodSet(4, {"cpu": Fraction(one + 1, 10), "memory": Fraction(2**28)}, {}),), shape=f"shape-{one}"
        )
        for one in range(SHAPES)
    ]
    placer = Placer()
    policy, took, yardsticks = placer.parse(""), 0.0, []
    for job in range(JOBS):
        if job % (JOBS // 10) == 0:
            yardsticks.append(round_trip())
        changed = job % WORKERS
        workers[changed] = _changed(workers[changed], job)
        begin = time.process_time()
        placer.place(demands[job % SHAPES], PlacementRequest(seed=str(job)), workers, policy)
        took += time.process_time() - begin
    each = took / JOBS
    what = f"placement, {WORKERS} workers of {NODES} nodes"
    return [
        Figure(what, each * 1e6, "us CPU", target=300),
        Figure("the same in json round trips", each / statistics.median(yardsticks), "times"),
    ]


def _node(name: str, used: int) -> NodeFacts:
    has = {"cpu": Fraction(8), "memory": Fraction(2**35), "pods": Fraction(110)}
    taken = {"cpu": Fraction(used), "memory": Fraction(used * 2**30), "pods": Fraction(used)}
    return NodeFacts(name, {"zone": "x"}, (), has, taken)


def _worker(number: int) -> WorkerFacts:
    nodes = tuple(_node(f"node-{one}", (one + number) % 5) for one in range(NODES))
    return WorkerFacts(f"worker-{number}", connected=True, capacity=Capacity(1, nodes), live=number)


def _changed(worker: WorkerFacts, job: int) -> WorkerFacts:
    nodes = list(worker.capacity.nodes)
    nodes[job % NODES] = _node(f"node-{job % NODES}", job % 5)
    return replace(worker, capacity=Capacity(worker.capacity.version + 1, tuple(nodes)))
