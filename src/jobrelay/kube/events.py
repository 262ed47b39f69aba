"""Telling people what happened, as `events.k8s.io/v1` Events.

`EventRecorder.event` only notes what to say and returns; it never waits and never raises, because nothing that matters
may fail for want of a message about it. A background task (`run`) does the writing.

The same message about the same object again is not another Event but a longer series of the first one: its count grows
in memory and is written at most once per `refresh` period. Different messages about one object draw on a token bucket,
so an object that flaps cannot flood the cluster. What is left unsaid is counted in `dropped`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec

from jobrelay.apimachinery.times import format_micro_time

from .backoff import Backoff
from .client import Client
from .clock import Clock, SystemClock, sleep
from .errors import AlreadyExists, KubeError, NotFound, ProtocolError, StatusError
from .objects import Object
from .patch import merge_patch
from .resource import EVENTS

__all__ = ["EventRecorder", "Reference"]

log = logging.getLogger(__name__)

_SERIES_ENDS_AFTER = 360.0
_LONGEST_NOTE = 1024
_LONGEST_NAME = 253
_TRIES = 6


class Reference(NamedTuple):
    """An object that an Event speaks of."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    field_path: str = ""  # a part of it, such as spec.containers{main}

    @classmethod
    def of(cls, obj: Object) -> Reference:
        """Refer to an object."""
        kind = obj.decode(_TypeMeta)
        return cls(kind.api_version, kind.kind, obj.name, obj.namespace, obj.uid)

    def encode(self) -> dict[str, str]:
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "fieldPath": self.field_path,
        }
        return {name: value for name, value in fields.items() if value}


class _TypeMeta(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


class _Message(NamedTuple):
    """What makes two events the same."""

    regarding: Reference
    type: str
    reason: str
    action: str
    note: str
    related: Reference | None


@dataclass(slots=True)
class _Series:
    message: _Message
    name: str
    first: datetime
    last: datetime
    seen_at: float
    count: int = 1
    written: int = 0
    written_at: float = 0.0
    scheduled: bool = False
    failures: int = 0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class EventRecorder:
    """Records Events in the name of one controller."""

    def __init__(
        self,
        client: Client,
        controller: str,
        instance: str,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        refresh: float = 30.0,
        burst: int = 25,
        refill: float = 300.0,
        capacity: int = 4096,
    ) -> None:
        self.dropped = 0
        self.written = 0
        self._client = client
        self._controller = controller
        self._instance = instance[:128]
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._refresh = refresh
        self._burst = burst
        self._refill = refill
        self._capacity = capacity
        self._series: OrderedDict[_Message, _Series] = OrderedDict()
        self._buckets: OrderedDict[Reference, _Bucket] = OrderedDict()
        self._pending: dict[_Message, _Series] = {}
        self._wake = asyncio.Event()

    def event(
        self,
        regarding: Object | Reference,
        type: Literal["Normal", "Warning"],
        reason: str,
        note: str,
        *,
        action: str = "",
        related: Object | Reference | None = None,
    ) -> None:
        """Note that something happened to `regarding`."""
        try:
            subject, other = _reference(regarding), _reference(related) if related is not None else None
        except ProtocolError as error:
            log.warning("event %s: %s", reason, error)
            return
        message = _Message(subject, type, reason, action or reason, _shorten(note), other)
        known = self._series.get(message)
        if known is not None and self._clock.monotonic() - known.seen_at < _SERIES_ENDS_AFTER:
            self._repeat(known)
        elif self._allowed(subject):
            self._begin(message)
        else:
            self.dropped += 1

    async def run(self) -> None:
        """Write what was noted, until cancelled."""
        backoff = Backoff(random=self._random)
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                series = self._pending.pop(next(iter(self._pending)))
                if await self._write(series):
                    backoff.reset()
                else:
                    self._due(series)
                    await sleep(self._clock, backoff.next())

    def _begin(self, message: _Message) -> None:
        now = self._clock.now()
        suffix = f".{self._random.getrandbits(64):016x}"
        name = message.regarding.name[: _LONGEST_NAME - len(suffix)] + suffix
        series = self._series[message] = _Series(message, name, now, now, self._clock.monotonic())
        self._series.move_to_end(message)
        if len(self._series) > self._capacity:
            oldest, forgotten = self._series.popitem(last=False)
            if self._pending.pop(oldest, None) is not None:
                self.dropped += forgotten.count - forgotten.written
        self._schedule(series)

    def _repeat(self, series: _Series) -> None:
        series.count += 1
        series.last = self._clock.now()
        series.seen_at = self._clock.monotonic()
        self._schedule(series)

    def _schedule(self, series: _Series) -> None:
        """Have a series written: at once if it is new, else when its last writing is `refresh` ago."""
        if series.scheduled:
            return
        series.scheduled = True
        wait = series.written_at + self._refresh - self._clock.monotonic() if series.written else 0
        if wait > 0:
            self._clock.call_later(wait, lambda: self._due(series))
        else:
            self._due(series)

    def _due(self, series: _Series) -> None:
        self._pending[series.message] = series
        self._wake.set()

    async def _write(self, series: _Series) -> bool:
        """Write a series as it is now; False means to try again."""
        count = series.count
        try:
            await self._send(series, count)
        except AlreadyExists:
            log.debug("event %s was written although its reply was lost", series.name)
        except KubeError as error:
            if series.written and isinstance(error, NotFound):
                series.written = 0
                return False
            series.failures += 1
            if series.failures < _TRIES and _may_pass(error):
                return False
            log.info("event %s (%s) is given up: %s", series.name, series.message.reason, error)
            self.dropped += count - series.written
        else:
            self.written += 1
        series.failures = 0
        series.scheduled = False
        series.written, series.written_at = count, self._clock.monotonic()
        if series.count > count:
            self._schedule(series)
        return True

    async def _send(self, series: _Series, count: int) -> None:
        namespace = series.message.regarding.namespace or "default"
        if series.written:
            change = {"series": _series(series, count)}
            await self._client.patch(EVENTS, series.name, merge_patch(change), namespace)
        else:
            await self._client.create(EVENTS, self._body(series, count, namespace), namespace)

    def _body(self, series: _Series, count: int, namespace: str) -> dict[str, Any]:
        message = series.message
        body: dict[str, Any] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": series.name, "namespace": namespace},
            "eventTime": format_micro_time(series.first),
            "type": message.type,
            "reason": message.reason,
            "action": message.action,
            "note": message.note,
            "regarding": message.regarding.encode(),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }
        if message.related is not None:
            body["related"] = message.related.encode()
        if count > 1:
            body["series"] = _series(series, count)
        return body

    def _allowed(self, subject: Reference) -> bool:
        """Take a token of the subject's bucket, if there is one."""
        now = self._clock.monotonic()
        bucket = self._buckets.setdefault(subject, _Bucket(self._burst, now))
        self._buckets.move_to_end(subject)
        if len(self._buckets) > self._capacity:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.filled_at) / self._refill)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _series(series: _Series, count: int) -> dict[str, Any]:
    return {"count": count, "lastObservedTime": format_micro_time(series.last)}


def _reference(subject: Object | Reference) -> Reference:
    return Reference.of(subject) if isinstance(subject, Object) else subject


def _shorten(note: str) -> str:
    """At most as many bytes as the API server takes, not cut inside a character."""
    return note.encode()[:_LONGEST_NOTE].decode("utf-8", "ignore")


def _may_pass(error: KubeError) -> bool:
    return not isinstance(error, StatusError) or error.code == 429 or error.code >= 500
