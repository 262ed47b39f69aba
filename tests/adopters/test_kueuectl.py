"""Kueue's own command line against queues of ours: it reads, makes, stops and resumes them as it does with Kueue."""

from __future__ import annotations

import asyncio
import pathlib
import re
import subprocess
from itertools import pairwise

import pytest

from jobrelay.kube.resource import JOBS
from jobrelay.queueing.resources import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from jobrelay.queueing.views import ClusterQueueView, LocalQueueView, WorkloadView
from tests.queueing.fleets import QueueFleet, queue_fleet, queued_job

from . import programs

pytestmark = pytest.mark.adopters


@pytest.fixture
def kueuectl() -> pathlib.Path:
    if lacking := programs.lacking():
        pytest.skip(lacking)
    found = programs.kueuectl(programs.versions())
    if not found.exists():
        pytest.skip("not built: kueuectl")
    return found


async def run(program: pathlib.Path, it: QueueFleet, *arguments: str) -> str:
    """What a command prints."""
    command = [program, *arguments, "--kubeconfig", str(it.it.management.kubeconfig)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a table, by their columns."""
    lines = text.splitlines()
    starts = [found.start() for found in re.finditer(r"(?:^|(?<=  ))\S", lines[0])]
    names, *cut = [[line[a:b].strip() for a, b in pairwise([*starts, len(text)])] for line in lines]
    return [dict(zip(names, line, strict=True)) for line in cut]


async def test_it_lists_queues_and_workloads(kueuectl: pathlib.Path) -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=1)
        await it.client.create(JOBS, queued_job("first", seconds=1000))
        await it.until_condition("first", "Admitted")
        await it.client.create(JOBS, queued_job("second", seconds=1000))
        await it.until_condition("second", "QuotaReserved", status=False)
        queue = rows(await run(kueuectl, it, "list", "clusterqueue"))[0]
        assert (queue["NAME"], queue["ACTIVE"]) == ("cluster-queue", "true")
        local = rows(await run(kueuectl, it, "list", "localqueue", "-n", "default"))[0]
        assert (local["NAME"], local["CLUSTERQUEUE"]) == ("main", "cluster-queue")
        found = rows(await run(kueuectl, it, "list", "workload", "-n", "default"))
        shown = {each["JOB NAME"]: (each["LOCALQUEUE"], each["CLUSTERQUEUE"], each["STATUS"]) for each in found}
        assert shown == {
            "first": ("main", "cluster-queue", "ADMITTED"),
            "second": ("main", "cluster-queue", "PENDING"),
        }
        flavors = rows(await run(kueuectl, it, "list", "resourceflavor"))
        assert [each["NAME"] for each in flavors] == ["default"]


async def test_it_makes_queues_that_admit(kueuectl: pathlib.Path) -> None:
    async with queue_fleet(1) as it:
        await run(kueuectl, it, "create", "resourceflavor", "small")
        quota = ("--nominal-quota", "small:cpu=2;memory=4Gi", "--cohort", "all", "--queuing-strategy", "StrictFIFO")
        await run(kueuectl, it, "create", "clusterqueue", "made", *quota)
        await run(kueuectl, it, "create", "localqueue", "main", "-c", "made", "-n", "default")
        await it.client.create(JOBS, queued_job("first", seconds=1000))
        admitted = await it.until_condition("first", "Admitted")
        assert admitted.message == "The workload is admitted"
        assert (await it.client.get(RESOURCE_FLAVORS, "small")).name == "small"


async def test_it_stops_and_resumes(kueuectl: pathlib.Path) -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=1)
        await it.client.create(JOBS, queued_job("first", seconds=1000))
        await it.until_condition("first", "Admitted")
        workload = await it.workload("first")
        assert workload is not None
        await run(kueuectl, it, "stop", "workload", workload.name, "-n", "default")
        await it.until_condition("first", "Evicted", reason="Deactivated")
        await run(kueuectl, it, "stop", "clusterqueue", "cluster-queue")
        await run(kueuectl, it, "stop", "localqueue", "main", "-n", "default")
        await run(kueuectl, it, "resume", "workload", workload.name, "-n", "default")
        assert (await it.client.get(WORKLOADS, workload.name, "default")).decode(WorkloadView).spec.active
        queue = (await it.client.get(CLUSTER_QUEUES, "cluster-queue")).decode(ClusterQueueView)
        assert queue.spec.stop_policy == "HoldAndDrain"
        await run(kueuectl, it, "resume", "clusterqueue", "cluster-queue")
        await run(kueuectl, it, "resume", "localqueue", "main", "-n", "default")
        local = (await it.client.get(LOCAL_QUEUES, "main", "default")).decode(LocalQueueView)
        assert local.spec.stop_policy in ("", "None")
        await it.until_condition("first", "Admitted")


async def test_it_deletes_what_kubectl_would(kueuectl: pathlib.Path) -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=1)
        await run(kueuectl, it, "delete", "localqueue", "main", "-n", "default")
        await it.absent(LOCAL_QUEUES, "main", "default")
        await run(kueuectl, it, "delete", "clusterqueue", "cluster-queue")
        await it.absent(CLUSTER_QUEUES, "cluster-queue")
