"""Controllers that are known to be right, on embedded and on real clusters, reach their level."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.conformance import ConformanceReport, ConformanceRun, Level, RunOptions
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kit import ControllerRuntime, PodJobController
from jobrelay.kit.tasks import LocalTasks, TaskController
from jobrelay.kube import Client
from jobrelay.kube.resource import NAMESPACES
from jobrelay.workloads.names import RELAY
from tests.relay.fleets import AnyCluster, MakeFleet

FROM_SCRATCH = "example.com/pods"
POD_SCENARIOS = {"replacement-policy", "early-replacement", "pods"}
SECONDS = 60.0
"""Of a run on an embedded cluster; on a real one it takes about as long."""


@asynccontextmanager
async def running_controller(controller: ControllerRuntime) -> AsyncIterator[None]:
    running = asyncio.create_task(controller.run())
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
    async with running_controller(PodJobController(any_cluster.client(), FROM_SCRATCH)):
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


async def test_pods_that_are_processes_end_as_those_that_are_played() -> None:
    only = frozenset({"plain", "no-retries", "suspension", "backoff-per-index", "replacement-policy"})
    async with Cluster(nodes=NodeSettings(runtime="process")) as cluster:
        report = await judged(cluster.client(), BUILT_IN_CONTROLLER, only=only)
    assert problems(report) == {}


async def test_a_controller_without_pods_runs_jobs(tmp_path: pathlib.Path) -> None:
    async with Cluster() as cluster:
        local = TaskController(cluster.client(), "example.com/local", LocalTasks(tmp_path))
        async with running_controller(local):
            report = await judged(cluster.client(), local.managed_by, level=Level.RUNS)
    assert problems(report, Level.RUNS) == {}
    assert {each.rule.name for result in report.results for each in result.violations} == {"C1"}
