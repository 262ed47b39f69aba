"""In which order waiting Jobs start on a whole fleet, on virtual time. Each worker has one node of four CPUs."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from jobrelay.cluster.store.store import Change
from jobrelay.kube.resource import JOBS
from jobrelay.relay.claims import PATIENCE
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.simulation.fleet import SimulatedFleet
from jobrelay.simulation.schedules import ApiServerKind
from jobrelay.workloads.references import PRIORITYCLASSES
from tests.relay.fleets import job


class LineFleet:
    """A fleet that remembers in which order the pods of Jobs began to run."""

    def __init__(self, seed: int, workers: int = 3) -> None:
        self.started: dict[str, float] = {}
        self.fleet = SimulatedFleet(
            seed,
            workers=workers,
            settings=Settings("line", keep_finished=20),
            server=ApiServerKind.MODEL,
            on_change=self._changed,
        )

    @property
    def relay(self) -> RelayManager:
        """The replica that leads."""
        relays = [replica.relay for replica in self.fleet.relays.values() if replica.relay is not None]
        return next(each for each in relays if each.leads())

    @property
    def order(self) -> list[str]:
        return list(self.started)

    def _changed(self, cluster: str, resource: str, change: Change) -> None:
        pod = msgspec.json.decode(change.raw) if change.after is not None and resource == "pods" else {}
        if pod.get("status", {}).get("phase") == "Running":
            name = pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
            self.started.setdefault(name, self.fleet.loop.time())

    async def submit(self, name: str, cpu: str, seconds: float, **pod: Any) -> None:
        made = job(name, seconds=seconds)
        spec = made["spec"]["template"]["spec"]
        spec["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        spec.update(pod)
        await self.fleet.client().create(JOBS, made)

    def play(self, script: Any) -> None:
        async def main() -> None:
            await self.fleet.start()
            await asyncio.sleep(20)
            await script(self)

        self.fleet.loop.run(main())


def burst(names: list[str], cpu: str, seconds: float, gap: float, then: float = 30.0) -> Any:
    """Submit Jobs one after the other, and wait."""

    async def script(it: LineFleet) -> None:
        for name in names:
            await it.submit(name, cpu, seconds)
            await asyncio.sleep(gap)
        await asyncio.sleep(then)

    return script


@pytest.mark.parametrize("seed", range(3))
def test_jobs_of_a_burst_start_in_the_order_of_their_creation(seed: int) -> None:
    names = [f"job-{number:02}" for number in range(20)]
    it = LineFleet(seed)
    it.play(burst(names, "1800m", 3, 0.2))
    assert len(it.started) == 20
    later = [(first, second) for first in names for second in names if first < second]
    assert not [(first, second) for first, second in later if it.started[second] < it.started[first] - 0.5]


def test_a_large_job_is_not_overtaken_for_ever() -> None:
    small = [f"small-{number:02}" for number in range(35)]

    async def script(it: LineFleet) -> None:
        await burst(small[:3], "2", 60, 28, 0)(it)
        await it.submit("large", "4", 10)
        await burst(small[3:], "2", 60, 28, 0)(it)

    it = LineFleet(1, workers=1)
    it.play(script)
    waited = it.started["large"] - it.started["small-02"]
    assert PATIENCE < waited < PATIENCE + 120
    assert 12 < it.order.index("large") < 33


def test_jobs_of_a_higher_priority_start_first() -> None:
    async def script(it: LineFleet) -> None:
        value = {"metadata": {"name": "urgent"}, "value": 1000, "globalDefault": False}
        await it.fleet.client().create(PRIORITYCLASSES, value)
        for worker in it.fleet.workers.values():
            await it.fleet.client(cluster=worker).create(PRIORITYCLASSES, value)
        await burst([f"job-{number}" for number in range(4)], "4", 10, 1, 0)(it)
        await it.submit("first", "4", 10, priorityClassName="urgent")
        await asyncio.sleep(60)

    it = LineFleet(2, workers=1)
    it.play(script)
    assert it.order == ["job-0", "first", "job-1", "job-2", "job-3"]
