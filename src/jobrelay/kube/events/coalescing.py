"""Fewer Events under load: what waits about one object is joined into one Event."""

from __future__ import annotations

from collections.abc import Callable

from jobrelay.kube.clock import Clock, Timer
from jobrelay.kube.ratelimit import TokenBucket

from .messages import EventMessage, ObjectReference

__all__ = ["EventCoalescer"]


class EventCoalescer:
    """Passes messages on at up to `rate` a second, and at once while less happens.

    Messages above the rate wait. Those about one object are then passed on as one, with the last reason and all notes:
    a workload that was placed, started and finished within a busy second costs one write.
    """

    def __init__(self, emit: Callable[[EventMessage], None], clock: Clock, rate: float, burst: float) -> None:
        self._emit, self._clock = emit, clock
        self._bucket = TokenBucket(rate, burst)
        self._waiting: dict[ObjectReference, list[EventMessage]] = {}
        self._timer: Timer | None = None

    def add(self, message: EventMessage) -> None:
        """Pass a message on, now or when the rate allows it."""
        self._waiting.setdefault(message.regarding, []).append(message)
        if self._timer is not None:
            return  # others wait for the next token already
        if self._bucket.take(self._clock.monotonic()):
            self._release(message.regarding)
        else:
            self._set_timer()

    def _set_timer(self) -> None:
        self._timer = self._clock.call_later(self._bucket.wait(self._clock.monotonic()), self._release_oldest)

    def _release_oldest(self) -> None:
        self._timer = None
        if self._waiting and self._bucket.take(self._clock.monotonic()):
            self._release(next(iter(self._waiting)))
        if self._waiting:
            self._set_timer()

    def _release(self, regarding: ObjectReference) -> None:
        messages = self._waiting.pop(regarding)
        joined = "; ".join(message.note for message in messages)
        warns = any(message.type == "Warning" for message in messages)
        self._emit(messages[-1]._replace(note=joined, type="Warning" if warns else "Normal"))
