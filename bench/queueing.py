"""Admission alone: Kueue's own scheduler loads on virtual time, and the speed of decisions with many pending workloads.

The loads are those of Kueue's performance tests (baseline and large-scale): cohorts of queues with 20 CPU each, three
classes of workloads that arrive at fixed intervals, run for a fixed time and are preempted by priority. Time is
virtual: finishing, arriving and deciding take none of it by themselves, so the makespan shows the decisions alone. The
lower bound is all work divided by all quota. The processor's time for all decisions is real.
"""

from __future__ import annotations

import heapq
import math
import pathlib
import resource
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from bench.report import Figure
from jobrelay.queueing.core import (
    ClusterQueueSpec,
    Config,
    FairSharing,
    FlavorQuotas,
    FlavorSpec,
    PodSetInfo,
    PreemptionSpec,
    Quota,
    ResourceGroup,
    Scheduler,
    Snapshot,
    WorkloadInfo,
)

NOMINAL: Final = 20_000
BORROWING: Final = 100_000


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """Workloads of one kind in each queue; times in milliseconds."""

    name: str
    count: int
    interval: int
    runtime: int
    priority: int
    cpu: int


@dataclass(frozen=True, slots=True)
class Load:
    """Cohorts of equal queues, with the same workloads in each."""

    cohorts: int
    queues: int
    classes: tuple[WorkloadClass, ...]

    @property
    def workloads(self) -> int:
        return self.cohorts * self.queues * sum(each.count for each in self.classes)

    @property
    def lower_bound(self) -> float:
        """Seconds: all work of a queue by its quota. No order of admission is faster."""
        return sum(each.count * each.runtime * each.cpu for each in self.classes) / 1000 / (NOMINAL / 1000)


BASELINE: Final = Load(
    5,
    6,
    (
        WorkloadClass("small", 350, 100, 200, 50, 1),
        WorkloadClass("medium", 100, 500, 500, 100, 5),
        WorkloadClass("large", 50, 1200, 1000, 200, 20),
    ),
)
LARGE: Final = Load(
    10,
    100,
    (
        WorkloadClass("small", 35, 60, 150, 50, 1),
        WorkloadClass("medium", 11, 300, 350, 100, 5),
        WorkloadClass("large", 4, 700, 700, 200, 20),
    ),
)


def queues(load: Load) -> list[ClusterQueueSpec]:
    """The ClusterQueues of a load."""
    groups = (ResourceGroup(("cpu",), (FlavorQuotas("default", {"cpu": Quota(NOMINAL, BORROWING)}),)),)
    policy = PreemptionSpec("LowerPriority", "Any")
    return [
        ClusterQueueSpec(f"cq-{cohort}-{each}", groups, f"cohort-{cohort}", preemption=policy)
        for cohort in range(load.cohorts)
        for each in range(load.queues)
    ]


def arrivals(load: Load) -> list[tuple[int, WorkloadInfo, int]]:
    """When each workload comes, and for how long it runs."""
    found = []
    for spec in queues(load):
        for each in load.classes:
            pods = (PodSetInfo("main", 1, {"cpu": each.cpu * 1000}),)
            for number in range(each.count):
                at, name = number * each.interval, f"{spec.name}/{each.name}-{number}"
                found.append((at, WorkloadInfo(name, name, spec.name, pods, each.priority, at / 1000), each.runtime))
    return sorted(found, key=lambda one: (one[0], one[1].key))


@dataclass(slots=True)
class Run:
    """A load that is played: what happened, and what it cost."""

    load: Load
    makespan: float = 0.0
    decisions: int = 0
    cycles: int = 0
    preempted: int = 0
    cpu: float = 0.0
    waits: dict[str, list[float]] = field(default_factory=dict)


def play(load: Load) -> Run:
    """Play a load to its end on virtual time."""
    run = Run(load)
    scheduler = Scheduler(Snapshot(queues(load), flavors=[FlavorSpec("default")]))
    runtimes = {workload.key: runtime for _, workload, runtime in arrivals(load)}
    workloads = {workload.key: workload for _, workload, _ in arrivals(load)}
    events: list[tuple[int, int, str, int]] = [(at, 1, workload.key, 0) for at, workload, _ in arrivals(load)]
    heapq.heapify(events)
    runs: dict[str, int] = {}
    begin = time.process_time()
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, arrives, key, number = heapq.heappop(events)
            if arrives:
                scheduler.push(workloads[key], now / 1000)
            elif runs.get(key) == number:
                scheduler.release(key)
                del runs[key]
                run.makespan = now / 1000
        for decisions in scheduler.settle(now / 1000):
            run.cycles += 1
            run.decisions += len(decisions.reservations) + len(decisions.requeues)
            for preemption in decisions.preemptions:
                run.preempted += 1
                del runs[preemption.target.key]
                scheduler.release(preemption.target.key)
                scheduler.push(workloads[preemption.target.key], now / 1000)
            for each in decisions.reservations:
                key = each.workload.key
                runs[key] = run.decisions
                heapq.heappush(events, (now + runtimes[key], 0, key, run.decisions))
                wait = now / 1000 - each.workload.queued_at
                run.waits.setdefault(key.split("/")[1].split("-")[0], []).append(wait)
    run.cpu = time.process_time() - begin
    return run


def many(count: int, waiting: int, *, fair: bool = False) -> tuple[float, float, int]:
    """Decisions per second of the processor, seconds, and decisions: `count` queues with `waiting` workloads in all.

    Ten cohorts; each queue has room for some four workloads, and each release makes room for one. Priorities and sizes
    differ, so that there are many shapes in each queue.
    """
    groups = (ResourceGroup(("cpu",), (FlavorQuotas("default", {"cpu": Quota(4000, 8000)}),)),)
    policy = PreemptionSpec("LowerPriority", "Any")
    specs = [ClusterQueueSpec(f"q{each}", groups, f"cohort-{each % 10}", preemption=policy) for each in range(count)]
    config = Config(fair_sharing=FairSharing() if fair else None)
    scheduler = Scheduler(Snapshot(specs, flavors=[FlavorSpec("default")]), config)
    shapes = [(PodSetInfo("main", 1, {"cpu": 1000 + 100 * each}),) for each in range(5)]
    begin = time.process_time()
    for number in range(waiting):
        key, of = f"ns/w{number}", f"q{number % count}"
        scheduler.push(WorkloadInfo(key, key, of, shapes[number // count % 5], number // count % 3, float(number)), 0.0)
    decided = _settle(scheduler)
    running = deque(sorted(each.key for each in scheduler.snapshot.holders()))
    for _ in range(4):
        for _ in range(min(len(running), count // 10)):
            scheduler.release(running.popleft())
        before = {each.key for each in scheduler.snapshot.holders()}
        decided += _settle(scheduler)
        running.extend(sorted({each.key for each in scheduler.snapshot.holders()} - before))
    took = time.process_time() - begin
    return decided / took, took, decided


def _settle(scheduler: Scheduler) -> int:
    decided = 0
    for decisions in scheduler.settle(0.0):
        decided += len(decisions.reservations) + len(decisions.requeues)
        for each in decisions.preemptions:
            scheduler.release(each.target.key)
    return decided


def loads(folder: pathlib.Path) -> list[Figure]:
    """Kueue's loads, against their lower bounds."""
    figures = []
    for load, takes in ((BASELINE, 351), (LARGE, 1179)):
        run = play(load)
        what = f"{load.workloads:,} workloads, {load.cohorts * load.queues:,} queues"
        figures += [
            Figure(f"{what}: makespan", run.makespan, "s", load.lower_bound * 1.2, note=f"Kueue: {takes} s"),
            Figure(f"{what}: CPU", run.cpu, "s", note=f"{run.decisions:,} decisions, {run.preempted:,} preemptions"),
            Figure(f"{what}: memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB at most"),
        ]
    return figures


def decisions(folder: pathlib.Path) -> list[Figure]:
    """The speed of decisions, and how it falls with the size."""
    (_, small, few), (rate, large, more) = many(250, 25_000), many(1000, 100_000)
    fair, _, _ = many(100, 2000, fair=True)
    growth = (large / more) / (small / few)
    allowed = math.log(100_000) / math.log(25_000)
    return [
        Figure("decisions, 1,000 queues, 100,000 pending", rate, "/s CPU", 2000, at_least=True),
        Figure("decisions with fair sharing, 100 queues, 2,000 pending", fair, "/s CPU", 2000, at_least=True),
        Figure("CPU per decision, four times the size", growth, "times", allowed * 1.25, note="n log n, 25 % noise"),
    ]
