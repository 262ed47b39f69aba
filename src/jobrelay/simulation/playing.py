"""Plays a schedule on a simulated fleet and checks the promises of the relay."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from jobrelay.cluster.store.store import Change
from jobrelay.kube import KubeError, Object
from jobrelay.kube.resource import JOBS
from jobrelay.relay.model import State
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.simulation.cluster import SimulatedCluster
from jobrelay.simulation.fleet import SimulatedFleet
from jobrelay.simulation.incidents import SECOND_NAME, Incidents
from jobrelay.simulation.loop import garbage_kept
from jobrelay.simulation.people import FLOOD, People
from jobrelay.simulation.promises import TENANT, Promises
from jobrelay.simulation.schedules import Schedule
from jobrelay.workloads.names import ORIGIN

SETTINGS = Settings("simulated", lost_timeout=60.0, keep_finished=5.0, lease=30.0, margin=10.0, ask_again=10.0)
RECOVERY = 600.0
"""How long the fleet gets to finish everything once nothing goes wrong any more."""
MAX_STEPS = 60_000
"""After how many steps a fleet that still has not finished counts as one that never rests."""
_ADVICE = "StartUnknown"
_LOST_FOR = 150.0
"""Longer than a lease of the simulated relays, which they wait for also if a worker is declared lost."""
WRITES_PER_JOB, WRITES_PER_INCIDENT = 40, 15
"""More than a relay needs, were every incident to hit every Job."""


@dataclass(slots=True)
class Outcome:
    """What came of a schedule: broken promises, what happened, and a digest that is equal for equal runs."""

    broken: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    digest: str = ""
    seconds: float = 0.0
    steps: int = 0
    writes: int = 0
    """How many writes the relays have sent, apart from the renewal of leases."""

    @property
    def promises(self) -> frozenset[str]:
        """The names of the broken promises."""
        return frozenset(text.partition(":")[0] for text in self.broken)


def play(schedule: Schedule) -> Outcome:
    """Run a schedule from its beginning to its end, on virtual time."""
    with garbage_kept():
        return _Play(schedule).run()


class _Play:
    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._outcome = Outcome()
        self._over = asyncio.Event()
        self._digest = hashlib.sha256()
        spare = any(incident.kind == "repoint" for incident in schedule.incidents)
        self.fleet = SimulatedFleet(
            schedule.seed,
            workers=schedule.workers,
            settings=SETTINGS,
            spare=spare,
            server=schedule.server,
            on_change=self._changed,
        )
        random = Random(f"incidents {schedule.seed}")
        self._promises = Promises(self.fleet.loop.time, SETTINGS, self._broken)
        self._people = People(self.fleet, random, self._promises, self._tell)
        self._incidents = Incidents(self.fleet, random, self._promises, self._people, self._tell)

    def run(self) -> Outcome:
        self.fleet.loop.run(self._main())
        return self._outcome

    def _writes(self) -> int:
        return sum(
            link.writes for (client, _), link in self.fleet.network.links().items() if client in self.fleet.relays
        )

    def _tell(self, text: str) -> None:
        self._outcome.story.append(f"{self.fleet.loop.time():8.2f}  {text}")

    def _broken(self, promise: str, text: str) -> None:
        self._tell(f"BROKEN {promise}: {text}")
        self._outcome.broken.append(f"{promise}: {text}")
        self._over.set()

    def _changed(self, cluster: str, resource: str, change: Change) -> None:
        self._digest.update(f"{self.fleet.loop.time():.6f} {cluster} {resource}".encode() + change.raw)
        self._promises.changed(cluster, resource, change)

    async def _main(self) -> None:
        """Play to the end, or until a promise is broken."""
        play, over = asyncio.create_task(self._play()), asyncio.create_task(self._over.wait())
        await asyncio.wait((play, over), return_when=asyncio.FIRST_COMPLETED)
        if play.done():
            play.result()
        for failure in self.fleet.loop.failures:
            self._broken("no-crash", f"a part of the fleet ended by {failure!r}")
        self._outcome.digest = self._digest.hexdigest()
        self._outcome.seconds, self._outcome.steps = self.fleet.loop.time(), self.fleet.loop.steps
        self._outcome.writes = self._writes()
        self.fleet.network.close()

    async def _play(self) -> None:
        await self.fleet.start()
        acts = [asyncio.create_task(self._people.submit(plan)) for plan in self._schedule.jobs]
        acts += [asyncio.create_task(self._incidents.happen(incident)) for incident in self._schedule.incidents]
        await asyncio.wait(acts)
        for act in acts:
            act.result()
        self._mend()
        await self._people.clean_up()
        await self._recover()
        self._promises.check_starts(self._schedule)
        self._check_writes()

    def _mend(self) -> None:
        for link in self.fleet.network.links().values():
            if link.cut is not None:
                link.cuts = 1
                link.mend()
            link.disturbance = None
        self._tell("everything is mended")

    async def _recover(self) -> None:
        """Every workload ends, and no mirror is left."""
        loop = self.fleet.loop
        until = loop.time() + RECOVERY
        if await self._at_rest(until - RECOVERY / 2):
            return
        await self._follow_advice()
        if await self._at_rest(until):
            return
        if loop.steps >= MAX_STEPS:
            return  # which is told as such
        for job in self.fleet.management.read("jobs.batch"):
            if not _conditions(job) & {"Complete", "Failed"}:
                self._broken("nothing-lost", f"{job['metadata']['name']} has not ended: {job.get('status')}")
        for name, cluster in self.fleet.workers.items():
            if left := self._mirrors(cluster):
                self._broken("no-leftovers", f"{left} mirrors are left on {name}")

    async def _at_rest(self, until: float) -> bool:
        """Wait until every workload has ended and no mirror is left; returns whether that came in time."""
        loop, client = self.fleet.loop, self.fleet.client()
        while loop.time() < until and loop.steps < MAX_STEPS:
            await asyncio.sleep(5)
            with suppress(KubeError):
                jobs = (await client.list(JOBS)).items
                if all(_ended(job) for job in jobs) and not any(map(self._mirrors, self.fleet.workers.values())):
                    return True
        return False

    async def _follow_advice(self) -> None:
        """An operator declares workers lost of which the relay says that only this helps, as of one installed anew."""
        events = self.fleet.management.read("events")
        told = {event["involvedObject"]["name"] for event in events if event["reason"] == _ADVICE}
        jobs = [job for job in (await self.fleet.client().list(JOBS)).items if job.name in told and not _ended(job)]
        for worker in sorted({to.cluster for job in jobs if (to := assignment_of(job)) is not None}):
            self._tell(f"{worker} is declared lost, as {_ADVICE} advises")
            self._promises.declared_lost(worker)
            again = worker not in self.fleet.registrations.specs
            if again:
                self.fleet.registrations.register(worker, worker.removesuffix(SECOND_NAME))
            self.fleet.registrations.set_state(worker, State.LOST)
            await asyncio.sleep(_LOST_FOR)
            self.fleet.registrations.set_state(worker, State.OPEN)
            if again:
                self.fleet.registrations.remove(worker)

    def _check_writes(self) -> None:
        """The relay has done what was needed, and not much more."""
        schedule = self._schedule
        enough = WRITES_PER_JOB * len(schedule.jobs) + WRITES_PER_INCIDENT * len(schedule.incidents)
        if (sent := self._writes()) > enough:
            self._broken("few-writes", f"the relays sent {sent} writes; {enough} are enough")
        elif self.fleet.loop.steps >= MAX_STEPS:
            self._broken("few-writes", f"the fleet has not come to rest after {self.fleet.loop.steps} steps")

    def _mirrors(self, cluster: SimulatedCluster) -> int:
        return sum(
            ORIGIN in (job["metadata"].get("labels") or {}) and job["metadata"]["namespace"] not in (TENANT, FLOOD)
            for job in cluster.read("jobs.batch")
        )


def _ended(job: Object) -> bool:
    return bool(_conditions(job.decode()) & {"Complete", "Failed"})


def _conditions(job: dict[str, Any]) -> set[str]:
    return {each["type"] for each in (job.get("status") or {}).get("conditions") or () if each["status"] == "True"}
