"""Requests that fail or whose replies are lost: a Job still ends as it should, and is ended once."""

from __future__ import annotations

import asyncio

import pytest

from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.kit import JobController, JobReport, ManagedJob, Result, Succeeded
from jobrelay.kube import Client, FaultyTransport
from jobrelay.kube.fault_injection import AnswerStatus, CutStream, Fault, LoseReply, RefuseConnection
from jobrelay.kube.resource import JOBS
from tests.cluster.apiserver.serving import ADMIN
from tests.cluster.controllers.running import world

from .jobs import MANAGER, job

FAULTS: tuple[Fault, ...] = (
    LoseReply(),
    RefuseConnection(),
    AnswerStatus(500, "InternalError"),
    AnswerStatus(409, "Conflict"),
)
CASES: list[tuple[str, Fault]] = [
    *((what, fault) for what in ("PUT */status", "PATCH */jobs/j") for fault in FAULTS),
    ("GET */jobs*", CutStream(chunks=1)),
]


async def reconcile(job: ManagedJob) -> Result | None:
    left = 5 - job.running_seconds
    done = left <= 0
    await job.report(JobReport(active=int(not done), succeeded=int(done), outcome=Succeeded() if done else None))
    return None if done else Result(requeue_after=left)


async def clean_up(job: ManagedJob) -> None:
    return None


@pytest.mark.parametrize(("what", "fault"), CASES, ids=str)
async def test_a_job_ends_whatever_becomes_of_its_requests(what: str, fault: Fault) -> None:
    async with world() as w:
        direct = InProcessTransport(lambda: w.server.api, ADMIN)
        faulty = FaultyTransport(direct, clock=w.clock)
        faulty.add(fault, what, times=2)
        admin = Client(direct, clock=w.clock)
        controller = JobController(Client(faulty), MANAGER, reconcile, clean_up=clean_up, clock=w.clock)
        running = asyncio.create_task(controller.run())
        await admin.create(JOBS, job())
        for _ in range(12):
            await w.pass_(10)
        ended = (await admin.get(JOBS, "j", "default")).decode()
        assert [one["type"] for one in ended["status"]["conditions"]] == ["SuccessCriteriaMet", "Complete"]
        assert ended["status"]["succeeded"] == 1
        assert "finalizers" not in ended["metadata"]
        running.cancel()
        for _ in range(5):
            await w.pass_(40)
        await asyncio.wait({running})
