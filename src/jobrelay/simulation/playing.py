"""Plays a schedule on a simulated fleet and checks the promises of the relay."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from jobrelay.cluster.store.store import Change
from jobrelay.kube import KubeError, Object, merge_patch
from jobrelay.kube.client import Propagation
from jobrelay.kube.resource import JOBS
from jobrelay.relay.model import State
from jobrelay.relay.names import FENCING
from jobrelay.relay.settings import Settings
from jobrelay.simulation.cluster import SimulatedCluster
from jobrelay.simulation.fleet import SimulatedFleet
from jobrelay.simulation.loop import Process
from jobrelay.simulation.network import Cut, Disturbance
from jobrelay.simulation.running import DoubleRun, RunningPods
from jobrelay.simulation.schedules import Incident, JobPlan, Schedule
from jobrelay.workloads.names import ASSIGNMENT, ORIGIN, RELAY

SETTINGS = Settings("simulated", lost_timeout=60.0, keep_finished=5.0, lease=30.0, margin=10.0, ask_again=10.0)
RECOVERY = 600.0
"""How long the fleet gets to finish everything once nothing goes wrong any more."""


@dataclass(slots=True)
class Outcome:
    """What came of a schedule: broken promises, what happened, and a digest that is equal for equal runs."""

    broken: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    digest: str = ""
    seconds: float = 0.0
    steps: int = 0

    @property
    def promises(self) -> frozenset[str]:
        """The names of the broken promises."""
        return frozenset(text.partition(":")[0] for text in self.broken)


def play(schedule: Schedule) -> Outcome:
    """Run a schedule from its beginning to its end, on virtual time."""
    return _Play(schedule).run()


class _Play:
    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._outcome = Outcome()
        self._digest = hashlib.sha256()
        self.fleet = SimulatedFleet(
            schedule.seed,
            workers=schedule.workers,
            settings=SETTINGS,
            server=schedule.server,
            on_change=self._changed,
        )
        self._random = Random(f"incidents {schedule.seed}")
        self._pods = RunningPods(self.fleet.loop.time, self._double_run)
        self._actions: dict[str, Callable[[Incident], Awaitable[None]]] = {
            "cut": self._cut,
            "isolate": self._isolate,
            "disturb": self._disturb,
            "pause": self._pause,
            "crash": self._crash,
            "drain": self._drain,
            "lost": self._lost,
            "clock": self._clock,
            "delete-mirror": self._delete_mirror,
            "forget-assignment": self._forget_assignment,
            "restore": self._restore,
        }
        self._fenced: dict[str, bool] = {}
        self._unreachable: set[str] = set()
        """Workers that were out of reach for so long that unfenced workloads may have been started elsewhere."""
        self._headless: set[str] = set()
        """Workers whose control plane or nodes stood still for so long that nobody there stopped pods at a deadline."""

    def run(self) -> Outcome:
        self.fleet.loop.run(self._main())
        self._outcome.digest = self._digest.hexdigest()
        self._outcome.seconds, self._outcome.steps = self.fleet.loop.time(), self.fleet.loop.steps
        return self._outcome

    def _tell(self, text: str) -> None:
        self._outcome.story.append(f"{self.fleet.loop.time():8.2f}  {text}")

    def _broken(self, promise: str, text: str) -> None:
        self._tell(f"BROKEN {promise}: {text}")
        self._outcome.broken.append(f"{promise}: {text}")

    # What is watched

    def _changed(self, cluster: str, resource: str, change: Change) -> None:
        self._digest.update(f"{self.fleet.loop.time():.6f} {cluster} {resource}".encode() + change.raw)
        self._pods.changed(cluster, resource, change)

    def _double_run(self, found: DoubleRun) -> None:
        fenced = self._fenced.get(found.workload, False)
        excuses = self._headless if fenced else self._unreachable
        if not excuses & {found.first.cluster, found.second.cluster}:
            self._broken("one-run", f"{'fenced ' if fenced else ''}{found}")

    # What happens

    async def _main(self) -> None:
        fleet = self.fleet
        await fleet.start()
        acts = [asyncio.create_task(self._submit(plan)) for plan in self._schedule.jobs]
        acts += [asyncio.create_task(self._happen(incident)) for incident in self._schedule.incidents]
        await asyncio.wait(acts)
        for act in acts:
            act.result()
        self._mend()
        await self._recover()
        fleet.network.close()

    async def _submit(self, plan: JobPlan) -> None:
        await asyncio.sleep(plan.at)
        annotations = {FENCING: "true"} if plan.fenced else {}
        script = {"jobrelay.dev/run-seconds": f"{plan.seconds:g}"}
        container = {"name": "main", "image": "none", "command": ["true"]}
        template = {"metadata": {"annotations": script}, "spec": {"restartPolicy": "Never", "containers": [container]}}
        body = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": plan.name, "namespace": "default", "annotations": annotations},
            "spec": {"managedBy": RELAY, "backoffLimit": 1, "template": template},
        }
        client = self.fleet.client()
        while True:
            try:
                made = await client.create(JOBS, body)
            except KubeError:
                await asyncio.sleep(1)
                continue
            self._fenced[made.uid] = plan.fenced
            self._tell(f"{plan.name} is created ({'fenced, ' if plan.fenced else ''}{plan.seconds:g} s)")
            return

    async def _happen(self, incident: Incident) -> None:
        await asyncio.sleep(incident.at)
        self._tell(str(incident))
        await self._actions[incident.kind](incident)

    async def _cut(self, incident: Incident) -> None:
        client, server = incident.target.split()
        self._note_loss(server, incident.seconds)
        await self._cut_links(incident.seconds, lambda pair: pair == (client, server))

    async def _isolate(self, incident: Incident) -> None:
        self._note_loss(incident.target, incident.seconds)
        await self._cut_links(incident.seconds, lambda pair: pair[1] == incident.target and pair[0].startswith("relay"))

    async def _cut_links(self, seconds: float, chosen: Callable[[tuple[str, str]], bool]) -> None:
        how = self._random.choice((Cut.REFUSED, Cut.SILENT))
        links = [link for pair, link in self.fleet.network.links().items() if chosen(pair)]
        for link in links:
            link.sever(how)
        await asyncio.sleep(seconds)
        for link in links:
            link.mend()

    async def _disturb(self, incident: Incident) -> None:
        client, server = incident.target.split()
        link = self.fleet.network.link(client, server)
        rate = self._random.choice((0.05, 0.3))
        link.disturbance = Disturbance(rate, rate, rate, rate, rate, rate, 15.0, rate / 3, rate)
        await asyncio.sleep(incident.seconds)
        link.disturbance = None

    async def _pause(self, incident: Incident) -> None:
        process = self._process(incident.target)
        self._note_standstill(incident)
        self.fleet.loop.pause(process)
        await asyncio.sleep(incident.seconds)
        self.fleet.loop.resume(process)

    async def _crash(self, incident: Incident) -> None:
        self._note_standstill(incident)
        name, _, part = incident.target.partition("/")
        if not part:
            self.fleet.relays[name].crash()
            await asyncio.sleep(incident.seconds)
            self.fleet.relays[name].start()
            return
        cluster = self.fleet.workers[name]
        if part == "apiserver":
            cluster.crash_api()
            await asyncio.sleep(incident.seconds)
            cluster.start_api()
            return
        self.fleet.loop.kill(self._process(incident.target))
        await asyncio.sleep(incident.seconds)
        cluster.start_controllers() if part == "controllers" else cluster.start_nodes()

    def _note_loss(self, worker: str, seconds: float) -> None:
        if seconds > SETTINGS.lost_timeout - 30:
            self._unreachable.add(worker)

    def _note_standstill(self, incident: Incident) -> None:
        worker = incident.target.partition("/")[0]
        self._note_loss(worker, incident.seconds)
        if incident.seconds > SETTINGS.margin:
            self._headless.add(worker)

    def _process(self, target: str) -> Process:
        name, _, part = target.partition("/")
        if not part:
            return self.fleet.relays[name].process
        cluster = self.fleet.workers[name]
        return {"apiserver": cluster.process, "controllers": cluster.controllers, "nodes": cluster.kubelets}[part]

    async def _drain(self, incident: Incident) -> None:
        await self._state(incident, State.DRAINING)

    async def _lost(self, incident: Incident) -> None:
        self._unreachable.add(incident.target)
        await self._state(incident, State.LOST)

    async def _state(self, incident: Incident, state: State) -> None:
        self.fleet.registrations.set_state(incident.target, state)
        await asyncio.sleep(incident.seconds)
        self.fleet.registrations.set_state(incident.target, State.OPEN)

    async def _clock(self, incident: Incident) -> None:
        owner = self.fleet.relays.get(incident.target) or self.fleet.workers[incident.target]
        owner.clock.ahead += incident.amount

    async def _delete_mirror(self, incident: Incident) -> None:
        client = self.fleet.client("tenant", self.fleet.workers[incident.target])
        propagation: Propagation = self._random.choice(("Background", "Foreground", "Orphan"))
        with suppress(KubeError):
            for mirror in (await client.list(JOBS, label_selector=ORIGIN)).items[:1]:
                await client.delete(JOBS, mirror.name, mirror.namespace, propagation=propagation)

    async def _forget_assignment(self, incident: Incident) -> None:
        client = self.fleet.client()
        with suppress(KubeError):
            for job in (await client.list(JOBS)).items[:1]:
                change = {"metadata": {"annotations": {ASSIGNMENT: None}}}
                await client.patch(JOBS, job.name, merge_patch(change), job.namespace)

    async def _restore(self, incident: Incident) -> None:
        backup = self.fleet.management.backup()
        await asyncio.sleep(incident.seconds)
        self._tell("the management cluster is restored")
        self.fleet.management.restore(backup)

    # The end

    def _mend(self) -> None:
        for link in self.fleet.network.links().values():
            if link.cut is not None:
                link.mend()
            link.disturbance = None
        self._tell("everything is mended")

    async def _recover(self) -> None:
        """Every workload ends, and no mirror is left."""
        loop, client = self.fleet.loop, self.fleet.client()
        until = loop.time() + RECOVERY
        while loop.time() < until:
            await asyncio.sleep(5)
            with suppress(KubeError):
                jobs = (await client.list(JOBS)).items
                if all(_ended(job) for job in jobs) and not any(map(self._mirrors, self.fleet.workers.values())):
                    return
        for job in self.fleet.management.read("jobs.batch"):
            if not _conditions(job) & {"Complete", "Failed"}:
                self._broken("nothing-lost", f"{job['metadata']['name']} has not ended: {job.get('status')}")
        for name, cluster in self.fleet.workers.items():
            if left := self._mirrors(cluster):
                self._broken("no-leftovers", f"{left} mirrors are left on {name}")

    def _mirrors(self, cluster: SimulatedCluster) -> int:
        return sum(ORIGIN in (job["metadata"].get("labels") or {}) for job in cluster.read("jobs.batch"))


def _ended(job: Object) -> bool:
    return bool(_conditions(job.decode()) & {"Complete", "Failed"})


def _conditions(job: dict[str, Any]) -> set[str]:
    return {each["type"] for each in (job.get("status") or {}).get("conditions") or () if each["status"] == "True"}
