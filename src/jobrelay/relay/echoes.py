"""Warnings on a worker that concern a mirror, told again on its original.

Whoever looks at a Job on the management cluster should read there why its pods do not start: FailedScheduling, BackOff,
FailedMount, FailedCreate and their like. One watch of the worker's Warning events brings them. It is a courtesy: a worker that
does not let us read events is no worse for it.

A pod is taken for one of a mirror by its name, since events carry no labels and pods may not be readable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec
import structlog

from jobrelay.kube import Cache, Clock, EventNote, EventRecorder, Forbidden, MethodNotAllowed, NotFound, Object
from jobrelay.kube.clock import sleep
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import EVENTS_CORE
from jobrelay.relay.knowledge import Kind, origin_key
from jobrelay.relay.workers import WorkerLink
from jobrelay.relay.workers.tasks import until_first

__all__ = ["Echoes"]

log = structlog.get_logger(__name__)

_REFUSALS = (Forbidden, NotFound, MethodNotAllowed)
_AGAIN = 600.0


class _Involved(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    involved_object: _Involved = _Involved()
    reason: str = ""
    message: str = ""
    count: int | None = None


class Echoes:
    """Follows the Warning events of one worker."""

    def __init__(self, link: WorkerLink, kinds: Mapping[str, Kind], recorder: EventRecorder, clock: Clock) -> None:
        self._link, self._kinds, self._recorder, self._clock = link, kinds, recorder, clock

    async def run(self) -> None:
        """Listen until cancelled, in the namespaces that the worker serves now or in all."""
        await until_first(*map(self._follow, self._link.spec.namespaces or (None,)))

    async def _follow(self, namespace: str | None) -> None:
        cache = Cache(
            self._link.client,
            EVENTS_CORE,
            namespace,
            field_selector="type=Warning",
            clock=self._clock,
            transform=_light,
            terminal=_REFUSALS,
        )
        cache.subscribe(partial(self._heard, cache))
        while True:
            try:
                await cache.run()
            except _REFUSALS as error:
                log.debug("events of a worker cannot be read", worker=self._link.name, error=str(error))
            await sleep(self._clock, _AGAIN)

    def _heard(self, cache: Cache, old: Object | None, new: Object | None) -> None:
        """Events from before are old news; repeated ones are told once."""
        if new is None or old is not None or not cache.synced.is_set():
            return
        event = new.decode(_Event)
        original = next(self._originals(event.involved_object), None)
        if original is None:
            return
        about = f"{event.involved_object.kind.lower()} {event.involved_object.name}"
        note = f"[{self._link.name}] {about}: {event.message}"
        self._recorder.record(original, [EventNote(event.reason or "WorkerEvent", note, "Warning")])

    def _originals(self, about: _Involved) -> Iterator[Object]:
        for kind in self._kinds.values():
            mirrors = self._link.mirrors[kind.adapter.resource]
            for name in _names(about, kind.adapter.resource.kind):
                mirror = mirrors.get(Key(about.namespace, name))
                original = kind.originals.get(origin_key(mirror)) if mirror is not None else None
                if original is not None:
                    yield original


def _names(about: _Involved, kind: str) -> Iterator[str]:
    """The names that the mirror may have: its own, or a pod's without one or two suffixes."""
    if about.kind == kind:
        yield about.name
    elif about.kind == "Pod":
        shorter = about.name.rpartition("-")[0]
        yield shorter
        yield shorter.rpartition("-")[0]


def _light(event: Object) -> Object:
    """Only what was said, and of whom."""
    return Object(event.metadata, msgspec.json.encode(event.decode(_Event)))
