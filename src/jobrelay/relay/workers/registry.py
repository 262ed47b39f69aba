"""The registered workers: one `WorkerConnection` for each worker that the source names.

A connection stays the same object while its worker is registered, so that a rotation of credentials or a change of
annotations loses nothing that is known about the worker. A worker that is no longer named is stopped. When that
happened is kept in `removed`, and across restarts in the `LossRecord`, since its workloads have to move in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from random import Random
from types import MappingProxyType

from jobrelay.kube import Client, Clock, KubeError, Object, Resource, SystemClock
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import deadline, sleep
from jobrelay.logs import get_logger
from jobrelay.relay.model import RemovedWorker
from jobrelay.relay.signal import Signal
from jobrelay.relay.workers.bounds import DEFAULT_BOUNDS, Bounds
from jobrelay.relay.workers.connecting import Connect, cluster_identity, over_network
from jobrelay.relay.workers.connection import WorkerConnection
from jobrelay.relay.workers.kinds_in_use import KindsInUse
from jobrelay.relay.workers.loss import LossRecord
from jobrelay.relay.workers.proving import Proofs
from jobrelay.relay.workers.source import WorkerSource
from jobrelay.relay.workers.tasks import OwnedTasks, until_first
from jobrelay.relay.workers.timing import DEFAULT_TIMING, Timing

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Removal:
    """Since when there has been no contact with a worker that is not registered any more."""

    since: datetime
    silent: float
    """By this process's own observation, in monotonic time."""


class Registry:
    """Owns the connections to all workers; `client` reaches the management cluster.

    `resources` are the kinds whose mirrors are watched while they are `in_use` (all if not given). `proofs` tell
    mirrors from look-alikes. `pod_owner` returns the uid of a pod's mirror. `namespace` holds the record of losses.
    `writes` says whether this replica may write now.
    """

    def __init__(
        self,
        client: Client,
        source: WorkerSource,
        *,
        resources: Sequence[Resource],
        in_use: KindsInUse | None = None,
        pod_owner: Callable[[Object], str],
        proofs: Proofs,
        namespace: str = "jobrelay-system",
        connect: Connect = over_network,
        clock: Clock | None = None,
        random: Random | None = None,
        timing: Timing = DEFAULT_TIMING,
        bounds: Bounds = DEFAULT_BOUNDS,
        writes: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client, self._source = client, source
        self._clock, self._random = clock or SystemClock(), random or Random()
        self._pod_owner = pod_owner
        self._resources, self._connect, self._timing, self._bounds = resources, connect, timing, bounds
        self._in_use = in_use or KindsInUse(resources)
        self.proofs = proofs
        self._losses = LossRecord(client, namespace, clock=self._clock, writes=writes, random=self._random)
        self._workers: dict[str, WorkerConnection] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._tasks = OwnedTasks()
        self._removed: dict[str, _Removal] = {}
        self._changed: Signal[[str]] = Signal()
        self._home = ""
        self._owners: dict[str, str] = {}
        self.owners: Mapping[str, str] = MappingProxyType(self._owners)
        """By identity of a cluster: the name of the worker that reaches it."""
        self._known_since: datetime | None = None
        self._progress = asyncio.Event()

    @property
    def workers(self) -> Mapping[str, WorkerConnection]:
        """The connections by worker, in the order of the source."""
        return self._workers

    @property
    def removed(self) -> Mapping[str, RemovedWorker]:
        """Workers that are no longer registered, by name and by the uid of their cluster."""
        return {name: RemovedWorker(each.since, self._date(each.silent)) for name, each in self._removed.items()}

    def _date(self, monotonic: float) -> datetime:
        """When a monotonic time was, as the clock shows it now."""
        return self._clock.now() - timedelta(seconds=self._clock.monotonic() - monotonic)

    @property
    def known_since(self) -> datetime | None:
        """When the registrations were first known to this process."""
        return self._known_since

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Have `callback` called with the name of each worker that changed; returns how to unsubscribe."""
        return self._changed.subscribe(callback)

    async def wait_ready(self, within: float) -> None:
        """Return when the first attempt to connect to each worker is over, but after at most `within` seconds."""
        try:
            async with deadline(self._clock, within):
                while self._known_since is None or not all(worker.tried for worker in self._workers.values()):
                    self._progress.clear()
                    await self._progress.wait()
        except TimeoutError:
            log.warning("not all workers were tried in time", seconds=within)

    async def run(self) -> None:
        """Run the connections to all registered workers until cancelled."""
        try:
            await until_first(self._source.run(), self._follow(), self._losses.run())
        finally:
            for name in list(self._workers):
                self._stop(name)
            await self._tasks.wait()

    async def _follow(self) -> None:
        self._home = await self._find_home()
        await self._losses.load()
        await self._source.wait_synced()
        await self.proofs.wait_known()
        stops = [self._source.subscribe(self._review), self.proofs.subscribe(self._judge_again)]
        try:
            self._review()
            await asyncio.Event().wait()
        finally:
            for stop in stops:
                stop()

    def _judge_again(self) -> None:
        for worker in self._workers.values():
            worker.mirrors.judge_again()

    async def _find_home(self) -> str:
        backoff = Backoff(random=self._random)
        while True:
            try:
                return await cluster_identity(self._client)
            except KubeError as error:
                log.warning("identity of the management cluster not read", error=str(error))
                await sleep(self._clock, backoff.next())

    def _review(self) -> None:
        """Bring the connections in line with the source."""
        specs = self._source.workers
        for name in [name for name in self._workers if name not in specs]:
            self._remove(name)
        for name, spec in specs.items():
            worker = self._workers.get(name)
            if worker is None:
                self._add(name)
            elif worker.spec != spec:
                worker.update_spec(spec)
                self._changed(name)
        if self._known_since is None:
            self._known_since = self._clock.now()
            now, gone = self._clock.monotonic(), [name for name in self._losses.losses if name not in specs]
            self._removed.update({name: _Removal(self._losses.losses[name].since, now) for name in gone})
        self._progress.set()

    def _add(self, name: str) -> None:
        self._removed.pop(name, None)
        worker = self._workers[name] = WorkerConnection(
            self._source.workers[name],
            resources=self._resources,
            in_use=self._in_use,
            pod_owner=self._pod_owner,
            proofs=self.proofs,
            clock=self._clock,
            connect=self._connect,
            random=Random(self._random.random()),
            home=self._home,
            claim=self._claim,
            loss=self._losses.losses.get(name),
            timing=self._timing,
            bounds=self._bounds,
        )
        worker.subscribe(partial(self._worker_changed, worker))
        self._running[name] = self._tasks.start(worker.run(), f"worker {name}")
        self._changed(name)

    def _claim(self, name: str, identity: str) -> str:
        """The worker that a cluster is registered as: of several with this identity the first in order.

        Two connections to one cluster would each take the other's mirrors for stale ones.
        """
        for gone in [known for known, owner in self._owners.items() if owner == name and known != identity]:
            self._cluster_left(gone, self._removal_now(), f"its worker {name} is another cluster now")
        owner = self._workers.get(self._owners.get(identity, ""))
        mine = self._workers.get(name)
        if owner is None or mine is None or (mine.spec.order, name) <= (owner.spec.order, owner.name):
            self._owners[identity] = name
            self._removed.pop(identity, None)
            self._losses.answered(identity)
            if owner is not None and owner.name != name:
                owner.check_now()
        return self._owners[identity]

    def _remove(self, name: str) -> None:
        worker, removal, why = self._workers[name], self._removal_now(), "it is no longer registered"
        if worker.lost_since is not None:
            removal = _Removal(worker.lost_since, worker.silent_since)
        for identity in [identity for identity, owner in self._owners.items() if owner == name]:
            self._cluster_left(identity, removal, why)
        self._stop(name)
        self._removed[name] = removal
        self._losses.lost(name, removal.since, why)
        self._changed(name)

    def _removal_now(self) -> _Removal:
        return _Removal(self._clock.now(), self._clock.monotonic())

    def _cluster_left(self, identity: str, removal: _Removal, why: str) -> None:
        """No worker reaches a cluster any more."""
        del self._owners[identity]
        self._removed[identity] = removal
        self._losses.lost(identity, removal.since, why)

    def _stop(self, name: str) -> None:
        del self._workers[name]
        self._running.pop(name).cancel()

    def _worker_changed(self, worker: WorkerConnection) -> None:
        if self._workers.get(worker.name) is not worker:
            return
        if worker.connected:
            self._losses.answered(worker.name)
        elif worker.lost_since is not None:
            self._losses.lost(worker.name, worker.lost_since, worker.reason)
        self._progress.set()
