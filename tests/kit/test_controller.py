"""A controller of the kit at work on an API server, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.kit import Failed, JobController, JobReport, ManagedJob, Result, Succeeded
from jobrelay.kube import Client, Key, NotFound, merge_patch
from jobrelay.kube.resource import EVENTS_CORE, JOBS, LEASES, PODS
from tests.cluster.apiserver.serving import ADMIN
from tests.cluster.controllers.running import World, world

from .jobs import MANAGER, POD, Obj, job

Reconcile = Callable[[ManagedJob], Awaitable[Result | None]]


class Scene:
    """A world with one controller."""

    def __init__(self, w: World, **options: Any) -> None:
        self.world = w
        self.client = Client(InProcessTransport(lambda: w.server.api, ADMIN), clock=w.clock)
        self.seen: list[str] = []
        options.setdefault("reconcile", self.reconcile)
        self.controller = JobController(self.client, MANAGER, clock=w.clock, **options)

    async def reconcile(self, job: ManagedJob) -> Result | None:
        self.seen.append(job.name)
        await job.report(JobReport(active=0 if job.suspended else 1))
        return None

    async def create(self, name: str = "j", **spec: Any) -> None:
        await self.client.create(JOBS, job(name, **spec))
        await self.world.pass_()

    async def get(self, name: str = "j") -> Obj:
        return (await self.client.get(JOBS, name, "default")).decode()

    async def change(self, **changes: Any) -> None:
        await self.client.patch(JOBS, "j", merge_patch(changes), "default")
        await self.world.pass_()

    async def delete(self) -> None:
        await self.client.delete(JOBS, "j", "default", propagation="Background")
        await self.world.pass_()


@asynccontextmanager
async def scene(**options: Any) -> AsyncIterator[Scene]:
    async with world() as w:
        made = Scene(w, **options)
        running = asyncio.create_task(made.controller.run())
        await w.pass_()
        try:
            yield made
        finally:
            running.cancel()
            for _ in range(5):
                await w.pass_(40)
            await asyncio.wait({running})


async def test_only_jobs_of_its_own_value_are_reconciled() -> None:
    async with scene() as s:
        await s.create("mine")
        await s.create("other", managedBy="example.com/other")
        await s.create("builtin", managedBy=None)
        assert set(s.seen) == {"mine"}
        assert (await s.get("mine"))["status"]["active"] == 1


async def test_a_finished_job_is_left_alone() -> None:
    async def finish(job: ManagedJob) -> None:
        await job.report(JobReport(succeeded=1, outcome=Succeeded()))
        calls.append(job.name)

    calls: list[str] = []
    async with scene(reconcile=finish) as s:
        await s.create()
        await s.change(metadata={"labels": {"a": "b"}})
        assert calls == ["j"]


async def test_an_illegal_report_is_an_event_and_no_request() -> None:
    async def wrong(job: ManagedJob) -> None:
        await job.report(JobReport(active=-1))

    async with scene(reconcile=wrong) as s:
        await s.create()
        assert (await s.get())["status"] == {}
        notes = [each.decode()["message"] for each in (await s.client.list(EVENTS_CORE, "default")).items]
        assert [note for note in notes if note.startswith("the status of Job default/j would break S1: status.active")]
        assert b'jobrelay_kit_illegal_statuses_total{rule="S1"} 1' in s.controller.metrics_text()


async def test_a_job_is_reconciled_again_when_asked() -> None:
    async def slow(job: ManagedJob) -> Result | None:
        left = 10 - job.running_seconds
        if left > 0:
            await job.report(JobReport(active=1))
            return Result(requeue_after=left)
        await job.report(JobReport(succeeded=1, outcome=Succeeded()))
        return None

    async with scene(reconcile=slow) as s:
        await s.create()
        assert "completionTime" not in (await s.get())["status"]
        await s.world.pass_(11)
        assert (await s.get())["status"]["succeeded"] == 1


async def test_a_deadline_ends_a_job() -> None:
    async def limited(job: ManagedJob) -> Result | None:
        late = job.overdue
        await job.report(JobReport(active=0 if late else 1, outcome=late))
        return None if job.finished else Result(requeue_after=job.seconds_to_deadline)

    async with scene(reconcile=limited) as s:
        await s.create(activeDeadlineSeconds=5)
        await s.world.pass_(6)
        assert [one["reason"] for one in (await s.get())["status"]["conditions"]] == ["DeadlineExceeded"] * 2


async def test_a_deleted_job_is_cleaned_up_before_it_goes() -> None:
    cleaned: list[str] = []

    async def clean_up(job: ManagedJob) -> Result | None:
        cleaned.append(job.name)
        return Result(requeue_after=5) if len(cleaned) == 1 else None

    async with scene(clean_up=clean_up) as s:
        await s.create()
        assert (await s.get())["metadata"]["finalizers"] == [MANAGER]
        await s.delete()
        assert (await s.get())["metadata"]["finalizers"] == [MANAGER]
        await s.world.pass_(6)
        assert cleaned == ["j", "j"]
        with pytest.raises(NotFound):
            await s.get()


async def test_a_finished_job_is_cleaned_up_and_released() -> None:
    async def fail(job: ManagedJob) -> None:
        await job.report(JobReport(failed=1, outcome=Failed("Broken", "It broke")))

    async def clean_up(job: ManagedJob) -> None:
        cleaned.append(job.name)

    cleaned: list[str] = []
    async with scene(reconcile=fail, clean_up=clean_up) as s:
        await s.create()
        assert "finalizers" not in (await s.get())["metadata"]
        assert cleaned == ["j"]


async def test_a_change_of_something_watched_reconciles_its_job() -> None:
    def job_of(pod: Any) -> Key | None:
        return Key(pod.namespace, pod.metadata.labels["of"])

    async with world() as w:
        s = Scene(w)
        s.controller.watch(s.controller.cache(PODS), job_of)
        running = asyncio.create_task(s.controller.run())
        await s.create()
        before = len(s.seen)
        await s.client.create(PODS, {"metadata": {"name": "p", "labels": {"of": "j"}}, "spec": POD}, "default")
        await w.pass_()
        assert len(s.seen) == before + 1
        running.cancel()
        await w.pass_(40)
        await asyncio.wait({running})


async def test_of_two_controllers_with_one_lease_one_reconciles() -> None:
    lease = Key("default", "kit")
    async with scene(lease=lease) as s:
        second = Scene(s.world, lease=lease)
        running = asyncio.create_task(second.controller.run())
        await s.world.pass_(3)
        await s.create()
        assert (bool(s.seen), bool(second.seen)) == (True, False)
        assert (await s.client.get(LEASES, "kit", "default")).decode()["spec"]["holderIdentity"]
        running.cancel()
        await s.world.pass_(40)
        await asyncio.wait({running})


async def test_probes_and_metrics_are_served() -> None:
    async with scene(listen=("127.0.0.1", 0)) as s:
        assert s.controller.endpoint is not None
        await s.controller.endpoint.wait_synced()
        await s.controller.wait_ready()
        await s.create()
        async with aiohttp.ClientSession(s.controller.endpoint.url) as session:
            answers = [await session.get(path) for path in ("/healthz", "/readyz", "/metrics")]
            assert [each.status for each in answers] == [200, 200, 200]
            assert "jobrelay_kit_status_writes_total 1.0" in await answers[2].text()


@pytest.mark.parametrize(
    ("name", "problem"), [("plain", "domain-prefixed path"), ("kubernetes.io/job-controller", "own Job controller")]
)
def test_a_name_that_no_job_could_have_is_refused(name: str, problem: str) -> None:
    client = Client(InProcessTransport(lambda: None, None))
    with pytest.raises(ValueError, match=problem):
        JobController(client, name, reconcile=Scene.reconcile)  # type: ignore[arg-type]
