"""Events as Kubernetes' own controllers write them: `v1` Events, correlated before they are sent.

`Recorder.event` only notes what to say; a background task (`run`) writes, one after the other, and nothing waits for it.
Correlation goes by the rules of client-go, because users read the result: the same message again raises the count of the
first event; from the tenth different message with one reason about one object within ten minutes, they become one event that
begins with "(combined from similar events): "; and an object may cause 25 events of a type, then one in five minutes.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple, TypeVar

import structlog

from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Client, KubeError, NotFound, Reference, StatusError, strategic_patch
from jobrelay.kube.clock import Clock, SystemClock, sleep
from jobrelay.kube.resource import EVENTS_CORE

log = structlog.get_logger(__name__)

_REMEMBERED: Final = 4096
_SIMILAR: Final = 10
_INTERVAL: Final = 600.0
_BURST: Final = 25
_REFILL: Final = 300.0
_TRIES: Final = 12
_PAUSE: Final = 10.0
_COMBINED: Final = "(combined from similar events): "

V = TypeVar("V")


class Said(NamedTuple):
    """One event as it was reported."""

    regarding: Reference
    version: str
    type: str
    reason: str
    message: str
    time: datetime
    stamp: int
    """Nanoseconds that no other event of the recorder has: part of the event's name."""


@dataclass(slots=True)
class _Similar:
    messages: set[str] = field(default_factory=set)
    last: float = 0.0


@dataclass(slots=True)
class _Written:
    name: str
    first: datetime
    count: int


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


@dataclass(frozen=True, slots=True)
class Correlated:
    """What to send: a new event, or with a count above 1 a change of a known one."""

    said: Said
    name: str
    message: str
    first: datetime
    count: int
    combined: bool


class _Recent(Generic[V]):
    """A mapping that forgets what was not used for longest."""

    def __init__(self) -> None:
        self._values: OrderedDict[Any, V] = OrderedDict()

    def get(self, key: Any) -> V | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: Any, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > _REMEMBERED:
            self._values.popitem(last=False)


class Correlator:
    """Decides whether an event is new, a repetition, one of many, or too much."""

    def __init__(self) -> None:
        self._similar: _Recent[_Similar] = _Recent()
        self._written: _Recent[_Written] = _Recent()
        self._buckets: _Recent[_Bucket] = _Recent()

    def correlate(self, said: Said, now: float) -> Correlated | None:
        """What to send, None when the object has said enough."""
        combined = self._is_one_of_many(said, now)
        group = (said.regarding, said.type, said.reason)
        key: Any = group if combined else (*group, said.message)
        known = self._written.get(key)
        if known is None:
            known = _Written(event_name(said.regarding.name, said.stamp), said.time, 0)
        known.count += 1
        self._written.put(key, known)
        if not self._has_room(said, now):
            return None
        message = _COMBINED + said.message if combined else said.message
        return Correlated(said, known.name, message, known.first, known.count, combined)

    def _is_one_of_many(self, said: Said, now: float) -> bool:
        group = (said.regarding, said.type, said.reason)
        similar = self._similar.get(group)
        if similar is None or now - similar.last > _INTERVAL:
            similar = _Similar()
        similar.messages.add(said.message)
        similar.last = now
        self._similar.put(group, similar)
        if len(similar.messages) < _SIMILAR:
            return False
        similar.messages.pop()
        return True

    def _has_room(self, said: Said, now: float) -> bool:
        key = (said.regarding, said.type)
        bucket = self._buckets.get(key) or _Bucket(_BURST, now)
        bucket.tokens = min(_BURST, bucket.tokens + (now - bucket.filled) / _REFILL)
        bucket.filled = now
        self._buckets.put(key, bucket)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def event_name(name: str, stamp: int) -> str:
    made = f"{name}.{stamp:x}"
    return str(uuid.uuid4()) if name_is_dns_subdomain(made, False) else made


class Recorder:
    """Records events in the name of one component."""

    def __init__(self, client: Client, component: str, *, clock: Clock | None = None) -> None:
        self.name = f"{component} events"
        self._client, self._component = client, component
        self._clock = clock or SystemClock()
        self._correlator = Correlator()
        self._waiting: deque[Said] = deque()
        self._wake = asyncio.Event()
        self._stamp = 0

    def event(self, regarding: Reference, type: str, reason: str, message: str, *, version: str = "") -> None:
        """Note that something happened; `version` is the resourceVersion of the object it happened to."""
        now = self._clock.now()
        self._stamp = max(self._stamp + 1, int(now.timestamp() * 1_000_000) * 1000)
        self._waiting.append(Said(regarding, version, type, reason, message, now, self._stamp))
        self._wake.set()

    async def run(self) -> None:
        """Write what was noted, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                said = self._waiting.popleft()
                event = self._correlator.correlate(said, self._clock.monotonic())
                if event is not None:
                    await self._write(event)

    async def _write(self, event: Correlated) -> None:
        for _ in range(_TRIES):
            try:
                await self._send(event)
                return
            except StatusError as error:
                log.debug("event refused", reason=event.said.reason, error=str(error))
                return
            except KubeError as error:
                log.warning("event not written yet", reason=event.said.reason, error=str(error))
                await sleep(self._clock, _PAUSE)

    async def _send(self, event: Correlated) -> None:
        namespace = event.said.regarding.namespace or "default"
        if event.count > 1:
            change = {"count": event.count, "lastTimestamp": format_time(event.said.time), "message": event.message}
            try:
                await self._client.patch(EVENTS_CORE, event.name, strategic_patch(change), namespace)
                return
            except NotFound:
                log.debug("event is gone and written anew", name=event.name)
        await self._client.create(EVENTS_CORE, self._body(event, namespace), namespace)

    def _body(self, event: Correlated, namespace: str) -> dict[str, Any]:
        said = event.said
        involved = said.regarding.encode() | ({"resourceVersion": said.version} if said.version else {})
        body = {
            "kind": EVENTS_CORE.kind,
            "apiVersion": EVENTS_CORE.api_version,
            "metadata": {"name": event.name, "namespace": namespace},
            "involvedObject": involved,
            "reason": said.reason,
            "message": event.message,
            "source": {"component": self._component},
            "firstTimestamp": format_time(event.first),
            "lastTimestamp": format_time(said.time),
            "count": event.count,
            "type": said.type,
        }
        return body if event.combined else body | {"reportingComponent": self._component}
