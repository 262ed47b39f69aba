"""The connection to one worker: a client, caches of what the relay has there, and the worker's health.

`run` connects, watches and reconnects for as long as the worker is registered. A session identifies the server, then
follows mirrors, nodes and pods, each kind by one watch. Nothing is polled. When a watch breaks, or after long silence,
a heartbeat is requested: if it succeeds, only the watch was at fault and recovers by itself; if not, the session ends,
and the next one starts after an exponential, jittered pause.

Caches outlive sessions, so what was seen stays readable while a worker is unreachable, and a short loss needs no new
list. They are reset if the server turns out to be another cluster than before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from random import Random

from jobrelay.kube import (
    Client,
    Clock,
    Forbidden,
    KubeError,
    NotFound,
    Object,
    Resource,
    TransportTimeout,
    Version,
    server_version,
)
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import deadline, sleep
from jobrelay.logs import get_logger
from jobrelay.relay.model import Claimant, WorkerFacts
from jobrelay.relay.placement.capacity import CapacityTracker
from jobrelay.relay.signal import Signal
from jobrelay.relay.workers.bounds import DEFAULT_BOUNDS, Bounds
from jobrelay.relay.workers.capacity import CapacityFeed
from jobrelay.relay.workers.connecting import Connect, cluster_identity, over_network, same_server
from jobrelay.relay.workers.heartbeat import Heartbeat
from jobrelay.relay.workers.kinds_in_use import KindsInUse
from jobrelay.relay.workers.mirror_caches import MirrorCaches
from jobrelay.relay.workers.proving import Proofs, Site
from jobrelay.relay.workers.reasons import AnotherCluster, SameCluster, describe
from jobrelay.relay.workers.spec import RejectedKubeconfig, UsableKubeconfig, WorkerSpec
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import DEFAULT_TIMING, Timing
from jobrelay.relay.workers.transport import WorkerTransport

log = get_logger(__name__)

_RETURNING = 60.0
"""Workers that return from one outage do so within this time of each other: longer than the longest pause."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A period without contact; `until` is None while it lasts."""

    since: datetime
    reason: str
    until: datetime | None = None


class WorkerConnection:
    """Connects to one worker and keeps its state current.

    `home` is the identity of the management cluster, `loss` a loss that began before this process. `claim` is called
    with the worker's name and each identity that is found, and returns the name of the worker that this cluster is
    registered as. Of `resources`, the mirrors of those that are `in_use` are watched; of all if that is not given.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        *,
        resources: Sequence[Resource],
        in_use: KindsInUse | None = None,
        pod_owner: Callable[[Object], str],
        proofs: Proofs,
        clock: Clock,
        connect: Connect = over_network,
        random: Random | None = None,
        home: str = "",
        claim: Callable[[str, str], str] = lambda name, identity: name,
        loss: Loss | None = None,
        timing: Timing = DEFAULT_TIMING,
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        random = random or Random()
        self.spec, self.name = spec, spec.name
        self.connected = False
        self.connected_since = 0.0
        """When the worker last began to answer, in monotonic time."""
        self.seen = False
        """Whether its mirrors have been read."""
        self.lost_since = loss.since if loss is not None else None
        self.silent_since = clock.monotonic()
        """Since when this process has not reached it, in monotonic time; only while `lost_since` is set."""
        self.reason = loss.reason if loss is not None else "it has not been reached yet"
        self.last_loss: Loss | None = None
        self.version: Version | None = None
        self.is_self = False
        self.attempts = 0
        self.next_retry: datetime | None = None
        self._clock, self._connect, self._home, self._timing = clock, connect, home, timing
        self._claim = claim
        self._changed: Signal[[]] = Signal()
        self._transport = WorkerTransport(clock, suspect_after=timing.suspect, on_suspect=self._suspect)
        self._suspected = False
        self._heartbeat = Heartbeat(self._transport, self.check_identity, self._answered, clock=clock, timing=timing)
        self.client = Client(self._transport, clock=clock, timeout=15.0, retries=0)
        """Retries nothing: the queues of the controllers do, and decide anew before each attempt."""
        self._probe_client = Client(self._transport, clock=clock, timeout=2 * timing.answer, retries=0)
        watcher = Client(self._transport, clock=clock, timeout=15.0, retries=0, page_size=100)
        self.mirrors = MirrorCaches(
            watcher,
            resources,
            proofs,
            lambda: Site(self.name, self._identity, self.is_self),
            self._review,
            self._changed,
            in_use=in_use or KindsInUse(resources),
            clock=clock,
            random=random,
            timing=timing,
            budget=bounds.mirrors(),
        )
        self.capacity = CapacityTracker()
        self._namespaces: set[str] = set()
        """Namespaces that are known to exist there."""
        self._feed = CapacityFeed(
            watcher,
            self.capacity,
            self._changed,
            pod_owner=pod_owner,
            clock=clock,
            random=random,
            timing=timing,
            budget=bounds.capacity(),
            on_budget=self._review,
        )
        self._backoff = Backoff(1.0, timing.longest_pause, random=random)
        self._identity = ""
        self._in_session = False
        self._access_changed = asyncio.Event()

    @property
    def tried(self) -> bool:
        """Whether the first attempt to connect is over, successful or not."""
        return self.connected or self.attempts > 0

    @property
    def suspicious(self) -> bool:
        """Whether it has not answered requests for a few seconds; it gets no others than heartbeats then."""
        return self._transport.unanswered.suspicious

    @property
    def heard(self) -> datetime | None:
        """When it last sent anything; None if it never has."""
        at = self._transport.heard_at
        return self._clock.now() - timedelta(seconds=self._clock.monotonic() - at) if at else None

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called whenever connection, spec or capacity have changed; returns how to unsubscribe."""
        return self._changed.subscribe(callback)

    def facts(
        self,
        live: int = 0,
        reserved: Mapping[str, Fraction] | None = None,
        stale: int = 0,
        backlog: int = 0,
        kept_for: Claimant | None = None,
    ) -> WorkerFacts:
        """This worker at this moment, together with the caller's own counts and claims."""
        return WorkerFacts(
            name=self.name,
            connected=self.connected,
            lost_since=self.lost_since,
            reason=self.reason,
            state=self.spec.state,
            labels=self.spec.labels,
            cost=self.spec.cost,
            weight=self.spec.weight,
            capacity=self.capacity.snapshot(),
            live=live,
            reserved=reserved or {},
            pending=self.capacity.pending(self.mirrors.uids),
            backlog=backlog,
            stale=stale,
            unanswered=self._transport.unanswered.suspicion,
            namespaces=self.spec.namespaces,
            identity=self._identity,
            seen=self.seen,
            clock=self._transport.worker_clock.reading,
            silent_since=self._silence(),
            returned_from=self._returned_from(),
            unfit=self.mirrors.unfit,
            unread=self.mirrors.unread,
            kept_for=kept_for,
        )

    def _silence(self) -> datetime | None:
        if self.lost_since is None:
            return None
        return self._clock.now() - timedelta(seconds=self._clock.monotonic() - self.silent_since)

    def _returned_from(self) -> datetime | None:
        last = self.last_loss
        if last is None or not self.connected or self._clock.monotonic() - self.connected_since >= _RETURNING:
            return None
        return last.since

    def pods_of(self, mirror: str) -> tuple[Object, ...]:
        """The pods of a mirror (by uid) that have not ended, as far as they are known."""
        return self._feed.pods_of(mirror)

    @property
    def time(self) -> datetime | None:
        """The time by its clock, as far as that is known."""
        reading = self._transport.worker_clock.reading
        return reading.earliest if reading is not None else None

    def has_namespace(self, name: str) -> bool:
        """Whether a namespace is known to exist there."""
        return name in self._namespaces

    def namespace_found(self, name: str) -> None:
        self._namespaces.add(name)

    def update_spec(self, spec: WorkerSpec) -> None:
        """Apply what an operator changed; new credentials are used at once, while open watches go on."""
        before, self.spec = self.spec, spec
        if (spec.access, spec.namespaces) != (before.access, before.namespaces):
            self._access_changed.set()
        if spec != before:
            self._changed()

    def check_now(self) -> None:
        """Check whether the worker answers, and whether it is still the same cluster."""
        self._heartbeat.check_now()

    def _suspect(self) -> None:
        if self.connected and not self._suspected:
            log.info("worker does not answer", worker=self.name)
            self._suspected = True
            self._heartbeat.check_now()
            self._changed()

    def _answered(self) -> None:
        if self._suspected:
            self._suspected = False
            self._changed()

    async def run(self) -> None:
        """Connect and reconnect until cancelled."""
        stop = self.mirrors.follow_use()
        try:
            while True:
                try:
                    await self._session()
                except KubeError as error:
                    self._fail(describe(error))
                except Exception as error:  # boundary of the task: no worker's answer may end it
                    log.exception("unexpected failure of a worker's connection", worker=self.name)
                    self._fail(describe(error))
                await self._pause()
        finally:
            stop()
            await self._transport.close()

    async def _session(self) -> None:
        """One session; returns or raises when it is over."""
        self._access_changed.clear()
        access = self.spec.access
        if isinstance(access, RejectedKubeconfig):
            await self._transport.close()
            self._fail(access.message)
            await self._access_changed.wait()
            return
        await self._transport.switch(self._connect(self.name, access.connection))
        await self._identify()
        self._in_session = True
        await until_first(
            self.mirrors.run(self.spec.namespaces, access.connection.namespace),
            self._feed.run(),
            self._heartbeat.run(),
            self._synced_in_time(),
            self._follow_access(access, self.spec.namespaces),
        )

    async def _identify(self) -> None:
        try:
            self.version = await server_version(self._probe_client)
        except (Forbidden, NotFound):
            self.version = Version()
        found = await self._find_identity()
        if self._identity and found and found != self._identity:
            self._fail(describe(AnotherCluster("its caches are reset")))
            self.mirrors.start_over()
            self._feed.start_over()
            self._transport.worker_clock.start_over()
            self._namespaces.clear()
        self._identity = found or self._identity
        self.is_self = bool(found) and found == self._home

    async def _find_identity(self) -> str:
        """The identity of the server; raises SameCluster if another worker is registered for it."""
        found = await cluster_identity(self._probe_client)
        owner = self._claim(self.name, found) if found else self.name
        if owner != self.name:
            raise SameCluster(f"it is the same cluster as worker {owner}")
        return found

    async def check_identity(self, wanted: str = "") -> None:
        """Raise AnotherCluster if this is not the cluster with this uid, or the one that was connected to."""
        found, wanted = await self._find_identity(), wanted or self._identity
        if wanted and found and found != wanted:
            raise AnotherCluster("its kube-system namespace has another uid")

    async def _synced_in_time(self) -> None:
        while True:
            await sleep(self._clock, self._timing.sync)
            if not self.connected:
                failure = self._feed.exceeded or self.mirrors.failure
                raise failure or TransportTimeout(f"its mirrors were not known in {self._timing.sync:g} s")

    async def _follow_access(self, access: UsableKubeconfig, namespaces: tuple[str, ...]) -> None:
        """Switch to new credentials as they come; returns if a new session is needed."""
        while True:
            await self._access_changed.wait()
            self._access_changed.clear()
            fresh = self.spec.access
            if (
                isinstance(fresh, RejectedKubeconfig)
                or self.spec.namespaces != namespaces
                or not same_server(fresh.connection, access.connection)
            ):
                self._access_changed.set()
                return
            await self._transport.switch(self._connect(self.name, fresh.connection))
            self._heartbeat.check_now()

    async def _pause(self) -> None:
        """Wait before the next attempt, or until the operator has changed the access."""
        self._in_session = False
        if self._access_changed.is_set():
            return
        pause = self._backoff.next()
        self.next_retry = self._clock.now() + timedelta(seconds=pause)
        self._changed()
        try:
            async with deadline(self._clock, pause):
                await self._access_changed.wait()
        except TimeoutError:
            return

    def _review(self) -> None:
        """Derive whether the worker is connected from the state of its watches."""
        if not self._in_session:
            return
        failure = self._feed.exceeded or self.mirrors.failure
        if self.mirrors.current and self._feed.exceeded is None:
            self._reached()
        elif failure is not None:
            self._heartbeat.check_now()
            self._fail(describe(failure))

    def _reached(self) -> None:
        if self.connected:
            return
        if self.lost_since is not None:
            self.last_loss = Loss(self.lost_since, self.reason, self._clock.now())
        log.info("worker connected", worker=self.name, version=self.version.git_version if self.version else "")
        self.connected, self.lost_since, self.reason, self.seen = True, None, "", True
        self.connected_since = self._clock.monotonic()
        self.attempts, self.next_retry = 0, None
        self._backoff.reset()
        self._changed()

    def _fail(self, reason: str) -> None:
        if self.connected or self.reason != reason:
            log.info("worker not connected", worker=self.name, reason=reason)
        self.attempts += 1
        self.connected, self.reason, self._suspected = False, reason, False
        if self.lost_since is None:
            silence = self._transport.unanswered.silence
            self.lost_since = self._clock.now() - timedelta(seconds=silence)
            self.silent_since = self._clock.monotonic() - silence
        self._changed()
