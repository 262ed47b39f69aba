"""Inspects the pods of mirrors that seem to have a problem, when a user asks about them.

An inspection costs a list of the mirror's own pods, their events and up to three last lines of logs. So it is made only
on request, of a bounded number of mirrors for each question, within a time limit, and is used for a few seconds by all
who ask. That of a mirror that has ended is used as long as the mirror does not change.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple

from jobrelay.kube import Client, Clock, Forbidden, KubeError, Object
from jobrelay.kube.clock import deadline
from jobrelay.relay.mirror_pods.events import events_of
from jobrelay.relay.mirror_pods.last_lines import last_lines
from jobrelay.relay.mirror_pods.listing import MirrorPods
from jobrelay.relay.mirror_pods.observed import PodInspection
from jobrelay.relay.mirror_pods.troubles import crashed, phases, troubles
from jobrelay.workloads import Adapter

MOST: Final = 20
"""How many mirrors are inspected for one request."""
_WITHIN: Final = 2.0
_AT_ONCE: Final = 4
_FRESH: Final = 10.0
_MOST_KNOWN: Final = 4096


class InspectedMirror(NamedTuple):
    """A mirror on a worker."""

    worker: str
    adapter: Adapter
    mirror: Object


class _Known(NamedTuple):
    inspection: PodInspection
    version: str
    at: float
    ended: bool


class PodInspector:
    """Inspects the pods of mirrors and remembers the results; `reach` connects to a worker, or raises KubeError."""

    def __init__(self, reach: Callable[[str], AbstractAsyncContextManager[Client]], clock: Clock) -> None:
        self._reach, self._clock = reach, clock
        self._known: dict[str, _Known] = {}

    def known(self, mirror: Object) -> PodInspection | None:
        """An inspection of this mirror that is recent enough."""
        found = self._known.get(mirror.uid)
        if found is None:
            return None
        same = found.ended and found.version == mirror.resource_version
        return found.inspection if same or self._clock.monotonic() - found.at < _FRESH else None

    async def inspect(self, wanted: Iterable[InspectedMirror]) -> None:
        """Inspect these mirrors as far as their workers answer in time."""
        by_worker: dict[str, list[InspectedMirror]] = defaultdict(list)
        for each in wanted:
            by_worker[each.worker].append(each)
        await asyncio.gather(*(self._on_worker(worker, mirrors) for worker, mirrors in by_worker.items()))

    async def inspect_one(self, wanted: InspectedMirror) -> PodInspection:
        """Inspect one mirror, however recent its last inspection is; raises KubeError."""
        async with self._reach(wanted.worker) as client:
            return await self._inspect(client, wanted)

    async def _on_worker(self, worker: str, mirrors: Sequence[InspectedMirror]) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def inspect(client: Client, wanted: InspectedMirror) -> None:
            async with slots:
                await self._inspect(client, wanted)

        try:
            async with deadline(self._clock, _WITHIN), self._reach(worker) as client:
                await asyncio.gather(*(inspect(client, each) for each in mirrors))
        except (TimeoutError, KubeError):
            return  # the answer has what is known without it

    async def _inspect(self, client: Client, wanted: InspectedMirror) -> PodInspection:
        mirror, pods = wanted.mirror, MirrorPods(client, wanted.adapter, wanted.mirror)
        listed = await pods.list()
        events = await _events(client, [mirror, *listed], wanted.worker)
        lines = await last_lines(client, crashed(listed))
        inspection = PodInspection(phases(listed), tuple(troubles(listed, events, lines)))
        ended = wanted.adapter.read(mirror).end is not None
        self._known.pop(mirror.uid, None)
        self._known[mirror.uid] = _Known(inspection, mirror.resource_version, self._clock.monotonic(), ended)
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]  # the oldest
        return inspection


async def _events(client: Client, objects: Sequence[Object], worker: str) -> list[dict[str, Any]]:
    """The events about these; none where they may not be read."""
    try:
        return await events_of(client, objects, worker)
    except Forbidden:
        return []
