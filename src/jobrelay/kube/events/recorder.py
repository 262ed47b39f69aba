"""Recording Events: noting what happened, and writing it in the background."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from random import Random

from jobrelay.kube.backoff import Backoff
from jobrelay.kube.client import Client
from jobrelay.kube.clock import Clock, SystemClock, sleep
from jobrelay.kube.errors import AlreadyExists, KubeError, NotFound, ProtocolError, StatusError
from jobrelay.kube.objects import Object
from jobrelay.logs import get_logger

from .apis import EVENTS_V1, EventApi
from .coalescing import EventCoalescer
from .correlation import CAPACITY, EventCorrelator, EventSeries
from .messages import EventMessage, EventNote, ObjectReference

__all__ = ["EventRecorder"]

log = get_logger(__name__)

_ATTEMPTS = 12
_LONGEST_PAUSE = 10.0


class EventRecorder:
    """Records Events in the name of one controller; `run()` writes them until cancelled.

    `api` is `EVENTS_V1` or `CORE_V1`. An object may cause `burst` Events of a type at once, then one every `refill`
    seconds; the rest is counted in `dropped`. With a `rate`, at most that many Events a second are recorded in all
    (twice that at once), and what waits about one object becomes one Event.
    """

    def __init__(
        self,
        client: Client,
        controller: str,
        instance: str = "",
        *,
        api: EventApi = EVENTS_V1,
        clock: Clock | None = None,
        random: Random | None = None,
        burst: int = 25,
        refill: float = 300.0,
        rate: float | None = None,
    ) -> None:
        self.name = f"{controller} events"
        self.dropped = 0
        self._client, self._api = client, api
        self._controller, self._instance = controller, instance
        self._clock, self._random = clock or SystemClock(), random or Random()
        self._correlator = EventCorrelator(api.rules, self._clock, self._random, burst, refill)
        self._coalescer = EventCoalescer(self._note, self._clock, rate, 2 * rate) if rate else None
        self._pending: deque[EventSeries] = deque()
        self._wake = asyncio.Event()

    def event(
        self,
        regarding: Object | ObjectReference,
        type: str,
        reason: str,
        note: str,
        *,
        action: str = "",
        related: Object | ObjectReference | None = None,
        version: str = "",
    ) -> None:
        """Record that something happened to `regarding`.

        `type` is "Normal" or "Warning", `version` the object's resourceVersion when it happened.
        """
        try:
            about, other = _reference(regarding), _reference(related) if related is not None else None
        except ProtocolError as error:
            log.warning("event about an unknown object", reason=reason, error=str(error))
            return
        message = EventMessage(about, type, reason, note, action, other, version)
        if self._coalescer is None:
            self._note(message)
        else:
            self._coalescer.add(message)

    def record(self, regarding: Object | ObjectReference, notes: Iterable[EventNote]) -> None:
        """Record several things that happened to `regarding`, in their order."""
        for note in notes:
            self.event(regarding, note.type, note.reason, note.note)

    async def run(self) -> None:
        """Write what was recorded, until cancelled."""
        backoff = Backoff(cap=_LONGEST_PAUSE, random=self._random)
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                series = self._pending.popleft()
                if await self._write(series):
                    backoff.reset()
                else:
                    self._enqueue(series)
                    await sleep(self._clock, backoff.next())

    def _note(self, message: EventMessage) -> None:
        series = self._correlator.correlate(message)
        if series is None:
            self.dropped += 1
        else:
            self._schedule(series)

    def _schedule(self, series: EventSeries) -> None:
        """Have a series written: at once if it is new, else `refresh` seconds after it was last written."""
        if series.scheduled:
            return
        series.scheduled = True
        due = series.written_at + self._api.rules.refresh if series.written else 0.0
        wait = due - self._clock.monotonic()
        if wait > 0:
            self._clock.call_later(wait, lambda: self._enqueue(series))
        else:
            self._enqueue(series)

    def _enqueue(self, series: EventSeries) -> None:
        self._pending.append(series)
        if len(self._pending) > CAPACITY:
            oldest = self._pending.popleft()
            oldest.scheduled = False
            self.dropped += oldest.count - oldest.written
        self._wake.set()

    async def _write(self, series: EventSeries) -> bool:
        """Write a series as it is now; False means to try again."""
        count = series.count
        try:
            await self._send(series)
        except AlreadyExists:
            log.debug("event was written although its reply was lost", name=series.name)
        except KubeError as error:
            series.failures += 1
            if series.failures < _ATTEMPTS and _is_transient(error):
                return False
            log.info("event not written", name=series.name, reason=series.message.reason, error=str(error))
            self.dropped += count - series.written
        series.failures, series.scheduled = 0, False
        series.written, series.written_at = count, self._clock.monotonic()
        if series.count > count:
            self._schedule(series)
        return True

    async def _send(self, series: EventSeries) -> None:
        if series.written:
            try:
                await self._client.patch(self._api.resource, series.name, self._api.change(series), series.namespace)
                return
            except NotFound:
                log.debug("event is gone and is created again", name=series.name)
        body = self._api.body(series, self._controller, self._instance)
        await self._client.create(self._api.resource, body, series.namespace)


def _reference(subject: Object | ObjectReference) -> ObjectReference:
    return ObjectReference.of(subject) if isinstance(subject, Object) else subject


def _is_transient(error: KubeError) -> bool:
    return not isinstance(error, StatusError) or error.code == 429 or error.code >= 500
