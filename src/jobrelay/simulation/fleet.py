"""A whole fleet on virtual time: a management cluster, workers, two relay replicas, and the registry of workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from jobrelay.cluster.store.store import Change
from jobrelay.kube import Client, Connection, LeaderElection, LeadershipLost
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.model import State
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers import WorkerSource
from jobrelay.relay.workers.bounds import Bounds
from jobrelay.relay.workers.spec import UsableKubeconfig, WorkerSpec
from jobrelay.simulation.clock import SimulatedClock
from jobrelay.simulation.cluster import SimulatedCluster
from jobrelay.simulation.loop import SimulatedProcess, VirtualLoop
from jobrelay.simulation.network import Network
from jobrelay.simulation.schedules import ApiServerKind

NAMESPACE = "jobrelay-system"
RETRY_PERIOD = 4.0
"""Of the election: twice the usual one, since renewals would be half of all requests."""


BOUNDS = Bounds(max_mirrors=40, max_mirror_bytes=256 * 1024, max_object_bytes=128 * 1024)
"""How much the relays hold of one worker: little, so that a flood does not take long."""


class Registrations:
    """The registered workers: which cluster a name stands for, and its state. Operators change them."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._specs: dict[str, WorkerSpec] = {}
        self._subscribers: list[tuple[SimulatedProcess, Callable[[], None]]] = []

    @property
    def specs(self) -> Mapping[str, WorkerSpec]:
        return self._specs

    def register(self, name: str, cluster: str) -> None:
        """Register a worker, or point the name of a registered one at another cluster."""
        access = UsableKubeconfig(Connection(server=f"https://{cluster}"), cluster)
        known = self._specs.get(name) or WorkerSpec(name, access, order=len(self._specs))
        self._specs = self._specs | {name: replace(known, access=access)}
        self._notify()

    def remove(self, name: str) -> None:
        self._specs = {each: spec for each, spec in self._specs.items() if each != name}
        self._notify()

    def set_state(self, name: str, state: State) -> None:
        if name in self._specs:
            self._specs = self._specs | {name: replace(self._specs[name], state=state)}
            self._notify()

    def subscribe(self, process: SimulatedProcess, callback: Callable[[], None]) -> Callable[[], None]:
        entry = (process, callback)
        self._subscribers.append(entry)
        return lambda: self._subscribers.remove(entry)

    def _notify(self) -> None:
        for process, callback in self._subscribers:
            if not process.ended:
                self._loop.call_in(process, 0.01, callback)


class _Source(WorkerSource):
    """The registrations as one relay sees them."""

    def __init__(self, registrations: Registrations, process: SimulatedProcess) -> None:
        self._registrations, self._process = registrations, process

    @property
    def workers(self) -> Mapping[str, WorkerSpec]:
        return self._registrations.specs

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self._registrations.subscribe(self._process, callback)

    async def wait_synced(self) -> None:
        await asyncio.sleep(0)

    async def run(self) -> None:
        await asyncio.Event().wait()


class RelayReplica:
    """One replica of the relay: a process that stands for election again whenever it loses the lease."""

    def __init__(self, name: str, fleet: SimulatedFleet) -> None:
        self.name, self.clock = name, SimulatedClock(fleet.loop)
        self._fleet = fleet
        self.process = SimulatedProcess(name)
        self.relay: RelayManager | None = None

    def start(self) -> None:
        """Start it, or start it again."""
        self.crash()
        self.process = SimulatedProcess(self.name)
        self._fleet.loop.start(self.process, self._run())

    def crash(self) -> None:
        self._fleet.loop.kill(self.process)
        self.relay = None
        for (client, _), link in self._fleet.network.links().items():
            if client == self.name:
                link.streams.clear()

    async def _run(self) -> None:
        fleet = self._fleet
        while True:
            transport = fleet.network.transport(self.name, lambda: fleet.management)
            election = LeaderElection(
                Client(transport, clock=self.clock, timeout=5.0, retries=0),
                "jobrelay",
                NAMESPACE,
                self.name,
                retry_period=RETRY_PERIOD,
                clock=self.clock,
                random=Random(fleet.random.random()),
            )
            self.relay = RelayManager(
                Client(transport, clock=self.clock),
                _Source(fleet.registrations, self.process),
                fleet.settings,
                namespace=NAMESPACE,
                connect=lambda worker, connection: fleet.network.transport(
                    self.name, lambda: fleet.clusters[connection.server.removeprefix("https://")]
                ),
                election=election,
                identity=self.name,
                bounds=BOUNDS,
                clock=self.clock,
                random=Random(fleet.random.random()),
                new_key=Random(fleet.random.random()).randbytes,
            )
            try:
                await self.relay.run()
            except LeadershipLost:
                continue


class SimulatedFleet:
    """Everything that runs; `on_change` hears of committed changes of Jobs and pods.

    With `spare` there is one more cluster, `spare`, that is not registered as a worker.
    """

    def __init__(
        self,
        seed: int | str,
        *,
        workers: int,
        settings: Settings,
        spare: bool = False,
        server: ApiServerKind = ApiServerKind.EMBEDDED,
        on_change: Callable[[str, str, Change], None] | None = None,
    ) -> None:
        self.random = Random(seed)
        self.settings = settings
        self._server = server
        self.loop = VirtualLoop(Random(self.random.random()))
        self.network = Network(self.loop, Random(self.random.random()))
        self.registrations = Registrations(self.loop)
        self.management = self._cluster("management", nodes=False, on_change=on_change)
        names = [f"worker-{number}" for number in range(1, workers + 1)]
        self.workers = {name: self._cluster(name, on_change=on_change) for name in names}
        self.clusters = self.workers | ({"spare": self._cluster("spare", on_change=on_change)} if spare else {})
        """All clusters that can be registered, by their addresses."""
        self.relays = {name: RelayReplica(name, self) for name in ("relay-1", "relay-2")}
        self.user = SimulatedProcess("user")

    def _cluster(
        self, name: str, *, nodes: bool = True, on_change: Callable[[str, str, Change], None] | None = None
    ) -> SimulatedCluster:
        random = Random(self.random.random())
        return SimulatedCluster(
            name, self.loop, self.network, random, server=self._server, nodes=nodes, on_change=on_change
        )

    def client(self, who: str = "user", cluster: SimulatedCluster | None = None) -> Client:
        target = cluster or self.management
        return Client(self.network.transport(who, lambda: target), clock=SimulatedClock(self.loop))

    async def start(self) -> None:
        """Start the clusters, register the workers, and start the relays."""
        for cluster in (self.management, *self.clusters.values()):
            cluster.start()
        await self.client().create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        for name in self.workers:
            self.registrations.register(name, name)
        for relay in self.relays.values():
            relay.start()
