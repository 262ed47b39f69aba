"""Incidents that wait for their moment: several things happen together, in an order that chance would hardly find."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from random import Random

from jobrelay.relay.model import State
from jobrelay.simulation.fleet import RelayReplica, SimulatedFleet
from jobrelay.simulation.network import Cut, Disturbance, ExpectedRequest, Link
from jobrelay.simulation.people import People
from jobrelay.simulation.promises import Promises
from jobrelay.simulation.schedules import Incident

LATE = 8.0
_TAKEOVER = 20.0
"""How soon another relay leads."""
_OPEN_MOMENT = 2.0
"""For how long a client waits before it sends a request again."""
_LET_GO = 75.0
"""Before this many seconds of silence no fenced run is let go."""


class Moments:
    """Lets incidents happen that wait for what the relays do."""

    def __init__(self, fleet: SimulatedFleet, random: Random, promises: Promises, people: People) -> None:
        self._fleet, self._random, self._promises, self._people = fleet, random, promises, people
        self.actions: dict[str, Callable[[Incident], Awaitable[None]]] = {
            "drain-late": self._drain_late,
            "stale-leader": self._stale_leader,
            "stale-retry": self._stale_retry,
            "late-start": self._late_start,
            "blind-restart": self._blind_restart,
        }

    def _links(self, worker: str) -> list[Link]:
        """Between both relays and a worker."""
        return [self._fleet.network.link(relay, worker) for relay in self._fleet.relays]

    async def _sent(self, links: Iterable[Link], method: str, within: float) -> bool:
        """Wait until a request of this method is sent on one of these links; returns whether it was in time."""
        expected = ExpectedRequest(method)
        for link in links:
            link.expected = expected
        with suppress(TimeoutError):
            await asyncio.wait_for(expected.sent.wait(), within)
        for link in links:
            link.expected = None
        return expected.sent.is_set()

    async def _drain_late(self, incident: Incident) -> None:
        links = self._links(incident.target)
        how = Disturbance(hold_writes=LATE) if self._random.random() < 0.5 else Disturbance(hold_answers=LATE)
        for link in links:
            link.disturbance = how
        await self._sent(links, "POST", incident.seconds)
        await asyncio.sleep(self._random.uniform(0.0, LATE))
        self._fleet.registrations.set_state(incident.target, State.DRAINING)
        await asyncio.sleep(incident.seconds)
        self._fleet.registrations.set_state(incident.target, State.OPEN)
        for link in links:
            link.disturbance = None

    # A leader that others have replaced

    def _leader(self) -> RelayReplica | None:
        leases = self._fleet.management.read("leases.coordination.k8s.io")
        return self._fleet.relays.get(leases[0]["spec"]["holderIdentity"]) if leases else None

    async def _stale_leader(self, incident: Incident) -> None:
        if (leader := self._leader()) is not None:
            await self._replaced(leader, incident)

    async def _stale_retry(self, incident: Incident) -> None:
        if (leader := self._leader()) is None:
            return
        link = self._fleet.network.link(leader.name, incident.target)
        link.disturbance = Disturbance(busy=1.0)
        sent = await self._sent([link], "POST", incident.seconds)
        await asyncio.sleep(self._random.uniform(0.05, _OPEN_MOMENT))
        if sent:
            link.disturbance = None
            await self._replaced(leader, incident)
        link.disturbance = None

    async def _replaced(self, leader: RelayReplica, incident: Incident) -> None:
        """The leader stands still; another one takes over and drains a worker before it goes on."""
        process = leader.process
        self._fleet.loop.pause(process)
        await asyncio.sleep(_TAKEOVER)
        self._fleet.registrations.set_state(incident.target, State.DRAINING)
        await asyncio.sleep(incident.seconds)
        self._fleet.loop.resume(process)
        await asyncio.sleep(_TAKEOVER)
        self._fleet.registrations.set_state(incident.target, State.OPEN)

    # What nobody sees

    async def _late_start(self, incident: Incident) -> None:
        """A mirror is released while nobody on its worker looks at it, and starts after the worker was cut off."""
        worker, cluster = incident.target, self._fleet.workers[incident.target]
        links = self._links(worker)
        idle = not any(pod["status"].get("phase") == "Running" for pod in cluster.read("pods"))
        if not idle or not await self._sent(links, "PATCH", _LET_GO):
            return
        self._fleet.loop.kill(cluster.controllers)
        await asyncio.sleep(self._random.uniform(0.1, 1.0))
        self._promises.unreachable(worker, incident.seconds)
        for link in links:
            link.sever(Cut.SILENT)
        returns = self._random.uniform(_LET_GO, incident.seconds)
        await asyncio.sleep(returns)
        cluster.start_controllers()
        await asyncio.sleep(incident.seconds - returns)
        for link in links:
            link.mend()

    async def _blind_restart(self, incident: Incident) -> None:
        """Both relays begin anew without an assignment, and without a sight of one worker."""
        links = self._links(incident.target)
        self._promises.unreachable(incident.target, incident.seconds)
        for link in links:
            link.sever(self._random.choice((Cut.REFUSED, Cut.SILENT)))
        for relay in self._fleet.relays.values():
            relay.crash()
        await self._people.actions["forget-assignment"](incident)
        for relay in self._fleet.relays.values():
            relay.start()
        await asyncio.sleep(incident.seconds)
        for link in links:
            link.mend()
