"""Warning events of a worker that concern a mirror, recorded on its original.

A user who describes a Job on the management cluster should see there why its pods do not start: FailedScheduling,
BackOff, FailedMount, FailedCreate and so on. They come from one watch of the worker's Warning events, which is
optional: a worker that forbids reading events works without it.

Whether a pod belongs to a mirror is judged by its name, since events carry no labels and pods may not be readable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from random import Random

import msgspec

from jobrelay.kube import Cache, Clock, EventNote, EventRecorder, Forbidden, MethodNotAllowed, NotFound, Object
from jobrelay.kube.clock import sleep
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import EVENTS_CORE
from jobrelay.logs import get_logger
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workload_kind import WorkloadKind, origin_key

log = get_logger(__name__)

_REFUSALS = (Forbidden, NotFound, MethodNotAllowed)
_RETRY = 600.0


class _Involved(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    involved_object: _Involved = _Involved()
    reason: str = ""
    message: str = ""
    count: int | None = None


class WorkerEvents:
    """Follows the Warning events of one worker."""

    def __init__(
        self,
        worker: WorkerConnection,
        kinds: Mapping[str, WorkloadKind],
        recorder: EventRecorder,
        clock: Clock,
        random: Random,
    ) -> None:
        self._worker, self._kinds, self._recorder = worker, kinds, recorder
        self._clock, self._random = clock, random

    async def run(self) -> None:
        """Watch until cancelled, in the namespaces that the worker serves or in all."""
        await until_first(*map(self._follow, self._worker.spec.namespaces or (None,)))

    async def _follow(self, namespace: str | None) -> None:
        cache = Cache(
            self._worker.client,
            EVENTS_CORE,
            namespace,
            field_selector="type=Warning",
            clock=self._clock,
            random=self._random,
            transform=_reduced,
            terminal=_REFUSALS,
        )
        cache.subscribe(partial(self._changed, cache))
        while True:
            try:
                await cache.run()
            except _REFUSALS as error:
                log.debug("events of a worker cannot be read", worker=self._worker.name, error=str(error))
            await sleep(self._clock, _RETRY)

    def _changed(self, cache: Cache, old: Object | None, new: Object | None) -> None:
        """Record a new event once; those from before the watch are skipped."""
        if new is None or old is not None or not cache.synced.is_set():
            return
        event = new.decode(_Event)
        original = next(self._find_originals(event.involved_object), None)
        if original is None:
            return
        involved = f"{event.involved_object.kind.lower()} {event.involved_object.name}"
        note = f"[{self._worker.name}] {involved}: {event.message}"
        self._recorder.record(original, [EventNote(event.reason or "WorkerEvent", note, "Warning")])

    def _find_originals(self, involved: _Involved) -> Iterator[Object]:
        for kind in self._kinds.values():
            mirrors = self._worker.mirrors[kind.adapter.resource]
            for name in _mirror_names(involved, kind.adapter.resource.kind):
                mirror = mirrors.get(Key(involved.namespace, name))
                original = kind.originals.get(origin_key(mirror)) if mirror is not None else None
                if original is not None:
                    yield original


def _mirror_names(involved: _Involved, kind: str) -> Iterator[str]:
    """The possible names of the mirror: the object's own, or a pod's without its last one or two suffixes."""
    if involved.kind == kind:
        yield involved.name
    elif involved.kind == "Pod":
        shorter = involved.name.rpartition("-")[0]
        yield shorter
        yield shorter.rpartition("-")[0]


def _reduced(event: Object) -> Object:
    """Keep only the fields of `_Event`."""
    return Object(event.metadata, msgspec.json.encode(event.decode(_Event)))
