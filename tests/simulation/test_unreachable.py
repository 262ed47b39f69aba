"""How soon workers that cannot be reached are noticed and shown, and when they are used again, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

from jobrelay.kube.resource import JOBS, NAMESPACES
from jobrelay.relay.overview import worker_views
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.worker_view import WorkerView
from jobrelay.simulation.fleet import SimulatedFleet
from jobrelay.simulation.network import Cut
from jobrelay.simulation.schedules import ApiServerKind
from tests.relay.fleets import job

OTHER = {"worker-1": "worker-2", "worker-2": "worker-1"}


class Story:
    """A fleet of two workers, and what its users see."""

    def __init__(self, lost_timeout: float = 60.0, server: ApiServerKind = ApiServerKind.MODEL) -> None:
        settings = Settings("simulated", lost_timeout=lost_timeout)
        self.fleet = SimulatedFleet(1, workers=2, settings=settings, server=server)
        self.client = self.fleet.client()

    def play(self, story: Callable[[], Awaitable[None]]) -> None:
        async def main() -> None:
            await self.fleet.start()
            await asyncio.sleep(20)
            await story()
            self.fleet.network.close()

        self.fleet.loop.run(main())

    @property
    def time(self) -> float:
        return self.fleet.loop.time()

    @property
    def relay(self) -> RelayManager:
        return next(each.relay for each in self.fleet.relays.values() if each.relay is not None and each.relay.leads())

    def view(self, worker: str) -> WorkerView:
        return next(each for each in worker_views(self.relay) if each.name == worker)

    async def submit(self, *names: str, seconds: float = 0, on: str = "", namespace: str = "default") -> None:
        annotations = {"jobrelay.dev/clusters": on} if on else {}
        for name in names:
            await self.client.create(JOBS, job(name, namespace, seconds=seconds, annotations=annotations))

    async def place(self, name: str, namespace: str = "default") -> str:
        found = assignment_of(await self.client.get(JOBS, name, namespace))
        return found.cluster if found is not None else ""

    async def until(self, what: Callable[[], Awaitable[bool]], seconds: float = 120.0) -> float:
        """Wait until something is true; how long that took."""
        began = self.time
        while not await what():
            assert self.time < began + seconds, "it did not happen in time"
            await asyncio.sleep(0.05)
        return self.time - began

    async def ended(self, names: Iterable[str], namespace: str = "default") -> float:
        async def done() -> bool:
            found = [(await self.client.get(JOBS, name, namespace)).decode() for name in names]
            return all(each.get("status", {}).get("succeeded") for each in found)

        return await self.until(done)

    async def runs(self, name: str) -> None:
        async def active() -> bool:
            return bool((await self.client.get(JOBS, name, "default")).decode().get("status", {}).get("active"))

        await self.until(active)

    async def shown(self, worker: str, *, connected: bool) -> float:
        async def shows() -> bool:
            return self.view(worker).connected is connected

        return await self.until(shows)

    @contextmanager
    def frozen(self, worker: str) -> Iterator[None]:
        """All processes of a worker stand still."""
        cluster = self.fleet.workers[worker]
        processes = (cluster.process, cluster.controllers, cluster.kubelets)
        for process in processes:
            self.fleet.loop.pause(process)
        yield
        for process in processes:
            self.fleet.loop.resume(process)

    def drop(self, worker: str) -> None:
        """Drop everything between the relays and a worker: connections stay open, and nothing arrives."""
        for (client, server), link in self.fleet.network.links().items():
            if client.startswith("relay") and server == worker:
                link.cut, link.cuts = Cut.SILENT, 1
                for stream in link.streams:
                    stream.freeze()

    def pass_on(self, worker: str) -> None:
        """End `drop`. What was open then stays silent for ever."""
        for (client, server), link in self.fleet.network.links().items():
            if client.startswith("relay") and server == worker:
                link.cut, link.cuts = None, 0


@pytest.mark.parametrize("asked", [True, False], ids=["asked-before", "not-asked-before"])
@pytest.mark.parametrize("hung", ["worker-1", "worker-2"])
def test_new_jobs_do_not_wait_for_a_worker_that_hangs(hung: str, asked: bool) -> None:
    it = Story(lost_timeout=5.0)

    async def story() -> None:
        await it.submit("first", on=hung if asked else OTHER[hung])
        await it.ended(["first"])
        names = [f"job-{number}" for number in range(20)]
        with it.frozen(hung):
            await it.submit(*names)
            assert await it.ended(names) < 10
            assert {await it.place(name) for name in names} == {OTHER[hung]}

    it.play(story)


def test_a_worker_whose_packets_are_dropped_is_shown_within_5_seconds_and_keeps_its_jobs_for_the_timeout() -> None:
    it = Story(lost_timeout=60.0)

    async def story() -> None:
        await it.submit("train", seconds=300, on="worker-1")
        await it.runs("train")
        await asyncio.sleep(30)
        it.drop("worker-1")
        assert await it.shown("worker-1", connected=False) <= 5
        assert it.view("worker-1").reason == "it has not answered for 2 s"
        assert it.view("worker-2").connected
        await asyncio.sleep(55)
        assert await it.place("train") == "worker-1"

    it.play(story)


def test_a_worker_whose_packets_were_dropped_is_used_within_5_seconds_of_its_return() -> None:
    it = Story()

    async def story() -> None:
        for outage in (20.0, 21.0, 22.5, 24.0):
            it.drop("worker-1")
            await asyncio.sleep(outage)
            assert not it.view("worker-1").connected
            it.pass_on("worker-1")
            name = f"after-{outage:.0f}"
            await it.submit(name, on="worker-1")
            assert await it.ended([name]) <= 5.5

    it.play(story)


def test_a_job_starts_at_once_when_its_namespace_is_created_on_a_worker() -> None:
    it = Story(server=ApiServerKind.EMBEDDED)

    async def story() -> None:
        await it.client.create(NAMESPACES, {"metadata": {"name": "team"}})
        await it.submit("train", namespace="team")
        await asyncio.sleep(100)
        assert await it.place("train", "team") == ""
        there = it.fleet.client("admin", it.fleet.workers["worker-1"])
        await there.create(NAMESPACES, {"metadata": {"name": "team"}})
        assert await it.ended(["train"], "team") < 2
        assert await it.place("train", "team") == "worker-1"

    it.play(story)


def test_relays_that_start_tell_nothing_that_is_not_true() -> None:
    it = Story()

    async def story() -> None:
        await it.submit("train", seconds=60)
        await it.runs("train")
        for relay in it.fleet.relays.values():
            relay.start()
        await it.ended(["train"])
        await asyncio.sleep(5)
        reasons = {event["reason"] for event in it.fleet.management.read("events") if event["type"] == "Warning"}
        assert reasons == set()

    it.play(story)
