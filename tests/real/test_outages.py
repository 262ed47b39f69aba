"""The relay when parts of real clusters hang, stop, or start again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jobrelay.kube.resource import PODS
from tests.real.clusters import Planes
from tests.real.fleet import RealFleets
from tests.relay.fleets import Fleet
from tools.kube.control_plane import ControlPlane

pytestmark = pytest.mark.real
API, CONTROLLERS = "kube-apiserver", "kube-controller-manager"
JOBS = [f"job-{number}" for number in range(10)]


@contextmanager
def hanging(plane: ControlPlane, program: str) -> Iterator[None]:
    """A program does nothing at all while the block runs."""
    os.kill(plane.pids[program], signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(plane.pids[program], signal.SIGCONT)


async def ran_once(it: Fleet, name: str) -> None:
    """A Job has succeeded, and all its pods were one."""
    assert (await it.finished(name))["succeeded"] == 1
    pods = [pod for worker in it.workers for pod in (await it.on(worker).list(PODS, "default")).items]
    assert len([pod for pod in pods if pod.metadata.labels.get("job-name") == name]) == 1


async def test_a_job_of_a_worker_that_hangs_runs_elsewhere(planes: Planes) -> None:
    async with RealFleets(planes).fleet(2, lost_timeout=2.0) as it:
        await it.submit(seconds=1000)
        lost = await it.runs()

        async def moved() -> bool:
            return await it.place() not in ("", lost)

        async def one_mirror() -> bool:
            return list(await it.mirrors()) == [await it.place()]

        with hanging(planes.get([lost])[0], API):
            await it.until(moved, 60)
        await it.until(one_mirror, 60)


@pytest.mark.parametrize("program", [API, CONTROLLERS])
async def test_jobs_outlast_a_management_cluster_that_hangs(planes: Planes, program: str) -> None:
    async with RealFleets(planes).fleet() as it:
        for name in JOBS:
            await it.submit(name, seconds=2)
        with hanging(planes.get(["management"])[0], program):
            await asyncio.sleep(6)
        for name in JOBS:
            await ran_once(it, name)


@pytest.mark.parametrize("where", ["management", "worker-1"])
async def test_jobs_outlast_an_api_server_that_is_killed_and_started_again(planes: Planes, where: str) -> None:
    async with RealFleets(planes).fleet() as it:
        for name in JOBS:
            await it.submit(name, seconds=2)
        plane = planes.get([where])[0]
        plane.restart(API)
        await asyncio.to_thread(plane.wait)
        for name in JOBS:
            await ran_once(it, name)
