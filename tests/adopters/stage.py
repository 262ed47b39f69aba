"""A management cluster, an embedded and a real worker with the same manager, and the relay between them."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from jobrelay.kube import Client, Connection, FaultyTransport, Resource, Transport, find_connection
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, NAMESPACES
from jobrelay.relay.model import State
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.relay.signal import Changes
from jobrelay.relay.workers import FlagSource, Timing
from jobrelay.workloads import Adapter, JobAdapter

from . import clusters, programs
from .following import SECONDS, Following, following
from .managers import Manager, Obj
from .relayed import Relayed, load
from .story import NAMESPACE

EMBEDDED, REAL = "embedded", "real"
WORKERS: Final = (EMBEDDED, REAL)
WEBHOOKS: Final = tuple(
    Resource("admissionregistration.k8s.io", "v1", f"{kind.lower()}s", kind, namespaced=False)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)
AGAIN_SECONDS: Final = 0.2
KEEP_SECONDS: Final = 6.0
"""How long finished mirrors are kept: long enough for what managers write after the end."""

RECONNECT_SECONDS: Final = 2.0


class Wire(FaultyTransport):
    """The connection of the relay to a worker, which can be cut."""

    def __init__(self, inner: NetworkTransport) -> None:
        super().__init__(inner)
        self.close = inner.close


class Wires:
    """The connections of the relay to its workers."""

    def __init__(self) -> None:
        self._wires: dict[str, Wire] = {}
        self._cut: set[str] = set()

    def connect(self, worker: str, connection: Connection) -> Transport:
        wire = self._wires[worker] = Wire(NetworkTransport(connection))
        if worker in self._cut:
            wire.partition()
        return wire

    @asynccontextmanager
    async def cut_off(self, relay: RelayManager, worker: str) -> AsyncIterator[None]:
        """A worker that the relay does not reach while the block runs."""
        changes, connection = Changes(), relay.registry.workers[worker]
        unsubscribe = connection.subscribe(changes.notify)
        try:
            async with asyncio.timeout(SECONDS):
                await changes.until(lambda: connection.connected)
                self._cut.add(worker)
                self._wires[worker].partition()
                await changes.until(lambda: not connection.connected)
            yield
            self._cut.remove(worker)
            self._wires[worker].heal()
            async with asyncio.timeout(SECONDS):
                await changes.until(lambda: connection.connected)
        finally:
            unsubscribe()


class Workers(FlagSource):
    """Workers by their kubeconfigs, whose state an operator may set."""

    def declare(self, name: str, state: State) -> None:
        self._workers = {**self._workers, name: replace(self._workers[name], state=state)}
        self._changed()


@dataclass
class Stage:
    """All clusters, what is seen there, and the relay."""

    folder: pathlib.Path
    manager: Manager
    relayed: Relayed
    kubeconfigs: Mapping[str, pathlib.Path]
    home: Following
    workers: Mapping[str, Following]
    source: Workers
    wires: Wires = field(default_factory=Wires)

    @asynccontextmanager
    async def relaying(self, adapters: Sequence[Adapter]) -> AsyncIterator[RelayManager]:
        """The relay at work with these adapters."""
        relay = RelayManager(
            self.home.client,
            self.source,
            Settings("adopters", keep_finished=KEEP_SECONDS, loss_event_after=0),
            adapters=[*adapters, JobAdapter()],
            connect=self.wires.connect,
            timing=Timing(longest_pause=RECONNECT_SECONDS),
        )
        running = asyncio.create_task(relay.run())
        try:
            yield relay
        finally:
            running.cancel()
            await asyncio.wait({running})


@asynccontextmanager
async def stage(manager: Manager, folder: pathlib.Path) -> AsyncIterator[Stage]:
    """Start all clusters, and the manager on both workers; the management cluster only serves its kinds."""
    relayed = load(manager)
    async with AsyncExitStack() as stack:
        kubeconfigs = {}
        for name, cluster in (("management", clusters.embedded), (EMBEDDED, clusters.embedded), (REAL, clusters.real)):
            (folder / name).mkdir()
            kubeconfigs[name] = await stack.enter_async_context(cluster(folder / name))
        where = {kubeconfigs[name]: folder / name for name in WORKERS}
        await stack.enter_async_context(programs.all_running(manager, where))
        clients = {}
        for name, kubeconfig in kubeconfigs.items():
            transport = await stack.enter_async_context(NetworkTransport(find_connection(kubeconfig)))
            clients[name] = Client(transport)
            await clients[name].create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        await clients["management"].create(NAMESPACES, {"metadata": {"name": "jobrelay-system"}})
        await serve_alike(clients[EMBEDDED], clients["management"])
        for name in WORKERS:
            await set_up(clients[name], (*manager.setup, *relayed.setup))
        resources = [each.resource for each in relayed.kinds]
        changes = Changes()
        followed = {
            name: await stack.enter_async_context(following(name, client, resources, changes))
            for name, client in clients.items()
        }
        source = Workers({name: kubeconfigs[name] for name in WORKERS})
        yield Stage(folder, manager, relayed, kubeconfigs, followed.pop("management"), followed, source)


async def serve_alike(worker: Client, management: Client) -> None:
    """Install the worker's definitions on the management cluster, in the version that is stored, without webhooks."""
    for each in (await worker.list(CUSTOMRESOURCEDEFINITIONS)).items:
        spec = each.decode()["spec"]
        spec["versions"] = [version for version in spec["versions"] if version["storage"]]
        spec.pop("conversion", None)
        await management.create(CUSTOMRESOURCEDEFINITIONS, {"metadata": {"name": each.name}, "spec": spec})


async def set_up(client: Client, objects: Sequence[Obj]) -> None:
    """Create what objects of the stories name, once all webhooks are asked: Tekton's fills its configurations itself,
    and refuses every change of a run that was created before."""
    async with asyncio.timeout(SECONDS):
        while not all([await _have_rules(client, each) for each in WEBHOOKS]):
            await asyncio.sleep(AGAIN_SECONDS)
    for each in objects:
        resource = resource_of(each)
        await client.create(resource, each, NAMESPACE if resource.namespaced else None)


async def _have_rules(client: Client, resource: Resource) -> bool:
    found = [each.decode()["webhooks"] for each in (await client.list(resource)).items]
    return all(webhook.get("rules") for webhooks in found for webhook in webhooks)


def resource_of(obj: Obj) -> Resource:
    """Of an object that is created first: a kind with a regular plural."""
    group, _, version = obj["apiVersion"].rpartition("/")
    kind: str = obj["kind"]
    return Resource(group, version, f"{kind.lower()}s", kind, namespaced=not kind.startswith("Cluster"))
