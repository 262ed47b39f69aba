"""A management cluster, workers and a relay in one process.

The clusters that `fleet` makes are whole embedded clusters with scripted pods; only the sockets are left out.
`tests/real/fleet.py` makes the same of real ones. Every link, that to the management cluster included, is a
`FaultyTransport`, so that tests can lose requests and replies, and cut workers off.
"""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Client, Connection, FaultyTransport, NotFound, Object, Transport
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import JOBS, NAMESPACES
from jobrelay.relay.gate import MakeGate
from jobrelay.relay.multikueue.dispatching import Dispatching
from jobrelay.relay.original_decision import Stage
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.workers import Timing, UsableKubeconfig, WorkerSource, WorkerSpec
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import Adapter
from jobrelay.workloads.names import RELAY

NAMESPACE = "jobrelay-system"
ORIGIN = "tests"
QUICK = Timing(quiet=15.0, answer=1.0, sync=10.0, unavailable=1.0, longest_pause=0.2)


class AnyCluster(Protocol):
    """What a fleet needs of a cluster, embedded or real."""

    @property
    def kubeconfig(self) -> pathlib.Path: ...

    def transport(self) -> Transport: ...

    def client(self) -> Client: ...


class MakeFleet(Protocol):
    """How a test asks for a fleet, of whichever kind."""

    def __call__(
        self,
        workers: int = 2,
        *,
        start: bool = True,
        nodes: NodeSettings | None = None,
        timing: Timing = QUICK,
        **settings: Any,
    ) -> AbstractAsyncContextManager[Fleet]: ...


class ListedWorkers(WorkerSource):
    """A source whose list of workers a test changes."""

    def __init__(self, names: list[str]) -> None:
        self.specs = {name: _spec(name, order) for order, name in enumerate(names)}
        self._callbacks: list[Callable[[], None]] = []

    @property
    def workers(self) -> Mapping[str, WorkerSpec]:
        return self.specs

    def change(self, specs: Mapping[str, WorkerSpec]) -> None:
        self.specs = dict(specs)
        for callback in list(self._callbacks):
            callback()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    async def wait_synced(self) -> None:
        await asyncio.sleep(0)

    async def run(self) -> None:
        await asyncio.Event().wait()


def _spec(name: str, order: int) -> WorkerSpec:
    return WorkerSpec(name, UsableKubeconfig(Connection(f"https://{name}"), name), order)


class Fleet:
    """The clusters, the links to them, and at most one relay."""

    def __init__(
        self, management: AnyCluster, workers: Mapping[str, AnyCluster], timing: Timing = QUICK, **settings: Any
    ) -> None:
        self.management, self.workers = management, dict(workers)
        self.timing = timing
        self.source = ListedWorkers(list(workers))
        self.settings = Settings(ORIGIN, **{"settle": 0.5, **settings})
        self.home = FaultyTransport(management.transport())
        self.links = {name: FaultyTransport(cluster.transport()) for name, cluster in workers.items()}
        self.adapters: Sequence[Adapter] | None = None
        """The kinds of the relays that are started; those that are installed if it is None."""
        self.multikueue: Dispatching | None = None
        """How the relays that are started dispatch as controllers of MultiKueue's checks; None if they are not."""
        self.gate: MakeGate | None = None
        """What admits workloads in the relays that are started; they admit everything if it is None."""
        self.relay: RelayManager | None = None
        self._running: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        """The user's client, which never fails."""
        return self.management.client()

    def on(self, worker: str) -> Client:
        return self.workers[worker].client()

    async def start(self) -> None:
        """Start a relay that remembers nothing but what is written."""
        self.relay = RelayManager(
            Client(self.home),
            self.source,
            self.settings,
            namespace=NAMESPACE,
            connect=self.connect,
            timing=self.timing,
            adapters=self.adapters,
            multikueue=self.multikueue,
            gate=self.gate,
        )
        self._running = asyncio.create_task(self.relay.run())
        await self.relay.registry.wait_ready(10)

    def connect(self, worker: str, connection: Connection) -> Transport:
        """Reach a worker over its faulty transport."""
        return self.links[worker]

    async def kill(self) -> None:
        """End the relay in the middle of whatever it does."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})
            if not self._running.cancelled() and (error := self._running.exception()) is not None:
                raise error
            self._running = self.relay = None

    async def open_namespace(self, namespace: str, *workers: str) -> None:
        """Make a namespace on the management cluster and on some workers."""
        for client in (self.client, *map(self.on, workers)):
            await client.create(NAMESPACES, {"metadata": {"name": namespace}})

    async def be_own_worker(self, worker: str) -> None:
        """Let the management cluster take the place of a worker."""
        self.workers[worker] = self.management
        self.links[worker] = FaultyTransport(self.management.transport())

    async def submit(self, name: str = "train", namespace: str = "default", **more: Any) -> Object:
        return await self.client.create(JOBS, job(name, namespace, **more))

    async def job(self, name: str = "train", namespace: str = "default") -> dict[str, Any]:
        return (await self.client.get(JOBS, name, namespace)).decode()

    async def mirrors(self, name: str = "train", namespace: str = "default") -> dict[str, Object]:
        """The mirrors of a Job by worker."""
        found: dict[str, Object] = {}
        for worker in self.workers:
            try:
                found[worker] = await self.on(worker).get(JOBS, name, namespace)
            except NotFound:
                continue
        return found

    async def place(self, name: str = "train", namespace: str = "default") -> str:
        """Where a Job is assigned to; empty if nowhere."""
        to = assignment_of(await self.client.get(JOBS, name, namespace))
        return to.cluster if to is not None else ""

    async def until(self, what: Callable[[], Any], seconds: float = 60.0) -> Any:
        """Wait for an asynchronous function to return something true."""
        async with asyncio.timeout(seconds):
            while not (found := await what()):
                await asyncio.sleep(0.02)
        return found

    async def finished(self, name: str = "train", namespace: str = "default") -> dict[str, Any]:
        """Wait for the end of a Job; its status."""

        async def ended() -> dict[str, Any] | None:
            status = (await self.job(name, namespace)).get("status", {})
            ends = [one for one in status.get("conditions", ()) if one["type"] in ("Complete", "Failed")]
            return status if ends else None

        return dict(await self.until(ended))

    async def runs(self, name: str = "train", namespace: str = "default") -> str:
        """Wait until a Job is active; where it is."""

        async def active() -> str:
            found = await self.job(name, namespace)
            return await self.place(name, namespace) if found.get("status", {}).get("active") else ""

        return str(await self.until(active))

    async def known_to_run(self, name: str = "train", namespace: str = "default") -> str:
        """Wait until the relay has seen a pod of a Job run; where it is."""
        relay, ref = self.relay, WorkloadRef(str(JOBS), Key(namespace, name))
        assert relay is not None

        async def seen() -> str:
            found = relay.explain(ref)
            return found.cluster if found is not None and found.stage == Stage.RUNNING else ""

        return str(await self.until(seen, 60))


def job(
    name: str = "train",
    namespace: str = "default",
    *,
    managed_by: str | None = RELAY,
    seconds: float = 0,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A Job whose pods run for some seconds."""
    template = {
        "metadata": {"annotations": {"jobrelay.dev/run-seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]},
    }
    whole = {"template": template, **({"managedBy": managed_by} if managed_by else {}), **spec}
    metadata = {"name": name, "namespace": namespace, "annotations": dict(annotations or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": whole}


@asynccontextmanager
async def fleet(
    workers: int = 2,
    *,
    start: bool = True,
    nodes: NodeSettings | None = None,
    home: Mapping[str, Any] | None = None,
    timing: Timing = QUICK,
    **settings: Any,
) -> AsyncIterator[Fleet]:
    """A running fleet; what it starts ends with it. `nodes` are of workers, `home` are options of the other cluster."""
    async with AsyncExitStack() as stack:
        management = await stack.enter_async_context(Cluster("management", **(home or {})))
        nodes = nodes or NodeSettings(runtime="scripted")
        made = {name: await stack.enter_async_context(Cluster(name, nodes=nodes)) for name in worker_names(workers)}
        await management.client().create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        found = Fleet(management, made, timing, **settings)
        stack.push_async_callback(found.kill)
        if start:
            await found.start()
        yield found


def worker_names(number: int) -> list[str]:
    return [f"worker-{each}" for each in range(1, number + 1)]
