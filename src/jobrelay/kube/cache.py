"""A local copy of the objects of one kind, kept current by a watch: an informer.

One task per cache keeps one watch open. The initial state comes over the watch itself (`sendInitialEvents`, ended by a
bookmark), so that a large collection is never in memory twice. A server that refuses this with 400 or 422 is listed
instead, from then on. The cache remembers the last resourceVersion of events and bookmarks, and each new watch
continues there. When the server no longer knows that version (410), the whole state is read again and handlers get only
the differences: a deletion for what has vanished, nothing for what has not changed.

A server that was restored from a backup does not have that version yet. It accepts a watch from there all the same, and
sends nothing until its own versions have got as far. So after every watch that did not end by itself, one object is
listed first: if the server's newest version is older than one that was seen, its versions began again, and everything
that is held is replaced by what the server has. If it is not, it may have got as far on another way, which no answer
tells. So the whole state is read again within a minute, but not more often than every five minutes. The same is done
after versions began again, since replies to writes from before may have come late.

Versions grow with each event of a watch, so an event that is not newer than the last one is a repetition and is
dropped. A controller may pass the reply to its own write to `observe`. It then reads its own write from the cache, and
older versions of that object from the watch or a list are dropped.

Servers end watches every few minutes, which is not a failure. Failures are errors, a watch that stays open far beyond
the requested timeout (its connection is dead), and a watch that ends at once without an event. Each is followed by a
pause that grows until a watch has delivered something or has lasted.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Unpack

from jobrelay.logs import get_logger

from .backoff import Backoff
from .client import Client
from .clock import Clock, SystemClock, deadline, idle_deadline, sleep
from .errors import BadRequest, Expired, Invalid, KubeError, ProtocolError, StatusError, TransportTimeout
from .object_budget import BudgetExceeded, ObjectBudget, StateBudget
from .object_index import ObjectIndex, is_newer, is_older
from .objects import Key, Object, decode_list
from .query import Selectors
from .resource import Resource
from .watch import EventType, WatchEvent

__all__ = ["Cache"]

log = get_logger(__name__)

_GRACE = 30.0
_SHORT_WATCH = 1.0
_MAX_SHORT_WATCHES = 3
_STABLE_AFTER = 10.0
_MAX_RETRY_AFTER = 60.0
_REREAD_AFTER, _REREAD_WITHIN, _REREAD_INTERVAL = 20.0, 60.0, 300.0
_SHORTEST = 5


class Cache(ObjectIndex):
    """The objects of one resource, optionally of one namespace or filtered by selectors.

    `run()` fills the cache and keeps it current until cancelled; `synced` is set once the initial state is complete.
    Reading (`get`, iteration, `by_index`) and `subscribe` come from `ObjectIndex`.

    - `transform` reduces each object to what is worth keeping. It must not change name, namespace, uid and
      resourceVersion.
    - `idle_timeout` is how long a watch may deliver nothing before it is opened again. Servers send a bookmark about
      every minute.
    - `terminal` lists the errors that end `run()` with an exception instead of a retry. `run()` may be called again.
    - `budget` bounds what is held. Beyond it the cache is not connected, and reads the whole state again after a pause.
    - `on_connection_change` is called when `connected` or `last_error` has changed.
    - `lists` and `watches` count how often the whole state was read and a watch was opened.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        namespace: str | None = None,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        backoff: Backoff | None = None,
        watch_timeout: int = 300,
        transform: Callable[[Object], Object] | None = None,
        idle_timeout: float | None = None,
        terminal: tuple[type[KubeError], ...] = (),
        on_connection_change: Callable[[], None] | None = None,
        budget: ObjectBudget | None = None,
        **selectors: Unpack[Selectors],
    ) -> None:
        super().__init__()
        self.resource = resource
        self.synced = asyncio.Event()
        self.last_error: KubeError | None = None
        self.disconnected_since: float | None = None
        self.lists = 0
        self.watches = 0
        self._client = client
        self.namespace = namespace
        self._selectors = selectors
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._backoff = backoff or Backoff(random=self._random)
        self._watch_timeout = watch_timeout
        self._transform = transform or (lambda obj: obj)
        self._terminal = terminal
        self._idle_timeout = idle_timeout
        self._last_event_at = 0.0
        self._on_connection_change = on_connection_change or (lambda: None)
        self._watch_list = True
        self._version = ""
        self._rewound = False
        self._interrupted = False
        """Whether the last watch was cut off, so that the server may be another one by now, or an older state of it."""
        self._read_at = -math.inf
        self._reread_at = math.inf
        """When to read the whole state again, since the server may have been restored from a backup."""
        self._progress = 0
        self._short = 0
        self._budget = budget
        if budget is not None:
            self.subscribe(budget.count)

    @property
    def resource_version(self) -> str:
        """The resourceVersion up to which all changes have been seen."""
        return self._version

    @property
    def connected(self) -> bool:
        """Whether the cache is synced and its last request did not fail."""
        return self.synced.is_set() and self.disconnected_since is None

    async def wait_synced(self) -> None:
        """Return once the initial state is complete."""
        await self.synced.wait()

    def observe(self, obj: Object) -> None:
        """Take over the reply to an own write, unless the watch has already delivered a newer state.

        What the budget has no room for is left to the watch, which fails by it.
        """
        held = self.get(obj.key)
        if is_newer(obj.resource_version, self._version) and not _is_outdated(obj, held):
            kept = self._transform(obj)
            if self._budget is None or self._budget.has_room(kept, held):
                self.put(kept)

    def start_over(self) -> None:
        """Make the next `run` read the whole state and accept it, whatever versions were seen before.

        For a server whose versions began again (it was restored from a backup, or is another one at the same address),
        and after `namespace` was changed. Only to be called while `run` is not running.
        """
        self._version = ""
        self._rewound = True
        self.synced.clear()

    async def run(self) -> None:
        """Fill the cache and keep it current, until cancelled."""
        while True:
            started, progress = self._clock.monotonic(), self._progress
            try:
                await self._watch_once()
                self._check_duration(self._clock.monotonic() - started, self._progress > progress)
            except KubeError as error:
                if self._progress > progress or self._clock.monotonic() - started > _STABLE_AFTER:
                    self._backoff.reset()
                await self._recover(error)
            except asyncio.CancelledError:
                self._interrupted = True
                self._mark_disconnected()
                raise

    def _check_duration(self, lasted: float, progress: bool) -> None:
        """Raise if the server ends watches as soon as they begin, so that they are retried with a pause."""
        self._short = self._short + 1 if lasted < _SHORT_WATCH else 0
        if self._short and not progress:
            raise ProtocolError("the watch ended at once without an event")
        if self._short > _MAX_SHORT_WATCHES:
            raise ProtocolError("watches end as soon as they begin")

    async def _recover(self, error: KubeError) -> None:
        """Record a failure, drop what it shows to be invalid, and pause."""
        if isinstance(error, BadRequest | Invalid) and self._watch_list and not self._version:
            log.debug("server does not send initial events, listing instead", resource=str(self.resource))
            self._watch_list = False
            return
        self._interrupted = True
        if isinstance(error, Expired | BudgetExceeded):
            self._version = ""
        self.last_error = error
        self._mark_disconnected()
        self._on_connection_change()
        if isinstance(error, self._terminal):
            raise error
        pause = max(self._backoff.next(), _retry_after(error))
        log.info("watch failed", resource=str(self.resource), retry_in=pause, error=str(error))
        await sleep(self._clock, pause)

    def _mark_disconnected(self) -> None:
        if self.disconnected_since is None:
            self.disconnected_since = self._clock.monotonic()

    async def _watch_once(self) -> None:
        """Open one watch and apply its events until it ends."""
        await self._check_version()
        if not self._version and not self._watch_list:
            await self._list()
        initial = not self._version
        seconds = self._watch_seconds()
        watch = self._client.watch(
            self.resource,
            self.namespace,
            resource_version=self._version,
            send_initial_events=initial,
            timeout_seconds=seconds,
            **self._selectors,
        )
        try:
            async with deadline(self._clock, seconds + _GRACE), watch as events:
                self.watches += 1
                if initial:
                    await self._read_initial_events(events)
                self._mark_connected()
                await self._apply_events(events)
        except TimeoutError as error:
            raise TransportTimeout(f"the watch of {self.resource} neither ended nor failed in time") from error

    def _watch_seconds(self) -> int:
        """How long the next watch is to last: not beyond the time when the state is read again."""
        seconds = self._random.randint(self._watch_timeout, 2 * self._watch_timeout)
        left = self._reread_at - self._clock.monotonic()
        return seconds if left > seconds else max(math.ceil(left), _SHORTEST)

    async def _check_version(self) -> None:
        """After an interruption: find out whether the server still has the version at which the watch continues."""
        due = self._clock.monotonic() >= self._reread_at
        if self._version and (self._interrupted or due):
            page = await self._client.call("GET", self.resource.path(self.namespace), {"limit": 1})
            newest = decode_list(page, self.resource).resource_version
            if is_older(newest, self._version) or any(is_older(newest, obj.resource_version) for obj in self):
                log.warning("versions began again", resource=str(self.resource), seen=self._version, newest=newest)
                self._version = ""
                self._rewound = True
            elif due:
                self._version = ""
            else:
                self._reread_at = min(self._reread_at, max(self._soon(), self._read_at + _REREAD_INTERVAL))
        self._interrupted = False

    def _soon(self) -> float:
        """When every request that was under way has been answered or given up, and not for all caches at once."""
        return self._clock.monotonic() + self._random.uniform(_REREAD_AFTER, _REREAD_WITHIN)

    async def _apply_events(self, events: AsyncIterator[WatchEvent]) -> None:
        """Apply events until the watch ends or has been idle for too long, when its connection may be dead."""
        self._last_event_at = self._clock.monotonic()
        try:
            async with idle_deadline(self._clock, self._idle_timeout, lambda: self._last_event_at):
                async for event in events:
                    self._last_event_at = self._clock.monotonic()
                    self._apply(event)
        except TimeoutError:
            self._interrupted = True

    async def _list(self) -> None:
        fresh: list[Object] = []
        state, version = self._state_budget(), ""
        async for page in self._client.pages(self.resource, self.namespace, **self._selectors):
            version = page.resource_version
            for obj in map(self._transform, page.items):
                if state is not None:
                    state.admit(obj)
                fresh.append(obj)
        self._replace_state(tuple(fresh), version)

    def _state_budget(self) -> StateBudget | None:
        return self._budget.reading() if self._budget is not None else None

    async def _read_initial_events(self, events: AsyncIterator[WatchEvent]) -> None:
        """Collect the initial state, up to the bookmark that ends it."""
        fresh: dict[Key, Object] = {}
        state = self._state_budget()
        async for event in events:
            if event.ends_initial_events:
                self._replace_state(tuple(fresh.values()), event.object.resource_version)
                return
            if event.type is EventType.DELETED:
                fresh.pop(event.object.key, None)
            elif event.type is not EventType.BOOKMARK:
                obj = fresh[event.object.key] = self._transform(event.object)
                if state is not None:
                    state.admit(obj)
        self._watch_list = False
        raise ProtocolError("the watch ended before its initial events did")

    def _replace_state(self, objects: tuple[Object, ...], version: str) -> None:
        if not version:
            raise ProtocolError(f"the state of {self.resource} came without a resourceVersion")
        forget = self._rewound or self._contradicts(objects, version)
        ahead = {} if forget else {obj.key: obj for obj in self if is_older(version, obj.resource_version)}
        state = (*(obj for obj in objects if obj.key not in ahead), *ahead.values())
        if self._budget is not None:
            self._budget.admit_state(state, list(self))
        self.lists += 1
        self._progress += 1
        self._version = version
        self._read_at, self._reread_at = self._clock.monotonic(), math.inf
        if forget:
            self._rewound = False
            self._reread_at = self._soon()
            self.replace(())
        self.replace(state)
        if not self.synced.is_set():
            self.synced.set()
            self._on_connection_change()

    def _contradicts(self, objects: tuple[Object, ...], version: str) -> bool:
        """Whether a state that claims to be newer than what is held has an older version of it."""
        return any(
            (held := self.get(obj.key)) is not None
            and is_older(obj.resource_version, held.resource_version)
            and not is_older(version, held.resource_version)
            for obj in objects
        )

    def _apply(self, event: WatchEvent) -> None:
        obj, version = event.object, event.object.metadata.resource_version
        if not version:
            raise ProtocolError(f"an event of {self.resource} came without a resourceVersion")
        if self.disconnected_since is not None:
            self._mark_connected()
        if not is_newer(version, self._version):
            return
        self._progress += 1
        self._version = version
        held = self._objects.get(obj.key)
        if event.type is EventType.BOOKMARK or (held is not None and is_older(version, held.metadata.resource_version)):
            return
        if event.type is EventType.DELETED:
            self.discard(obj.key, self._transform(obj))
        elif held is None or not _is_same(obj, held):
            kept = self._transform(obj)
            if self._budget is not None:
                self._budget.admit(kept, held)
            self.put(kept)

    def _mark_connected(self) -> None:
        """Note that the server has answered."""
        if self.disconnected_since is not None:
            self.disconnected_since = None
            self.last_error = None
            self._on_connection_change()


def _is_same(obj: Object, held: Object) -> bool:
    """Whether this version is already held, from `observe`."""
    one, other = obj.metadata, held.metadata
    return one.resource_version == other.resource_version and one.uid == other.uid


def _is_outdated(obj: Object, held: Object | None) -> bool:
    return held is not None and is_older(obj.resource_version, held.resource_version)


def _retry_after(error: KubeError) -> float:
    """How long the server asks to wait, within bounds."""
    return min(error.retry_after or 0.0, _MAX_RETRY_AFTER) if isinstance(error, StatusError) else 0.0
