"""What incidents do to a simulated fleet: faults of machines and networks, and deeds of operators.

What users and tenants do is in `people`, what waits for its moment in `moments`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from random import Random

from jobrelay.relay.model import State
from jobrelay.simulation.cluster import SimulatedCluster
from jobrelay.simulation.fleet import SimulatedFleet
from jobrelay.simulation.loop import SimulatedProcess
from jobrelay.simulation.moments import LATE, Moments
from jobrelay.simulation.network import Cut, Disturbance, Link
from jobrelay.simulation.people import People
from jobrelay.simulation.promises import Promises
from jobrelay.simulation.schedules import Incident

SECOND_NAME = "-again"
"""What the second name of a worker has behind the first."""
_SOME, _MANY = 0.05, 0.3
"""The share of requests and answers that meet each kind of trouble. With many, none may get through for a minute."""
_SLOW = 5.0
_BOTH = 5.0
"""For how long a cluster has two names when one takes the place of the other."""


class Incidents:
    """Lets incidents happen to a fleet, and notes for the promises which limits they touch."""

    def __init__(
        self, fleet: SimulatedFleet, random: Random, promises: Promises, people: People, tell: Callable[[str], None]
    ) -> None:
        self._fleet, self._random, self._promises, self._tell = fleet, random, promises, tell
        self._actions: dict[str, Callable[[Incident], Awaitable[None]]] = {
            "cut": self._cut,
            "isolate": self._isolate,
            "partition": self._partition,
            "cut-off": self._cut_off,
            "disturb": self._disturb,
            "bad-gateway": self._bad_gateway,
            "late": self._disturbed(Disturbance(hold_answers=LATE)),
            "lag": self._disturbed(Disturbance(hold_events=LATE)),
            "expire": self._expire,
            "slow-disk": self._slow_disk,
            "pause": self._pause,
            "hang": self._pause,
            "crash": self._crash,
            "drain": self._drain,
            "lost": self._lost,
            "write-off": self._write_off,
            "unregister": self._unregister,
            "repoint": self._repoint,
            "second-name": self._second_name,
            "clock": self._clock,
            "skew": self._clock,
            "wipe": self._wipe,
            "restore-worker": self._restore_worker,
            "restore": self._restore,
            **Moments(fleet, random, promises, people).actions,
            **people.actions,
        }

    async def happen(self, incident: Incident) -> None:
        """Wait for the time of an incident, and return when it is over."""
        await asyncio.sleep(incident.at)
        self._tell(str(incident))
        await self._actions[incident.kind](incident)

    # The network

    def _links(self, chosen: Callable[[str, str], bool]) -> list[Link]:
        return [link for (client, server), link in self._fleet.network.links().items() if chosen(client, server)]

    async def _cut(self, incident: Incident) -> None:
        client, server = incident.target.split()
        self._promises.unreachable(server, incident.seconds)
        await self._severed(incident.seconds, self._links(lambda *pair: pair == (client, server)))

    async def _isolate(self, incident: Incident) -> None:
        worker = incident.target
        self._promises.unreachable(worker, incident.seconds)
        links = self._links(lambda client, server: server == worker and client.startswith("relay"))
        await self._severed(incident.seconds, links)

    async def _severed(self, seconds: float, links: Iterable[Link]) -> None:
        how = self._random.choice((Cut.REFUSED, Cut.SILENT))
        for link in links:
            link.sever(how)
        await asyncio.sleep(seconds)
        for link in links:
            link.mend()

    async def _partition(self, incident: Incident) -> None:
        for worker in self._fleet.workers:
            self._promises.unreachable(worker, incident.seconds)
        links = self._links(lambda client, server: client.startswith("relay") and self._random.random() < 0.5)
        for link in links:
            link.sever(self._random.choice((Cut.REFUSED, Cut.SILENT, Cut.UNANSWERED)))
        await asyncio.sleep(incident.seconds)
        for link in links:
            link.mend()

    async def _cut_off(self, incident: Incident) -> None:
        workers = frozenset(name for name in self._fleet.workers if name != incident.target)
        self._promises.cut_off(workers)
        links = self._links(lambda client, server: server in workers and client.startswith("relay"))
        await self._severed(incident.seconds, links)
        self._promises.cut_off(frozenset())

    async def _disturb(self, incident: Incident) -> None:
        rate = self._random.choice((_SOME, _MANY))
        if rate == _MANY:
            self._promises.unreachable(incident.target.split()[1], incident.seconds)
        await self._disturbed(Disturbance(rate, rate, rate, rate, rate, rate, 15.0, rate / 3, rate))(incident)

    async def _bad_gateway(self, incident: Incident) -> None:
        behind = self._random.choice((0.0, LATE))
        await self._disturbed(Disturbance(fail_after=1.0, failures=(502,), hold_events=behind))(incident)

    def _disturbed(self, how: Disturbance) -> Callable[[Incident], Awaitable[None]]:
        async def happen(incident: Incident) -> None:
            client, server = incident.target.split()
            await self._hold([self._fleet.network.link(client, server)], how, incident.seconds)

        return happen

    async def _hold(self, links: Iterable[Link], how: Disturbance, seconds: float) -> None:
        for link in links:
            link.disturbance = how
        await asyncio.sleep(seconds)
        for link in links:
            link.disturbance = None

    async def _expire(self, incident: Incident) -> None:
        self._promises.unreachable(incident.target.split()[1], incident.seconds)
        await self._disturbed(Disturbance(deny=1.0))(incident)

    async def _slow_disk(self, incident: Incident) -> None:
        links = self._links(lambda client, server: server == incident.target)
        self._promises.stands_still(incident.target, incident.seconds)
        await self._hold(links, Disturbance(hold_writes=_SLOW), incident.seconds)

    # Machines

    async def _pause(self, incident: Incident) -> None:
        process = self._process(incident.target)
        self._note_standstill(incident)
        self._fleet.loop.pause(process)
        await asyncio.sleep(incident.seconds)
        self._fleet.loop.resume(process)

    async def _crash(self, incident: Incident) -> None:
        self._note_standstill(incident)
        name, _, part = incident.target.partition("/")
        if not part:
            self._fleet.relays[name].crash()
            await asyncio.sleep(incident.seconds)
            self._fleet.relays[name].start()
            return
        cluster = self._cluster(name)
        if part == "apiserver":
            cluster.crash_api()
            await asyncio.sleep(incident.seconds)
            cluster.start_api()
            return
        self._fleet.loop.kill(self._process(incident.target))
        await asyncio.sleep(incident.seconds)
        cluster.start_controllers() if part == "controllers" else cluster.start_nodes()

    def _note_standstill(self, incident: Incident) -> None:
        self._promises.stands_still(incident.target.partition("/")[0], incident.seconds)

    def _cluster(self, name: str) -> SimulatedCluster:
        return self._fleet.management if name == "management" else self._fleet.workers[name]

    def _process(self, target: str) -> SimulatedProcess:
        name, _, part = target.partition("/")
        if not part:
            return self._fleet.relays[name].process
        cluster = self._cluster(name)
        return {"apiserver": cluster.process, "controllers": cluster.controllers, "nodes": cluster.kubelets}[part]

    async def _clock(self, incident: Incident) -> None:
        owner = self._fleet.relays.get(incident.target) or self._fleet.workers[incident.target]
        owner.clock.ahead += incident.amount

    async def _wipe(self, incident: Incident) -> None:
        cluster = self._fleet.workers[incident.target]
        self._promises.worker_restored(cluster.name, (), ())
        cluster.wipe()

    async def _restore_worker(self, incident: Incident) -> None:
        cluster = self._fleet.workers[incident.target]
        backup = cluster.backup()
        await asyncio.sleep(incident.seconds)
        self._tell(f"{cluster.name} is restored")
        cluster.restore(backup)
        self._promises.worker_restored(cluster.name, cluster.read("jobs.batch"), cluster.read("pods"))

    async def _restore(self, incident: Incident) -> None:
        management = self._fleet.management
        backup = management.backup()
        await asyncio.sleep(incident.seconds)
        self._tell("the management cluster is restored")
        management.restore(backup)
        self._promises.management_restored(management.read("jobs.batch"))

    # Operators

    async def _drain(self, incident: Incident) -> None:
        await self._state(incident, State.DRAINING)

    async def _lost(self, incident: Incident) -> None:
        self._promises.declared_lost(incident.target)
        await self._state(incident, State.LOST)

    async def _write_off(self, incident: Incident) -> None:
        isolated = asyncio.create_task(self._isolate(incident))
        await asyncio.sleep(min(self._random.uniform(1.0, 15.0), incident.seconds / 2))
        await self._lost(incident)
        await isolated

    async def _state(self, incident: Incident, state: State) -> None:
        self._fleet.registrations.set_state(incident.target, state)
        await asyncio.sleep(incident.seconds)
        self._fleet.registrations.set_state(incident.target, State.OPEN)

    async def _unregister(self, incident: Incident) -> None:
        self._promises.unreachable(incident.target, incident.seconds)
        self._fleet.registrations.remove(incident.target)
        await asyncio.sleep(incident.seconds)
        self._fleet.registrations.register(incident.target, incident.target)

    async def _repoint(self, incident: Incident) -> None:
        self._promises.unreachable(incident.target, incident.seconds)
        self._promises.repointed()
        self._fleet.registrations.register(incident.target, "spare")
        await asyncio.sleep(incident.seconds)
        self._promises.unreachable("spare", math.inf)
        self._fleet.registrations.register(incident.target, incident.target)

    async def _second_name(self, incident: Incident) -> None:
        name, registrations = incident.target + SECOND_NAME, self._fleet.registrations
        registrations.register(name, incident.target)
        if self._random.random() < 0.5:
            await asyncio.sleep(_BOTH)
            registrations.remove(incident.target)
            await asyncio.sleep(incident.seconds)
            registrations.register(incident.target, incident.target)
            await asyncio.sleep(_BOTH)
        else:
            await asyncio.sleep(incident.seconds)
        registrations.remove(name)
