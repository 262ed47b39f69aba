"""Caches that lag and answers that are lost: nothing is done twice because it is not seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from jobrelay.cluster.controllers.job import set_up
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.control import ControllerContext
from jobrelay.kube import FaultyTransport
from jobrelay.kube.fault_injection import LoseReply

from ..apiserver.serving import ADMIN
from .job_world import Jobs
from .running import World
from .test_job_histories import Lagging


@asynccontextmanager
async def unreliable() -> AsyncIterator[tuple[Jobs, Lagging, FaultyTransport]]:
    w = World()
    lagging = Lagging(InProcessTransport(lambda: w.server.api, ADMIN))
    faulty = FaultyTransport(lagging, clock=w.clock)
    context = ControllerContext(faulty, clock=w.clock)
    set_up(context)
    running = asyncio.create_task(context.manager.run())
    await w.pass_()
    try:
        yield Jobs(w), lagging, faulty
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        w.server.api.watches.close()


async def test_pods_that_are_not_seen_yet_are_not_created_again() -> None:
    async with unreliable() as (jobs, lagging, _):
        lagging.hold("pods", held=True)
        await jobs.create(completions=2, parallelism=2)
        await jobs.settle(20)
        assert len(await jobs.pods()) == 2


async def test_a_pod_whose_creation_was_not_answered_is_not_created_again() -> None:
    async with unreliable() as (jobs, lagging, faulty):
        faulty.add(LoseReply(), "POST */pods")
        lagging.hold("pods", held=True)
        await jobs.create()
        await jobs.settle(20)
        assert len(await jobs.pods()) == 1
        lagging.hold("pods", held=False)
        await jobs.end()
        assert ((await jobs.status())["succeeded"], len(await jobs.pods())) == (1, 1)


async def test_a_status_that_is_not_seen_yet_is_not_judged_again() -> None:
    async with unreliable() as (jobs, lagging, _):
        await jobs.create()
        lagging.hold("jobs", held=True)
        await jobs.end()
        await jobs.settle(20)
        lagging.hold("jobs", held=False)
        await jobs.settle()
        assert ((await jobs.status())["succeeded"], len(await jobs.pods())) == (1, 1)


async def test_a_finalizer_whose_removal_is_not_seen_yet_does_not_count_again() -> None:
    async with unreliable() as (jobs, lagging, _):
        await jobs.create(completions=3, parallelism=1)
        await jobs.end("Failed", finished=100)
        lagging.hold("pods", held=True)
        await jobs.end("Failed", finished=100)
        await jobs.patch(parallelism=2)
        lagging.hold("pods", held=False)
        await jobs.settle(60)
        assert (await jobs.status())["failed"] == 2


async def test_a_count_whose_answer_was_lost_is_made_once() -> None:
    async with unreliable() as (jobs, _, faulty):
        await jobs.create(completions=3, parallelism=3)
        faulty.add(LoseReply(), "PUT */status", times=3)
        await jobs.end()
        await jobs.settle(30)
        assert ((await jobs.status())["succeeded"], (await jobs.conditions())[-1]) == (
            3,
            "Complete=True/CompletionsReached",
        )
