"""Deciding whether an event becomes a new Event, changes a known one, or is dropped; by client-go's rules.

A repetition raises the count of the first Event. Where `combine_from` is set, that many different notes with one reason
about one object within ten minutes become one Event, which begins with "(combined from similar events): ". Each object
has a token bucket for each type of event, so that an object that flaps cannot flood the cluster.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from random import Random
from typing import Final, Generic, TypeVar

from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kube.clock import Clock
from jobrelay.kube.ratelimit import TokenBucket

from .messages import EventMessage

__all__ = ["CAPACITY", "CorrelationRules", "EventCorrelator", "EventSeries"]

CAPACITY: Final = 4096
_COMBINE_WITHIN: Final = 600.0
_COMBINED: Final = "(combined from similar events): "

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CorrelationRules:
    """How an API for Events treats repetitions."""

    refresh: float = 0.0
    """A series is written at most this often; 0 writes each repetition, which then costs a token."""
    series_timeout: float = inf
    """A repetition after this many seconds of silence is a new Event."""
    combine_from: int = 0
    """How many similar Events there may be before they are combined; 0 never combines."""


@dataclass(slots=True)
class EventSeries:
    """One Event of the cluster, how often it has happened, and what of that is written."""

    name: str
    message: EventMessage
    combined: bool
    first: datetime
    last: datetime
    seen_at: float
    count: int = 0
    written: int = 0
    written_at: float = 0.0
    scheduled: bool = False
    failures: int = 0

    @property
    def note(self) -> str:
        return _COMBINED + self.message.note if self.combined else self.message.note

    @property
    def namespace(self) -> str:
        """Events about cluster-scoped objects are in the namespace default."""
        return self.message.regarding.namespace or "default"


@dataclass(slots=True)
class _Similar:
    notes: set[str] = field(default_factory=set)
    last: float = 0.0


class _RecentlyUsed(OrderedDict[Hashable, V], Generic[V]):
    """A dict that keeps the keys that were set last."""

    def __setitem__(self, key: Hashable, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > CAPACITY:
            self.popitem(last=False)


class EventCorrelator:
    """Finds the series of each event; it owns the series."""

    def __init__(self, rules: CorrelationRules, clock: Clock, random: Random, burst: int, refill: float) -> None:
        self._rules, self._clock, self._random = rules, clock, random
        self._burst, self._rate = burst, 1 / refill
        self._similar: _RecentlyUsed[_Similar] = _RecentlyUsed()
        self._series: _RecentlyUsed[EventSeries] = _RecentlyUsed()
        self._buckets: _RecentlyUsed[TokenBucket] = _RecentlyUsed()
        self._stamp = 0

    def correlate(self, message: EventMessage) -> EventSeries | None:
        """The series that is to be written because of this event, None if the object has caused too many."""
        now = self._clock.monotonic()
        series = self._count(message, self._combines(message, now), now)
        limited = self._rules.refresh > 0 and (series.scheduled or series.written > 0)
        return series if limited or self._bucket(message, now).take(now) else None

    def _count(self, message: EventMessage, combined: bool, now: float) -> EventSeries:
        key = message.group if combined else message.identity
        series, time = self._series.get(key), self._clock.now()
        if series is None or now - series.seen_at >= self._rules.series_timeout:
            series = EventSeries(self._name(message, time), message, combined, time, time, now)
        series.count += 1
        series.message, series.last, series.seen_at = message, time, now
        self._series[key] = series
        return series

    def _combines(self, message: EventMessage, now: float) -> bool:
        if not self._rules.combine_from:
            return False
        similar = self._similar.get(message.group)
        if similar is None or now - similar.last > _COMBINE_WITHIN:
            similar = _Similar()
        similar.notes.add(message.note)
        similar.last = now
        self._similar[message.group] = similar
        if len(similar.notes) < self._rules.combine_from:
            return False
        similar.notes.pop()
        return True

    def _bucket(self, message: EventMessage, now: float) -> TokenBucket:
        key = (message.regarding, message.type)
        bucket = self._buckets.get(key) or TokenBucket(self._rate, self._burst, now)
        self._buckets[key] = bucket
        return bucket

    def _name(self, message: EventMessage, time: datetime) -> str:
        """The object's name and a time, so that a list of Events about an object is in the order of time."""
        nanoseconds = int(time.timestamp() * 1_000_000) * 1000 + self._random.randrange(1000)
        self._stamp = max(self._stamp + 1, nanoseconds)
        name = f"{message.regarding.name}.{self._stamp:x}"
        return name if not name_is_dns_subdomain(name, False) else str(uuid.UUID(int=self._random.getrandbits(128)))
