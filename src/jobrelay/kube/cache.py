"""A live copy of one kind of object: what Kubernetes calls an informer.

One task per cache keeps one watch open. The first state comes over the watch itself (`sendInitialEvents`, closed by a
bookmark) so that a large collection is never held twice; a server that refuses this with 400 or 422 is listed instead,
from then on. After that the cache remembers the last resourceVersion it saw, from events and bookmarks, and every new
watch continues there. When the server no longer knows that version (410) the state is read afresh and only the
differences are told: what vanished meanwhile appears as a deletion, what did not change appears not at all.

Versions grow with every event of a watch, so an event that is not newer than the last one is a repeat and is dropped.
A controller that wrote an object may show the cache the reply (`observe`) and reads its own write from then on: what
the watch or a fresh state still tells of the time before is dropped, object by object.

Servers end watches every few minutes; that is no failure. A failure is an error, a stream that stays open long past
the time we asked for (its connection is dead), or one that ends at once and empty; each is followed by a jittered,
pause that grows until a watch has brought something or lasted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from random import Random

import structlog

from .backoff import Backoff
from .client import Client
from .clock import Clock, SystemClock, deadline, idle_deadline, sleep
from .errors import BadRequest, Expired, Invalid, KubeError, ProtocolError, StatusError, TransportTimeout
from .object_index import ObjectIndex, is_newer, is_older
from .objects import Key, Object
from .resource import Resource
from .watch import EventType, WatchEvent

__all__ = ["Cache"]

log = structlog.get_logger(__name__)

_GRACE = 30.0
_TOO_SHORT = 1.0
_SHORT_IN_A_ROW = 3
_PROVEN = 10.0
_LONGEST_PATIENCE = 60.0


class Cache(ObjectIndex):
    """Holds the objects of one resource, optionally of one namespace or behind selectors, and keeps them current.

    `run()` does the work until cancelled. Until `synced` is set the cache is still filling up. `keep` makes of each
    object what is worth holding; it must leave the metadata's name, namespace, uid and resourceVersion as they are.
    `silence` is how long a watch may be quiet before it is opened anew: servers send a bookmark about every minute.
    `final` names the failures that end `run()` by an exception instead of another try; it may then be called again.
    `on_contact` is called when `connected` or `last_error` have changed.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        clock: Clock | None = None,
        random: Random | None = None,
        backoff: Backoff | None = None,
        watch_timeout: int = 300,
        transform: Callable[[Object], Object] | None = None,
        idle_timeout: float | None = None,
        terminal: tuple[type[KubeError], ...] = (),
        on_connection_change: Callable[[], None] | None = None,
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
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._backoff = backoff or Backoff(random=self._random)
        self._watch_timeout = watch_timeout
        self._transform = transform or _unchanged
        self._terminal = terminal
        self._idle_timeout = idle_timeout
        self._heard_at = 0.0
        self._on_connection_change = on_connection_change or _ignore
        self._watch_list = True
        self._version = ""
        self._rewound = False
        self._progress = 0
        self._short = 0

    @property
    def resource_version(self) -> str:
        """The version up to which everything has been seen."""
        return self._version

    @property
    def connected(self) -> bool:
        """Whether the last contact with the server went well."""
        return self.synced.is_set() and self.disconnected_since is None

    async def wait_synced(self) -> None:
        """Return once the first state is complete."""
        await self.synced.wait()

    def observe(self, obj: Object) -> None:
        """Take over the reply to an own write, unless the watch has already shown what came of it."""
        if is_newer(obj.resource_version, self._version) and not self._is_outdated(obj):
            self.put(self._transform(obj))

    def start_over(self) -> None:
        """Read the state afresh with the next watch and believe it, whatever versions were seen before.

        For a server whose versions begin again (it was restored, or is another one under the same address), and after
        `namespace` was changed. To be called while `run` is not.
        """
        self._version = ""
        self._rewound = True
        self.synced.clear()

    async def run(self) -> None:
        """Fill the cache and keep it current, until cancelled."""
        while True:
            started, progress = self._clock.monotonic(), self._progress
            try:
                await self._follow()
                self._judge(self._clock.monotonic() - started, self._progress > progress)
            except KubeError as error:
                if self._progress > progress or self._clock.monotonic() - started > _PROVEN:
                    self._backoff.reset()
                await self._recover(error)
            except asyncio.CancelledError:
                self._leave()
                raise

    def _judge(self, lasted: float, progress: bool) -> None:
        """Whether a watch that the server ended was one: some end as soon as they begin, and must not be hurried after."""
        self._short = self._short + 1 if lasted < _TOO_SHORT else 0
        if self._short and not progress:
            raise ProtocolError("the watch ended at once without an event")
        if self._short > _SHORT_IN_A_ROW:
            raise ProtocolError("watches end as soon as they begin")

    async def _recover(self, error: KubeError) -> None:
        """Note a failure, forget what it proves wrong, and pause."""
        if isinstance(error, BadRequest | Invalid) and self._watch_list and not self._version:
            log.debug("server does not send initial events, listing instead", resource=str(self.resource))
            self._watch_list = False
            return
        if isinstance(error, Expired):
            self._version = ""
        self.last_error = error
        self._leave()
        self._on_connection_change()
        if isinstance(error, self._terminal):
            raise error
        pause = max(self._backoff.next(), _asked_for(error))
        log.info("watch failed", resource=str(self.resource), retry_in=pause, error=str(error))
        await sleep(self._clock, pause)

    def _leave(self) -> None:
        if self.disconnected_since is None:
            self.disconnected_since = self._clock.monotonic()

    async def _follow(self) -> None:
        """Open one watch and follow it to its end."""
        if not self._version and not self._watch_list:
            await self._list()
        initial = not self._version
        seconds = self._random.randint(self._watch_timeout, 2 * self._watch_timeout)
        watch = self._client.watch(
            self.resource,
            self.namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=self._version,
            send_initial_events=initial,
            timeout_seconds=seconds,
        )
        try:
            async with deadline(self._clock, seconds + _GRACE), watch as events:
                self.watches += 1
                if initial:
                    await self._take_initial(events)
                self._reached()
                await self._take(events)
        except TimeoutError as error:
            raise TransportTimeout(f"the watch of {self.resource} neither ended nor failed in time") from error

    async def _take(self, events: AsyncIterator[WatchEvent]) -> None:
        """Apply events until the watch ends, or is so quiet that its connection may be dead."""
        self._heard_at = self._clock.monotonic()
        with suppress(TimeoutError):
            async with idle_deadline(self._clock, self._idle_timeout, lambda: self._heard_at):
                async for event in events:
                    self._heard_at = self._clock.monotonic()
                    self._apply(event)

    async def _list(self) -> None:
        state = await self._client.list(
            self.resource,
            self.namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        self._reset(tuple(map(self._transform, state.items)), state.resource_version)

    async def _take_initial(self, events: AsyncIterator[WatchEvent]) -> None:
        """Collect everything that exists, up to the bookmark that says so."""
        fresh: dict[Key, Object] = {}
        async for event in events:
            if event.ends_initial_events:
                self._reset(tuple(fresh.values()), event.object.resource_version)
                return
            if event.type is EventType.DELETED:
                fresh.pop(event.object.key, None)
            elif event.type is not EventType.BOOKMARK:
                fresh[event.object.key] = self._transform(event.object)
        self._watch_list = False
        raise ProtocolError("the watch ended before its initial events did")

    def _reset(self, objects: tuple[Object, ...], version: str) -> None:
        if not version:
            raise ProtocolError(f"the state of {self.resource} came without a resourceVersion")
        self.lists += 1
        self._progress += 1
        self._version = version
        if self._rewound:
            self._rewound = False
            self.replace(())
        ahead = {obj.key: obj for obj in self if is_older(version, obj.resource_version)}
        self.replace((*(obj for obj in objects if obj.key not in ahead), *ahead.values()))
        if not self.synced.is_set():
            self.synced.set()
            self._on_connection_change()

    def _apply(self, event: WatchEvent) -> None:
        obj = event.object
        if not obj.resource_version:
            raise ProtocolError(f"an event of {self.resource} came without a resourceVersion")
        self._reached()
        if not is_newer(obj.resource_version, self._version):
            return
        self._progress += 1
        self._version = obj.resource_version
        if event.type is EventType.BOOKMARK or self._is_outdated(obj):
            return
        if event.type is EventType.DELETED:
            self.discard(obj.key, self._transform(obj))
        elif not self._is_held(obj):
            self.put(self._transform(obj))

    def _is_held(self, obj: Object) -> bool:
        """Whether this very version was observed when it was written."""
        held = self.get(obj.key)
        return held is not None and held.uid == obj.uid and held.resource_version == obj.resource_version

    def _is_outdated(self, obj: Object) -> bool:
        held = self.get(obj.key)
        return held is not None and is_older(obj.resource_version, held.resource_version)

    def _reached(self) -> None:
        """The server is there and answers."""
        if self.disconnected_since is not None:
            self.disconnected_since = None
            self.last_error = None
            self._on_connection_change()


def _asked_for(error: KubeError) -> float:
    """How long the server wants to be left alone."""
    return min(error.retry_after or 0.0, _LONGEST_PATIENCE) if isinstance(error, StatusError) else 0.0


def _ignore() -> None:
    pass


def _unchanged(obj: Object) -> Object:
    return obj
