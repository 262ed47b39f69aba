"""A conformance run on virtual time: an embedded cluster, a controller and the run share a clock that only moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from jobrelay.cluster import Cluster
from jobrelay.conformance import ConformanceReport, ConformanceRun, Level, RunOptions
from jobrelay.kit import ControllerRuntime
from jobrelay.kube import Client, Clock, FakeClock

MANAGER = "example.com/tried"
STEP = 0.25


async def judged(
    make: Callable[[Client, Clock], ControllerRuntime | None], *, managed_by: str = MANAGER, **options: Any
) -> ConformanceReport:
    """What a run says about a controller; None is one that does not run."""
    clock = FakeClock()
    async with Cluster(clock=clock) as cluster:
        client = Client(cluster.transport(), clock=clock)
        controller = make(Client(cluster.transport(), clock=clock), clock)
        running = asyncio.create_task(controller.run() if controller is not None else asyncio.Event().wait())
        run = ConformanceRun(client, RunOptions(managed_by=managed_by, **options), clock=clock)
        report = asyncio.create_task(run.run())
        while not report.done():
            await clock.advance(STEP)
            await asyncio.sleep(0)
        running.cancel()
        while not running.done():
            await clock.advance(STEP)
        return report.result()


def broken_rules(report: ConformanceReport) -> set[str]:
    """The rules that a report names; other problems are named too."""
    rules = {each.rule.name for result in report.results for each in result.broken_at(Level.COMPLETE)}
    return rules | {each.error for each in report.results if each.error}
