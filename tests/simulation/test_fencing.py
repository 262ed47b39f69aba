"""Fenced Jobs on virtual time, with the production code of relay, API servers and Job controllers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jobrelay.cluster.store.store import Change
from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import JOBS
from jobrelay.relay.explain import Explanation
from jobrelay.relay.model import State
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_assignment import WorkerAssignment, assignment_of
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.simulation.fleet import SimulatedFleet
from jobrelay.simulation.network import Cut
from jobrelay.simulation.running import DoubleRun, RunningPods
from jobrelay.workloads.names import ORIGIN
from tests.relay.fleets import job

SETTINGS = Settings("simulated", lost_timeout=60.0, keep_finished=5.0, lease=30.0, margin=10.0, ask_again=10.0)
FENCED = {"jobrelay.dev/fencing": "true"}
LONGEST_WAIT = 2 + 30 + 30 + 10 + 5
"""Silence that is not suspicious yet, lease, grace, margin, and some time to notice."""


class Fenced:
    """A fleet with one fenced Job, and what its pods really did."""

    def __init__(self, seed: int) -> None:
        self.twice: list[DoubleRun] = []
        self.fleet = SimulatedFleet(seed, workers=3, settings=SETTINGS, on_change=self._changed)
        self._pods = RunningPods(self.fleet.loop.time, self.twice.append)

    def _changed(self, cluster: str, resource: str, change: Change) -> None:
        self._pods.changed(cluster, resource, change)

    def play(self, story: Callable[[Fenced], Awaitable[None]]) -> None:
        async def main() -> None:
            await self.fleet.start()
            await story(self)
            self.fleet.network.close()

        self.fleet.loop.run(main())

    async def submit(self, seconds: float) -> None:
        await self.fleet.client().create(JOBS, job(seconds=seconds, annotations=FENCED))

    async def original(self) -> Object:
        return await self.fleet.client().get(JOBS, "train", "default")

    async def assignment(self) -> WorkerAssignment:
        async def assigned() -> WorkerAssignment | None:
            return assignment_of(await self.original())

        found = await self.until(assigned)
        assert isinstance(found, WorkerAssignment)
        return found

    def mirror(self, worker: str) -> dict[str, Any] | None:
        found = self.fleet.workers[worker].read("jobs.batch")
        return next((each for each in found if ORIGIN in each["metadata"].get("labels", {})), None)

    async def until(self, what: Callable[[], Awaitable[Any]], seconds: float = 600, step: float = 0.001) -> Any:
        end = self.fleet.loop.time() + seconds
        while not (found := await what()):
            assert self.fleet.loop.time() < end, "it did not happen in time"
            await asyncio.sleep(step)
        return found

    async def runs(self, worker: str) -> None:
        async def started() -> bool:
            mirror = self.mirror(worker)
            return mirror is not None and "startTime" in mirror.get("status", {})

        await self.until(started)

    async def ended(self) -> None:
        async def done() -> bool:
            conditions = (await self.original()).decode().get("status", {}).get("conditions", ())
            return any(each["type"] == "Complete" for each in conditions)

        await self.until(done, step=1.0)

    def stop_controllers(self, worker: str) -> None:
        self.fleet.loop.kill(self.fleet.workers[worker].controllers)

    def isolate(self, worker: str) -> None:
        for (client, server), link in self.fleet.network.links().items():
            if client.startswith("relay") and server == worker:
                link.sever(Cut.REFUSED)

    def mend(self, worker: str) -> None:
        for (_, server), link in self.fleet.network.links().items():
            if server == worker and link.cut is not None:
                link.mend()

    def explanation(self) -> Explanation:
        ref = WorkloadRef("jobs.batch", Key("default", "train"))
        leading = [each.relay for each in self.fleet.relays.values() if each.relay is not None and each.relay.leads()]
        found = leading[0].explain(ref)
        assert found is not None
        return found


def test_a_mirror_that_no_job_controller_has_looked_at_is_not_released_and_its_job_moves() -> None:
    async def story(it: Fenced) -> None:
        for worker in it.fleet.workers:
            it.stop_controllers(worker)
        await it.submit(200)
        first = (await it.assignment()).cluster
        await asyncio.sleep(10)
        mirror = it.mirror(first)
        assert mirror is not None
        assert mirror["spec"]["suspend"]
        assert "has not observed it yet" in it.explanation().sentence
        it.isolate(first)
        for worker in it.fleet.workers.values():
            worker.start_controllers()
        await asyncio.sleep(SETTINGS.lost_timeout + 30)
        second = (await it.assignment()).cluster
        assert second != first
        await it.runs(second)
        await asyncio.sleep(60)
        it.mend(first)
        await it.ended()

    it = Fenced(1)
    it.play(story)
    assert it.twice == []


def test_a_start_that_was_not_seen_is_not_waited_out_unless_the_worker_is_declared_lost() -> None:
    async def story(it: Fenced) -> None:
        await it.submit(1000)
        first = (await it.assignment()).cluster

        async def confirmed() -> bool:
            mirror = it.mirror(first)
            return mirror is not None and bool(mirror.get("status", {}).get("conditions"))

        async def released() -> bool:
            mirror = it.mirror(first)
            return mirror is not None and not mirror["spec"]["suspend"]

        await it.until(confirmed)
        it.stop_controllers(first)
        await it.until(released)
        it.isolate(first)
        await asyncio.sleep(400)
        assert (await it.assignment()).cluster == first
        assert "its start there was not seen" in it.explanation().sentence
        assert "declare it lost" in it.explanation().sentence
        it.fleet.workers[first].start_controllers()
        await it.runs(first)
        await asyncio.sleep(SETTINGS.lease + 40)
        it.fleet.registrations.set_state(first, State.LOST)
        await asyncio.sleep(20)
        second = (await it.assignment()).cluster
        assert second != first
        await it.runs(second)

    it = Fenced(2)
    it.play(story)
    assert it.twice == []


@pytest.mark.parametrize("ahead", [120.0, -60.0, -7200.0, 7200.0])
def test_a_lease_is_as_long_as_it_says_where_the_clocks_of_relay_and_worker_differ(ahead: float) -> None:
    async def story(it: Fenced) -> None:
        for relay in it.fleet.relays.values():
            relay.clock.ahead = ahead
        await it.submit(150)
        first = await it.assignment()
        await it.runs(first.cluster)
        await asyncio.sleep(70)
        assert (await it.assignment()).epoch == 1, "its lease ended although the relay renewed it"
        it.isolate(first.cluster)
        at = it.fleet.loop.time()

        async def moved() -> bool:
            return (await it.assignment()).cluster != first.cluster

        await it.until(moved, step=0.5)
        assert it.fleet.loop.time() - at <= LONGEST_WAIT
        second = (await it.assignment()).cluster
        await it.runs(second)
        await asyncio.sleep(20)
        it.mend(first.cluster)
        await it.ended()

    it = Fenced(3)
    it.play(story)
    assert it.twice == []


def test_a_new_leader_waits_for_leases_of_the_one_before_although_it_lost_the_worker_earlier() -> None:
    async def story(it: Fenced) -> None:
        await it.submit(400)
        first = (await it.assignment()).cluster
        await it.runs(first)
        leader = next(name for name, each in it.fleet.relays.items() if each.relay is not None and each.relay.leads())
        other = next(name for name in it.fleet.relays if name != leader)
        it.fleet.network.link(other, first).sever(Cut.REFUSED)
        await asyncio.sleep(150)
        it.fleet.relays[leader].crash()
        await asyncio.sleep(150)
        second = (await it.assignment()).cluster
        assert second != first
        await it.runs(second)
        it.mend(first)
        await it.ended()

    it = Fenced(4)
    it.play(story)
    assert it.twice == []


def test_a_lease_that_keeps_running_out_is_told_and_the_job_starts_again_ever_later() -> None:
    async def story(it: Fenced) -> None:
        await it.submit(1000)
        end = it.fleet.loop.time() + 300
        while it.fleet.loop.time() < end:
            to = await it.assignment()
            await it.runs(to.cluster)
            it.fleet.workers[to.cluster].clock.ahead += 3600  # it stops what runs there at once

            async def started_again(epoch: int = to.epoch) -> bool:
                return (await it.assignment()).epoch > epoch

            await it.until(started_again, step=0.5)
        assert (await it.assignment()).epoch <= 6

    it = Fenced(5)
    it.play(story)
