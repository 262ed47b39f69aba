"""The controller that makes pods, under a name of its own: it passes the tests of the built-in one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.kit import PodJobController
from jobrelay.kube import Client
from tests.cluster.apiserver.serving import ADMIN
from tests.cluster.controllers import test_job_controller as built_in
from tests.cluster.controllers.job_world import PODS, Jobs, job_world
from tests.cluster.controllers.running import World, world
from tests.oracle.job_scripts.compare import Outcome, play
from tests.oracle.job_scripts.player import Player
from tests.real.clusters import Planes, reached
from tests.real.test_parity import LIVES, NODES
from tools.kube.nodes import nodes

from .jobs import MANAGER, Obj

SAME = (
    built_in.test_a_job_runs_to_its_end,
    built_in.test_the_end_of_the_only_pod_is_looked_at_soon,
    built_in.test_an_indexed_job_completes_its_indexes,
    built_in.test_a_failure_is_replaced_after_its_delay,
    built_in.test_a_job_fails_when_its_limit_is_used_up,
    built_in.test_a_deadline_ends_a_job_by_itself,
    built_in.test_a_deadline_that_is_moved_is_kept,
    built_in.test_suspend_and_resume,
    built_in.test_the_end_waits_for_terminating_pods,
    built_in.test_an_orphan_that_matches_is_adopted,
    built_in.test_pods_that_cannot_be_created_are_reported_and_retried,
)
"""Tests that are about a Job of the controller's own."""


class ManagedJobs(Jobs):
    """Jobs that name the controller."""

    async def create(self, **spec: Any) -> Obj:
        return await super().create(managedBy=MANAGER, **spec)


def pod_controller(w: World) -> PodJobController:
    client = Client(InProcessTransport(lambda: w.server.api, ADMIN), clock=w.clock)
    return PodJobController(client, MANAGER, clock=w.clock)


@asynccontextmanager
async def managed_world() -> AsyncIterator[Jobs]:
    async with world() as w:
        running = asyncio.create_task(pod_controller(w).run())
        await w.pass_()
        try:
            yield ManagedJobs(w)
        finally:
            running.cancel()
            for _ in range(5):
                await w.pass_(40)
            await asyncio.wait({running})


@pytest.mark.parametrize("test", SAME, ids=lambda test: test.__name__)
async def test_it_does_what_the_built_in_one_does(
    test: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_in, "job_world", managed_world)
    await test()


async def test_it_leaves_the_jobs_of_others_to_them() -> None:
    async with managed_world() as jobs:
        await Jobs.create(jobs)
        assert await jobs.pods() == []
        assert await jobs.status() == {}


async def test_it_and_the_built_in_one_share_a_cluster() -> None:
    async with job_world() as jobs:
        running = asyncio.create_task(pod_controller(jobs.world).run())
        await ManagedJobs(jobs.world).create(completions=2, parallelism=2)
        assert len(await jobs.pods()) == 2
        await jobs.end()
        assert (await jobs.status())["succeeded"] == 2
        assert [pod["metadata"].get("finalizers") for pod in await jobs.pods()] == [None] * 2
        running.cancel()
        await jobs.settle(40)
        await asyncio.wait({running})


async def test_pods_without_a_job_are_left_to_the_built_in_one() -> None:
    async with managed_world() as jobs:
        pod = {
            "metadata": {"name": "p", "finalizers": ["batch.kubernetes.io/job-tracking"]},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        }
        await jobs.server.ok("POST", PODS, pod)
        await jobs.settle()
        assert (await jobs.pods())[0]["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]


class NamelessPlayer(Player):
    """Looks at everything but by whom it was written."""

    async def look(self) -> Obj:
        found = await super().look()
        for kind in ("jobs", "pods", "events"):
            for each in found[kind]:
                each["metadata"].pop("managedFields", None)
        return found


class ManagedPlayer(NamelessPlayer):
    """Plays a script for Jobs that name the controller, and looks at them as if they did not."""

    async def do_create(self, spec: Obj) -> None:
        await super().do_create({"managedBy": MANAGER, **spec})

    async def look(self) -> Obj:
        text = json.dumps(await super().look()).replace(MANAGER.replace("/", "-"), "job-controller")
        found: Obj = json.loads(text)
        for job in found["jobs"]:
            if job["spec"].get("managedBy") == MANAGER:
                del job["spec"]["managedBy"]
        return found


@pytest.mark.real
async def test_jobs_live_the_same_lives_as_with_the_real_controller(planes: Planes) -> None:
    """On one real cluster its own controller runs them, on another ours."""
    async with reached(planes.get(["worker-1"])[0]) as real, reached(planes.get(["worker-2"])[0]) as other:
        theirs, ours = real.client(), other.client()
        controller = asyncio.create_task(PodJobController(ours, MANAGER).run())
        gate = asyncio.Semaphore(10)

        def player(client: Client, namespace: str) -> Player:
            return ManagedPlayer(client, namespace) if client is ours else NamelessPlayer(client, namespace)

        async def one(name: str) -> Outcome:
            async with gate:
                return await play(theirs, ours, name, LIVES[name], player)

        async with nodes(real.connection, NODES), nodes(other.connection, NODES):
            found = await asyncio.gather(*map(one, LIVES))
        controller.cancel()
        await asyncio.wait({controller})
    differing = [line for outcome in found for line in outcome.lines]
    assert differing == [], "\n".join(differing)
