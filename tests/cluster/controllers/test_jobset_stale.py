"""JobSets while caches lag and answers are lost: nothing is done twice because it is not seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from jobrelay.cluster.controllers import jobset as jobset_controller
from jobrelay.cluster.controllers.garbage import GarbageCollector
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.control import ControllerContext
from jobrelay.kube import FaultyTransport
from jobrelay.kube.fault_injection import LoseReply

from ..apiserver.serving import ADMIN
from .jobset_objects import replicated
from .running import World
from .test_job_histories import Lagging
from .test_jobset_controller import CORE, JOBS, define, events, make, report, status


@asynccontextmanager
async def unreliable() -> AsyncIterator[tuple[World, Lagging, FaultyTransport]]:
    w = World()
    GarbageCollector(w.server.services).start()
    lagging = Lagging(InProcessTransport(lambda: w.server.api, ADMIN), "jobs", "jobsets", "services")
    faulty = FaultyTransport(lagging, clock=w.clock)
    context = ControllerContext(faulty, clock=w.clock)
    jobset_controller.set_up(context)
    running = asyncio.create_task(context.manager.run())
    await w.pass_()
    try:
        await define(w)
        yield w, lagging, faulty
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        w.server.api.watches.close()


@pytest.mark.parametrize("held", ["jobs", "jobsets", "services"])
async def test_what_is_not_seen_yet_is_not_created_again(held: str) -> None:
    async with unreliable() as (w, lagging, _):
        await make(w, replicated("a"), suspend=True)
        lagging.hold(held, held=True)
        await w.server.ok(
            "PATCH", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/s", {"spec": {"suspend": False}},
            media="application/merge-patch+json",
        )  # fmt: skip
        await w.pass_(5)
        lagging.hold(held, held=False)
        await w.pass_()
        assert [each["reason"] for each in (await status(w))["conditions"]] == ["ResumeJobs"]
        assert [reason for reason, _ in await events(w)] == ["SuspendedJobs", "ResumeJobs"]
        assert await w.names(JOBS) == ["s-a-0"]


async def test_a_restart_that_is_not_seen_yet_is_not_counted_again() -> None:
    async with unreliable() as (w, lagging, _):
        await make(w, failurePolicy={"maxRestarts": 5})
        lagging.hold("jobsets", held=True)
        await report(w, "s-w-0", "Failed", failed=1)
        await w.pass_(5)
        lagging.hold("jobsets", held=False)
        await w.pass_()
        assert (await status(w))["restarts"] == 1
        assert (await w.get(f"{JOBS}/s-w-0"))["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"


@pytest.mark.parametrize("what", ["POST */jobs", "POST */services", "PUT */status", "DELETE */jobs/*"])
async def test_a_request_that_was_not_answered_is_not_done_twice(what: str) -> None:
    async with unreliable() as (w, _, faulty):
        faulty.add(LoseReply(), what)
        await make(w, failurePolicy={"maxRestarts": 5})
        await w.pass_(60)
        await report(w, "s-w-0", "Failed", failed=1)
        await w.pass_(60)
        assert ((await status(w))["restarts"], await w.names(JOBS)) == (1, ["s-w-0"])
        assert await w.names(f"{CORE}/services") == ["kubernetes", "s"]
        await report(w, "s-w-0", "Complete", succeeded=1)
        await w.pass_(60)
        assert (await status(w))["terminalState"] == "Completed"
