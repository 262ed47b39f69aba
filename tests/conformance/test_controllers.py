"""Controllers that are known to be right, on embedded and on real clusters, reach their level."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobrelay.conformance import ConformanceReport, ConformanceRun, Level, RunOptions
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kit import PodJobController
from jobrelay.kube import Client
from jobrelay.kube.resource import NAMESPACES
from jobrelay.workloads.names import RELAY
from tests.relay.fleets import AnyCluster, MakeFleet

FROM_SCRATCH = "example.com/pods"
POD_SCENARIOS = {"replacement-policy", "early-replacement", "pods"}
SECONDS = 60.0
"""Of a run on an embedded cluster; on a real one it takes about as long."""


@asynccontextmanager
async def pod_controller(client: Client) -> AsyncIterator[None]:
    running = asyncio.create_task(PodJobController(client, FROM_SCRATCH).run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})


async def judged(client: Client, managed_by: str, **options: object) -> ConformanceReport:
    return await ConformanceRun(client, RunOptions(managed_by=managed_by, **options)).run()  # type: ignore[arg-type]


def problems(report: ConformanceReport, level: Level = Level.COMPLETE) -> dict[str, list[str]]:
    """What is against a level, by scenario."""
    return {
        each.scenario.name: [*map(str, each.broken_at(level)), each.skipped, each.error, *each.steps]
        for each in report.results
        if not each.passes(level)
    }


async def test_the_built_in_controller_is_complete(any_cluster: AnyCluster) -> None:
    report = await judged(any_cluster.client(), BUILT_IN_CONTROLLER)
    assert problems(report) == {}
    assert (report.level, report.passed, len(report.results)) == (Level.COMPLETE, True, 23)
    assert report.seconds < SECONDS


async def test_the_controller_from_scratch_is_complete(any_cluster: AnyCluster) -> None:
    async with pod_controller(any_cluster.client()):
        report = await judged(any_cluster.client(), FROM_SCRATCH)
    assert problems(report) == {}
    assert report.level == Level.COMPLETE


async def test_a_run_leaves_nothing_behind(any_cluster: AnyCluster) -> None:
    client = any_cluster.client()
    before = {each.name for each in (await client.list(NAMESPACES)).items}
    await judged(client, BUILT_IN_CONTROLLER, only=frozenset({"plain", "deletion"}))
    async with asyncio.timeout(30):
        while {each.name for each in (await client.list(NAMESPACES)).items} - before:
            await asyncio.sleep(0.1)


async def test_the_relay_runs_jobs(fleet: MakeFleet) -> None:
    async with fleet() as it:
        report = await judged(it.client, RELAY, namespace="default", play_pods=False)
    assert problems(report, Level.RUNS) == {}
    assert report.level == Level.RUNS
    assert {each.rule.name for result in report.results for each in result.violations} <= {"C1"}
    assert {each.scenario.name for each in report.results if each.skipped} == POD_SCENARIOS
