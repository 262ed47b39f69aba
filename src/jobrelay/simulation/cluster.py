"""A cluster of a simulated fleet: the embedded cluster's API server or a model of it, controllers and nodes, on virtual
time.

Its parts are processes: the API server with its store, the controllers, and the nodes. Each can stand still or crash
alone, as the machines of a real cluster can. Committed objects outlive crashes, and can be backed up, restored and
wiped.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec

from jobrelay.cluster.apiserver.access import Access, Tokens
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.server import ApiServer
from jobrelay.cluster.bootstrap import bootstrap
from jobrelay.cluster.controllers import job, ttl
from jobrelay.cluster.controllers.catalog import NAMESPACE
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.cluster.node import NodeSettings, set_up
from jobrelay.cluster.plane import StoreControllers
from jobrelay.cluster.store import Store
from jobrelay.cluster.store.backend import Row
from jobrelay.cluster.store.store import Change
from jobrelay.control import ControllerContext
from jobrelay.kube.pki import make_authority
from jobrelay.kube.transport import Request, Transport
from jobrelay.simulation.clock import START, SimulatedClock
from jobrelay.simulation.loop import SimulatedProcess, VirtualLoop
from jobrelay.simulation.model_server import ADMIN, ModelServer
from jobrelay.simulation.network import Network
from jobrelay.simulation.schedules import ApiServerKind

_STORE_CONTROLLERS = frozenset({NAMESPACE, "garbage-collector-controller"})
_NEEDED = frozenset({"namespaces", "serviceaccounts", "configmaps", "priorityclasses.scheduling.k8s.io"})
_PORT = 6443


class Backup(NamedTuple):
    """Everything that a cluster had committed at one moment."""

    version: int
    rows: dict[tuple[str, str, str], Row]


class _Disk:
    """The backend of a store: what was committed, which a crash of the API server leaves as it is."""

    def __init__(self, backup: Backup) -> None:
        self._version, self._rows = backup.version, dict(backup.rows)

    def load(self) -> tuple[int, Iterable[Row]]:
        return self._version, list(self._rows.values())

    def commit(self, rows: Sequence[Row], version: int) -> None:
        self._version = version
        for row in rows:
            if row.raw is None:
                self._rows.pop(row[:3], None)
            else:
                self._rows[row[:3]] = row

    def close(self) -> None:
        return None

    def backup(self) -> Backup:
        return Backup(self._version, dict(self._rows))


class SimulatedCluster:
    """One cluster; `on_change` is called with its name and every committed change of a Job or pod."""

    def __init__(
        self,
        name: str,
        loop: VirtualLoop,
        network: Network,
        random: Random,
        *,
        server: ApiServerKind = ApiServerKind.EMBEDDED,
        nodes: bool = True,
        on_change: Callable[[str, str, Change], None] | None = None,
    ) -> None:
        self.name, self.clock = name, SimulatedClock(loop)
        self._loop, self._network, self._random = loop, network, random
        self._nodes, self._on_change = nodes, on_change
        self._server = server
        self._entrance: Transport | None = None
        self._disk = _Disk(_new_cluster(self._uid))
        self.process = SimulatedProcess(f"{name}/apiserver")
        self.controllers = SimulatedProcess(f"{name}/controllers")
        self.kubelets = SimulatedProcess(f"{name}/nodes")

    def _uid(self) -> str:
        return f"{self._random.getrandbits(32):08x}-0000-4000-8000-{self._random.getrandbits(48):012x}"

    def _suffix(self) -> str:
        return "".join(self._random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))

    # The API server

    @property
    def serving(self) -> bool:
        return self._entrance is not None

    def entrance(self, request: Request) -> Transport | None:
        return self._entrance

    def start_api(self) -> None:
        if self.serving:
            self.crash_api()
        self._loop.kill(self.process)
        self.process = SimulatedProcess(self.process.name)
        self._loop.start(self.process, self._serve())

    def crash_api(self) -> None:
        """What is not committed is lost, and every connection breaks."""
        self._loop.kill(self.process)
        self._entrance = None
        for (_, server), link in self._network.links().items():
            if server == self.name:
                link.reset()

    async def _serve(self) -> None:
        store = Store(self._disk)
        context = ServerContext(
            store,
            ResourceTable(),
            now=self.clock.now,
            suffix=self._suffix,
            uid=self._uid,
            random=Random(self._random.random()),
        )
        tokens = Tokens(_signing_key(), lambda key, namespace, name: None, self.clock.now)
        api = ApiServer(context, Access(context.authorizer, tokens), f"127.0.0.1:{_PORT}")
        if self._on_change is not None:
            for resource in ("jobs.batch", "pods"):
                store.subscribe(resource, functools.partial(self._on_change, self.name, resource))
        StoreControllers(context, b"", _STORE_CONTROLLERS).start()
        embedded = self._server is ApiServerKind.EMBEDDED
        self._entrance = InProcessTransport(lambda: api, ADMIN) if embedded else ModelServer(api)
        await asyncio.Event().wait()

    # Controllers and nodes

    def start_controllers(self) -> None:
        """Start them, or start them again."""
        self._loop.kill(self.controllers)
        self.controllers = SimulatedProcess(self.controllers.name)
        context = self._context(self.controllers)
        job.set_up(context)
        ttl.set_up(context)
        self._loop.start(self.controllers, context.manager.run())

    def start_nodes(self) -> None:
        """Start them, or start them again."""
        self._loop.kill(self.kubelets)
        self.kubelets = SimulatedProcess(self.kubelets.name)
        context = self._context(self.kubelets)
        set_up(context, NodeSettings(runtime="scripted", cpu="4", memory="8Gi"))
        self._loop.start(self.kubelets, context.manager.run())

    def _context(self, process: SimulatedProcess) -> ControllerContext:
        transport = self._network.transport(process.name, lambda: self)
        return ControllerContext(transport, clock=self.clock, random=Random(self._random.random()))

    def start(self) -> None:
        """Start all parts."""
        self.start_api()
        self.start_controllers()
        if self._nodes:
            self.start_nodes()

    # Its data

    def backup(self) -> Backup:
        return self._disk.backup()

    def restore(self, backup: Backup) -> None:
        """Go back to a backup: the API server is started again on it."""
        self.crash_api()
        self._disk = _Disk(backup)
        self.start_api()

    def wipe(self) -> None:
        """Install it anew: another cluster with the same name, without anything that was there."""
        for process in (self.controllers, self.kubelets):
            self._loop.kill(process)
        self.restore(_new_cluster(self._uid))
        self.start_controllers()
        if self._nodes:
            self.start_nodes()

    def read(self, resource: str) -> list[dict[str, Any]]:
        """The committed objects of a resource, for whoever checks the cluster from outside."""
        return [
            msgspec.json.decode(row.raw)
            for key, row in self._disk.backup().rows.items()
            if key[0] == resource and row.raw
        ]


@functools.lru_cache(1)
def _signing_key() -> bytes:
    """Nobody shows a token here, so one key serves all clusters."""
    return make_authority("simulation").key


def _new_cluster(uid: Callable[[], str]) -> Backup:
    """The objects of a new cluster, as far as they matter here, with uids of their own."""
    template = _template()
    rows = {}
    for key, row in template.rows.items():
        assert row.raw is not None
        made = msgspec.json.decode(row.raw)
        made["metadata"]["uid"] = uid()
        rows[key] = row._replace(raw=msgspec.json.encode(made))
    return Backup(template.version, rows)


@functools.lru_cache(1)
def _template() -> Backup:
    disk = _Disk(Backup(0, {}))

    async def fill() -> None:
        store = Store(disk)
        context = ServerContext(store, ResourceTable(), now=lambda: START)
        bootstrap(context, _PORT)
        StoreControllers(context, b"", _STORE_CONTROLLERS).start()
        await store.settled()

    loop = VirtualLoop(Random(0))
    loop.run_until_complete(fill())
    loop.close()
    backup = disk.backup()
    return Backup(backup.version, {key: row for key, row in backup.rows.items() if key[0] in _NEEDED})
