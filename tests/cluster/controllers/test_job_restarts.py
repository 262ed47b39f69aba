"""Restarts: of the controller on fake time, and of a whole cluster that keeps its objects on disk."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from jobrelay.cluster import Cluster
from jobrelay.cluster.controllers.job import BatchJobController
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.control import ControllerContext
from jobrelay.kube import Client, merge_patch
from jobrelay.kube import resource as kinds

from ..apiserver.serving import ADMIN, MERGE
from .job_world import JOBS, PODS, TEMPLATE, Jobs
from .running import World

Obj = dict[str, Any]
DELEGATED = {"managedBy": "example.com/me"}


@asynccontextmanager
async def controller(w: World) -> AsyncIterator[BatchJobController]:
    """A controller that knows nothing of what one before it did."""
    context = ControllerContext(InProcessTransport(lambda: w.server.api, ADMIN), clock=w.clock)
    made = BatchJobController(context)
    running = asyncio.create_task(context.manager.run())
    await w.pass_()
    try:
        yield made
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("after", [0.0, 0.2, 0.4, 1.0, 1.2])
async def test_a_pod_counts_once_whenever_the_controller_is_restarted(after: float) -> None:
    w = World()
    jobs = Jobs(w)
    async with controller(w):
        await jobs.create(completions=2, parallelism=2)
        first, second = await jobs.pods()
        await jobs.become(first, "Succeeded")
        await jobs.become(second, "Failed", finished=60)
        await w.pass_(after)
    async with controller(w):
        await jobs.settle()
        status = await jobs.status()
        assert (status["succeeded"], status["failed"], status["active"]) == (1, 1, 1)
        assert status["uncountedTerminatedPods"] == {}
        assert len(await jobs.pods()) == 3
    w.server.api.watches.close()


async def test_pods_that_end_while_no_controller_runs_are_counted() -> None:
    w = World()
    jobs = Jobs(w)
    async with controller(w):
        await jobs.create(completions=2, parallelism=2)
    await jobs.end()
    assert "succeeded" not in await jobs.status()
    async with controller(w):
        await jobs.settle()
        assert (await jobs.conditions())[-1] == "Complete=True/CompletionsReached"
    w.server.api.watches.close()


@pytest.mark.parametrize("change", [{"suspend": True}, {"parallelism": 3}, {"activeDeadlineSeconds": 1}])
async def test_a_delegated_job_is_left_alone_after_a_restart(change: Obj) -> None:
    w = World()
    jobs = Jobs(w)
    for _ in range(2):
        async with controller(w) as running:
            if not await w.names(JOBS):
                await jobs.create(**DELEGATED)
            await w.server.ok("PATCH", f"{JOBS}/j", {"spec": change}, media=MERGE)
            await jobs.settle()
            assert (await jobs.status(), await jobs.pods()) == ({}, [])
            assert running.metrics.counters["jobs_by_external_controller_total"] == {("example.com/me",): 1}
    w.server.api.watches.close()


async def test_a_delegated_job_made_while_no_controller_runs_is_left_alone() -> None:
    w = World()
    jobs = Jobs(w)
    async with controller(w):
        await jobs.create()
    await w.server.ok("DELETE", f"{PODS}/{(await jobs.pods())[0]['metadata']['name']}")
    await w.server.ok("DELETE", f"{JOBS}/j", {"propagationPolicy": "Background"})
    await jobs.create(**DELEGATED)
    async with controller(w):
        await jobs.settle()
        assert (await jobs.status(), await jobs.pods()) == ({}, [])
    w.server.api.watches.close()


async def test_a_cluster_on_disk_goes_on_where_it_was_stopped(tmp_path: pathlib.Path) -> None:
    async with Cluster("kept", tmp_path) as cluster:
        client = cluster.client()
        await client.create(kinds.JOBS, _job("own", completions=2, parallelism=2), "default")
        await client.create(kinds.JOBS, _job("other", **DELEGATED), "default")
        job = await _job_when(client, lambda status: status.get("active") == 2)
        first, second = [pod.name for pod in (await client.list(kinds.PODS, "default")).items]
        await _end(client, first)
    async with Cluster("kept", tmp_path) as cluster:
        client = cluster.client()
        await _job_when(client, lambda status: status.get("succeeded") == 1)
        await _end(client, second)
        last = await _job_when(client, lambda status: status.get("succeeded") == 2 and "completionTime" in status)
        assert last["metadata"]["uid"] == job["metadata"]["uid"]
        assert len((await client.list(kinds.PODS, "default")).items) == 2
        assert (await client.get(kinds.JOBS, "other", "default")).decode()["status"] == {}


def _job(name: str, **spec: Any) -> Obj:
    return {"metadata": {"name": name}, "spec": {"template": TEMPLATE, **spec}}


async def _end(client: Client, pod: str) -> None:
    patch = merge_patch({"status": {"phase": "Succeeded"}})
    await client.patch(kinds.PODS, pod, patch, "default", subresource="status")


async def _job_when(client: Client, holds: Callable[[Obj], bool]) -> Obj:
    async with asyncio.timeout(60), client.watch(kinds.JOBS, "default", field_selector="metadata.name=own") as events:
        async for event in events:
            found = event.object.decode()
            if holds(found.get("status") or {}):
                return found
    raise AssertionError("the watch ended")
