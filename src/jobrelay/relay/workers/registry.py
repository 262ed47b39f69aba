"""Which workers there are: one link for each that a source names, for as long as it does.

A link that goes on being named stays the same object, whatever else changes about it, so that nothing that is known of a
worker gets lost by a rotation of its credentials or a change of its annotations. A worker that is no longer named is let go;
when that was is remembered, by `removed` and beyond a restart, since its workloads have to go somewhere else in time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from random import Random

from jobrelay.kube import Client, Clock, KubeError, Object, Resource, SystemClock
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import deadline, sleep
from jobrelay.relay.workers.conditions import ConditionWriter
from jobrelay.relay.workers.link import WorkerLink
from jobrelay.relay.workers.loss import LossRecord
from jobrelay.relay.workers.object_source import ObjectSource
from jobrelay.relay.workers.reach import Connect, identity, over_network
from jobrelay.relay.workers.signal import Signal
from jobrelay.relay.workers.source import Source
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import PATIENT, Timing

__all__ = ["Registry"]

log = logging.getLogger(__name__)


class Registry:
    """All workers of the relay whose management cluster `client` reaches.

    `resources` are the kinds whose mirrors are followed, `origin` is the value of their label. `pod_owner` returns the
    uid of a pod's mirror. `namespace` holds the record of losses. `writes` says whether this process may write at
    present, as only the leader may.
    """

    def __init__(
        self,
        client: Client,
        source: Source,
        *,
        resources: Sequence[Resource],
        pod_owner: Callable[[Object], str],
        origin: str,
        namespace: str = "jobrelay-system",
        connect: Connect = over_network,
        clock: Clock | None = None,
        random: Random | None = None,
        timing: Timing = PATIENT,
        writes: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client, self._source = client, source
        self._clock, self._random = clock or SystemClock(), random or Random()
        self._pod_owner = pod_owner
        self._resources, self._origin, self._connect, self._timing = resources, origin, connect, timing
        self._losses = LossRecord(client, namespace, clock=self._clock, writes=writes, random=self._random)
        self._links: dict[str, WorkerLink] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._removed: dict[str, datetime] = {}
        self._changed: Signal[[str]] = Signal()
        self._home = ""
        self._owners: dict[str, str] = {}
        """By identity of a cluster: the worker that it is."""
        self._known = False
        self._progress = asyncio.Event()
        self._conditions = None
        if isinstance(source, ObjectSource):
            clusters = partial(getattr, source, "clusters")
            self._conditions = ConditionWriter(client, clusters, self._links, clock=self._clock, writes=writes)

    @property
    def links(self) -> Mapping[str, WorkerLink]:
        return self._links

    @property
    def removed(self) -> Mapping[str, datetime]:
        """Workers that are no longer registered, and since when there is no contact with them."""
        return self._removed

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Have `callback` told the name of a worker that was added, removed or changed; returns how to end that."""
        return self._changed.subscribe(callback)

    async def wait_ready(self, within: float) -> None:
        """Returns when every registered worker was reached or found out of reach, but not later than `within` seconds."""
        try:
            async with deadline(self._clock, within):
                while not self._known or not all(link.settled for link in self._links.values()):
                    self._progress.clear()
                    await self._progress.wait()
        except TimeoutError:
            log.warning("not all workers were tried within %g s", within)

    async def run(self) -> None:
        """Keep up the links to all registered workers until cancelled."""
        try:
            await until_first(
                self._source.run(),
                self._follow(),
                self._losses.run(),
                *([self._conditions.run()] if self._conditions is not None else ()),
            )
        finally:
            for name in list(self._links):
                self._stop(name)
            if self._ending:
                await asyncio.wait(self._ending)

    async def _follow(self) -> None:
        self._home = await self._find_home()
        await self._losses.load()
        await self._source.wait_synced()
        stop = self._source.subscribe(self._review)
        try:
            self._review()
            await asyncio.Event().wait()
        finally:
            stop()

    async def _find_home(self) -> str:
        backoff = Backoff(random=self._random)
        while True:
            try:
                return await identity(self._client)
            except KubeError as error:
                log.warning("the management cluster does not say who it is: %s", error)
                await sleep(self._clock, backoff.next())

    def _review(self) -> None:
        """Bring the links in line with what the source says."""
        specs = self._source.workers
        for name in [name for name in self._links if name not in specs]:
            self._remove(name)
        for name, spec in specs.items():
            link = self._links.get(name)
            if link is None:
                self._add(name)
            elif link.spec != spec:
                link.respecify(spec)
                self._changed(name)
        if not self._known:
            self._known = True
            gone = {name: loss.since for name, loss in self._losses.losses.items() if name not in specs}
            self._removed.update(gone)
        self._progress.set()

    def _add(self, name: str) -> None:
        self._removed.pop(name, None)
        link = self._links[name] = WorkerLink(
            self._source.workers[name],
            resources=self._resources,
            pod_owner=self._pod_owner,
            origin=self._origin,
            clock=self._clock,
            connect=self._connect,
            random=Random(self._random.random()),
            home=self._home,
            claim=self._claim,
            loss=self._losses.losses.get(name),
            timing=self._timing,
        )
        link.subscribe(partial(self._link_changed, link))
        self._tasks[name] = asyncio.create_task(link.run(), name=f"worker {name}")
        self._changed(name)

    def _claim(self, name: str, identity: str) -> str:
        """The worker that a cluster is: the first in order of those that turned out to be it.

        Two links to one cluster would each take the other's mirrors for stale ones.
        """
        self._owners = {known: owner for known, owner in self._owners.items() if owner != name or known == identity}
        owner = self._links.get(self._owners.get(identity, ""))
        mine = self._links.get(name)
        if owner is None or mine is None or (mine.order, name) <= (owner.order, owner.name):
            self._owners[identity] = name
            if owner is not None and owner.name != name:
                owner.doubt()
        return self._owners[identity]

    def _remove(self, name: str) -> None:
        link = self._links[name]
        self._stop(name)
        since = link.lost_since or self._clock.now()
        self._removed[name] = since
        self._losses.lost(name, since, "it is no longer registered")
        self._changed(name)

    def _stop(self, name: str) -> None:
        del self._links[name]
        self._owners = {identity: owner for identity, owner in self._owners.items() if owner != name}
        task = self._tasks.pop(name)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.cancel()

    def _link_changed(self, link: WorkerLink) -> None:
        if self._links.get(link.name) is not link:
            return
        if link.connected:
            self._losses.answered(link.name)
        elif link.lost_since is not None:
            self._losses.lost(link.name, link.lost_since, link.reason)
        self._progress.set()
