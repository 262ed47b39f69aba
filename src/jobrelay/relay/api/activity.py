"""What happens to the workloads over time: how many wait and run, and how many have ended, for the past hour.

One `Activity` belongs to the process, and follows whatever relay is ready. Every 15 seconds it counts the workloads of
each namespace and kind, so that each caller can be shown what they may see and nothing else. Watches are woken
when a workload of their namespace or a worker has changed, at most every two seconds.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Clock
from jobrelay.kube.clock import deadline, sleep
from jobrelay.relay.api.index import Scope, WorkloadIndex, WorkloadRow
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.signal import Changes
from jobrelay.relay.workload_status import COMPLETE, ENDED, FAILED, RUNNING, WAITING

SAMPLE_SECONDS: Final = 15.0
_KEPT: Final = 240
_LOOK_SECONDS: Final = 1.0
_PAUSE: Final = 2.0
_WATCH_SECONDS: Final = 300.0
_SHOWN: Final = (WAITING, RUNNING, COMPLETE, FAILED)


class Sample(msgspec.Struct, frozen=True):
    """How many workloads waited and ran at a moment, and how many had ended since the one before, by scope."""

    time: str
    counts: dict[Scope, tuple[int, int, int, int]]


class Activity:
    """Follows the relay that `relay` gives, within `run`."""

    def __init__(self, relay: Callable[[], RelayManager | None], clock: Clock) -> None:
        self._relay, self._clock = relay, clock
        self._followed: tuple[RelayManager, WorkloadIndex, Callable[[], None]] | None = None
        self._samples: deque[Sample] = deque(maxlen=_KEPT)
        self._ended: Counter[tuple[Scope, str]] = Counter()
        self._versions: Counter[str] = Counter()
        """How often something has changed in each namespace; of the empty name, on any worker."""
        self._changes = Changes()

    async def index(self, relay: RelayManager) -> WorkloadIndex:
        """The rows of a relay that is ready."""
        index = self._follow(relay)
        await index.wait_filled()
        return index

    def history(self, namespace: str, kinds: frozenset[str]) -> list[dict[str, Any]]:
        """The samples, the oldest first, of what a caller may see."""
        return [_shown(each, namespace, kinds) for each in self._samples]

    async def run(self) -> None:
        """Follow and count until cancelled."""
        try:
            while True:
                relay = self._relay()
                if relay is None:
                    await sleep(self._clock, _LOOK_SECONDS)
                    continue
                index = self._follow(relay)
                await index.wait_filled()
                self._samples.append(self._sample(index))
                self._changes.notify()
                await sleep(self._clock, SAMPLE_SECONDS)
        finally:
            self._leave()

    def _follow(self, relay: RelayManager) -> WorkloadIndex:
        if self._followed is not None and self._followed[0] is relay:
            return self._followed[1]
        self._leave()
        index = WorkloadIndex(relay.state.kinds, self._row_changed)
        filling = asyncio.create_task(index.fill(), name="workload index")
        unsubscribe = relay.dispatcher.subscribe(self._worker_changed)

        def leave() -> None:
            filling.cancel()
            unsubscribe()
            index.close()

        self._followed = relay, index, leave
        return index

    def _leave(self) -> None:
        if self._followed is not None:
            self._followed[2]()
            self._followed = None

    def _row_changed(self, before: WorkloadRow | None, now: WorkloadRow | None) -> None:
        row = now or before
        assert row is not None
        if now is not None and now.status in ENDED and (before is None or before.status not in ENDED):
            self._ended[(now.namespace, now.ref.kind), now.status] += 1
        self._versions[row.namespace] += 1
        self._changes.notify()

    def _worker_changed(self) -> None:
        self._versions[""] += 1
        self._changes.notify()

    def _sample(self, index: WorkloadIndex) -> Sample:
        ended, self._ended = self._ended, Counter()
        found = index.statuses()
        scopes = {*found, *(scope for scope, _ in ended)}
        none: Counter[str] = Counter()
        counts = {
            scope: (
                found.get(scope, none)[WAITING],
                found.get(scope, none)[RUNNING],
                ended[scope, COMPLETE],
                ended[scope, FAILED],
            )
            for scope in scopes
        }
        return Sample(format_time(self._clock.now()), {scope: each for scope, each in counts.items() if any(each)})

    def version(self, namespace: str) -> int:
        """Grows with each change that concerns a namespace, or any if it is empty."""
        return self._versions[namespace] + self._versions[""] if namespace else self._versions.total()

    def _differs(self, namespace: str, seen: int) -> bool:
        return self.version(namespace) != seen

    async def versions(self, namespace: str) -> AsyncIterator[int]:
        """The version now and after each change, for some minutes; pauses between two."""
        seen, end = -1, self._clock.monotonic() + _WATCH_SECONDS
        while True:
            try:
                async with deadline(self._clock, end - self._clock.monotonic()):
                    await self._changes.until(partial(self._differs, namespace, seen))
            except TimeoutError:
                return
            seen = self.version(namespace)
            yield seen
            await sleep(self._clock, _PAUSE)


def _shown(sample: Sample, namespace: str, kinds: frozenset[str]) -> dict[str, Any]:
    totals = [0, 0, 0, 0]
    for (where, kind), counts in sample.counts.items():
        if namespace in ("", where) and kind in kinds:
            for number, count in enumerate(counts):
                totals[number] += count
    return {"time": sample.time, **{name.lower(): total for name, total in zip(_SHOWN, totals, strict=True)}}
