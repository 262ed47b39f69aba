"""One worker: a client, live copies of what the relay has there, and a life of its own.

`run` connects, watches and connects again, for as long as the worker is registered. One session goes like this: find out
who the server is, then follow mirrors, nodes and pods, each kind by one watch. Nothing is polled. A watch that breaks casts
doubt on the worker, as long silence does, and the worker is asked for a sign of life: if it gives one, the watch alone is
at fault and mends itself; if not, the session ends, and the next begins after a growing, jittered pause.

Caches outlive sessions, so what was seen stays readable while a worker is away, and a short loss costs no new listing. They
begin anew if the server turns out to be another cluster than before.
"""

from __future__ import annotations

import asyncio
import logging
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
from jobrelay.relay.model import State, WorkerFacts
from jobrelay.relay.names import ORIGIN
from jobrelay.relay.placement.capacity import CapacityTracker
from jobrelay.relay.workers.capacity import CapacityFeed
from jobrelay.relay.workers.guard import Guard
from jobrelay.relay.workers.mirrors import Mirrors
from jobrelay.relay.workers.pulse import Pulse
from jobrelay.relay.workers.reach import Connect, identity, over_network, same_server
from jobrelay.relay.workers.reasons import AnotherCluster, SameCluster, describe
from jobrelay.relay.workers.signal import Signal
from jobrelay.relay.workers.spec import Refused, Way, WorkerSpec
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import PATIENT, Timing

__all__ = ["Loss", "WorkerLink"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loss:
    """A time without contact; `until` None while it lasts."""

    since: datetime
    reason: str
    until: datetime | None = None


class WorkerLink:
    """The relay's end of the line to one worker.

    `home` is the identity of the management cluster, `loss` what is known of a loss from before this process. `claim` is
    asked with each identity that is found, and returns the name of the worker that the cluster belongs to already.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        *,
        resources: Sequence[Resource],
        pod_owner: Callable[[Object], str],
        origin: str,
        clock: Clock,
        connect: Connect = over_network,
        random: Random | None = None,
        home: str = "",
        claim: Callable[[str, str], str] = lambda name, identity: name,
        loss: Loss | None = None,
        timing: Timing = PATIENT,
    ) -> None:
        random = random or Random()
        self.spec, self.name = spec, spec.name
        self.connected = False
        self.lost_since = loss.since if loss is not None else None
        self.reason = loss.reason if loss is not None else "it has not been reached yet"
        self.last_loss: Loss | None = None
        self.version: Version | None = None
        self.is_self = False
        self.attempts = 0
        self.next_retry: datetime | None = None
        self._clock, self._connect, self._home, self._timing = clock, connect, home, timing
        self._claim = claim
        self._changed: Signal[[]] = Signal()
        self._guard = Guard(clock)
        self._pulse = Pulse(self._guard, self._recognise, clock=clock, timing=timing)
        self.client = Client(self._guard, clock=clock, timeout=15.0, retries=2, longest_wait=10.0)
        self._asker = Client(self._guard, clock=clock, timeout=2 * timing.answer, retries=0)
        watcher = Client(self._guard, clock=clock, timeout=15.0, retries=0, page_size=100)
        self.mirrors = Mirrors(
            watcher, resources, f"{ORIGIN}={origin}", self._review, clock=clock, random=random, timing=timing
        )
        self.capacity = CapacityTracker()
        self.namespaces: set[str] = set()
        """Namespaces that are known to be there; the core's to fill."""
        self._feed = CapacityFeed(
            watcher, self.capacity, self._changed, pod_owner=pod_owner, clock=clock, random=random, timing=timing
        )
        self._backoff = Backoff(1.0, timing.longest_pause, random=random)
        self._identity = ""
        self._in_session = False
        self._respecified = asyncio.Event()

    @property
    def labels(self) -> Mapping[str, str]:
        return self.spec.labels

    @property
    def cost(self) -> Fraction:
        return self.spec.cost

    @property
    def weight(self) -> Fraction:
        return self.spec.weight

    @property
    def state(self) -> State:
        return self.spec.state

    @property
    def order(self) -> int:
        return self.spec.order

    @property
    def unavailable(self) -> Mapping[Resource, str]:
        """Kinds that this worker does not have or does not let us see, and why."""
        return self.mirrors.unavailable

    @property
    def settled(self) -> bool:
        """Whether the first try is over, well or not."""
        return self.connected or self.attempts > 0

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called whenever something that this link tells has changed; returns how to end that."""
        return self._changed.subscribe(callback)

    def facts(
        self, live: int = 0, reserved: Mapping[str, Fraction] | None = None, stale: int = 0, backlog: int = 0
    ) -> WorkerFacts:
        """This worker at this moment, together with what the caller counted."""
        return WorkerFacts(
            name=self.name,
            connected=self.connected,
            lost_since=self.lost_since,
            reason=self.reason,
            state=self.state,
            labels=self.labels,
            cost=self.cost,
            weight=self.weight,
            capacity=self.capacity.snapshot(),
            live=live,
            reserved=reserved or {},
            pending=self.capacity.pending(self.mirrors.uids),
            backlog=backlog,
            stale=stale,
            namespaces=self.spec.namespaces,
        )

    def respecify(self, spec: WorkerSpec) -> None:
        """Take over what an operator changed; new credentials are used at once, but open watches are not let go."""
        before, self.spec = self.spec, spec
        if (spec.access, spec.namespaces) != (before.access, before.namespaces):
            self._respecified.set()
        if spec != before:
            self._changed()

    def doubt(self) -> None:
        """Have the worker asked whether it is there, and who it is."""
        self._pulse.doubt()

    async def run(self) -> None:
        """Keep up the connection until cancelled."""
        try:
            while True:
                try:
                    await self._session()
                except KubeError as error:
                    self._fail(describe(error))
                except Exception as error:  # the task's boundary: no worker can end it
                    log.exception("worker %s: unexpected failure", self.name)
                    self._fail(describe(error))
                await self._pause()
        finally:
            await self._guard.close()

    async def _session(self) -> None:
        """One stretch of contact; returns or raises when it is over."""
        self._respecified.clear()
        access = self.spec.access
        if isinstance(access, Refused):
            await self._guard.close()
            self._fail(access.message)
            await self._respecified.wait()
            return
        await self._guard.lead(self._connect(access.connection))
        await self._identify()
        self._in_session = True
        await until_first(
            self.mirrors.run(self.spec.namespaces, access.connection.namespace),
            self._feed.run(),
            self._pulse.run(),
            self._synced_in_time(),
            self._heed(access, self.spec.namespaces),
        )

    async def _identify(self) -> None:
        try:
            self.version = await server_version(self._asker)
        except (Forbidden, NotFound):
            self.version = Version()
        found = await self._found()
        if self._identity and found and found != self._identity:
            self._fail(describe(AnotherCluster("what was known of it is forgotten")))
            self.mirrors.start_over()
            self._feed.start_over()
            self.namespaces.clear()
        self._identity = found or self._identity
        self.is_self = bool(found) and found == self._home

    async def _found(self) -> str:
        """The identity of the server, if it is not another worker's."""
        found = await identity(self._asker)
        owner = self._claim(self.name, found) if found else self.name
        if owner != self.name:
            raise SameCluster(f"it is the same cluster as worker {owner}")
        return found

    async def _recognise(self) -> None:
        found = await self._found()
        if self._identity and found and found != self._identity:
            raise AnotherCluster("its kube-system namespace has another uid")

    async def _synced_in_time(self) -> None:
        while True:
            await sleep(self._clock, self._timing.sync)
            if not self.connected:
                raise self.mirrors.failure or TransportTimeout(f"its mirrors were not known in {self._timing.sync:g} s")

    async def _heed(self, access: Way, namespaces: tuple[str, ...]) -> None:
        """Follow changes of the way to this worker; returns if a new session has to be begun."""
        while True:
            await self._respecified.wait()
            self._respecified.clear()
            fresh = self.spec.access
            if (
                isinstance(fresh, Refused)
                or self.spec.namespaces != namespaces
                or not same_server(fresh.connection, access.connection)
            ):
                self._respecified.set()
                return
            await self._guard.lead(self._connect(fresh.connection))
            self._pulse.doubt()

    async def _pause(self) -> None:
        """Wait before the next try, but not longer than until the operator changed something."""
        self._in_session = False
        if self._respecified.is_set():
            return
        pause = self._backoff.next()
        self.next_retry = self._clock.now() + timedelta(seconds=pause)
        self._changed()
        try:
            async with deadline(self._clock, pause):
                await self._respecified.wait()
        except TimeoutError:
            return

    def _review(self) -> None:
        """See what the state of the watches means."""
        if not self._in_session:
            return
        failure = self.mirrors.failure
        if self.mirrors.current:
            self._reached()
        elif failure is not None:
            self._pulse.doubt()
            self._fail(describe(failure))

    def _reached(self) -> None:
        if self.connected:
            return
        if self.lost_since is not None:
            self.last_loss = Loss(self.lost_since, self.reason, self._clock.now())
        log.info("worker %s: connected (%s)", self.name, self.version.git_version if self.version else "")
        self.connected, self.lost_since, self.reason = True, None, ""
        self.attempts, self.next_retry = 0, None
        self._backoff.reset()
        self._changed()

    def _fail(self, reason: str) -> None:
        if self.connected or self.reason != reason:
            log.info("worker %s: %s", self.name, reason)
        self.attempts += 1
        self.connected, self.reason = False, reason
        self.lost_since = self.lost_since or self._clock.now()
        self._changed()
