"""Removes kept logs that are too old, whose workload is gone, or that are too many bytes together: the oldest first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from jobrelay.apimachinery.times import TimeError, parse_time
from jobrelay.kube import Cache, Client, Clock, KubeError, NotFound, Object
from jobrelay.kube.clock import deadline, sleep
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.logs import get_logger
from jobrelay.relay.kept_logs.kept import AT, KEPT, SIZE, original_uid
from jobrelay.relay.workers.tasks import until_first

log = get_logger(__name__)

_INTERVAL: Final = 60.0
_PAUSE: Final = 1.0
"""Between two sweeps, however much changes."""


def due(
    kept: Iterable[Object], now: datetime, total: int, age: float, exists: Callable[[str], bool]
) -> Iterator[Object]:
    """Those to be removed; `exists` says of the uid of an original whether there may be one."""
    room = total
    for each in sorted(kept, key=_kept_at, reverse=True):
        room -= _size(each)
        if room < 0 or _is_older(each, now - timedelta(seconds=age)) or not exists(original_uid(each)):
            yield each


def _kept_at(kept: Object) -> str:
    return kept.metadata.annotations.get(AT) or kept.metadata.creation_timestamp or ""


def _size(kept: Object) -> int:
    text = kept.metadata.annotations.get(SIZE, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _is_older(kept: Object, than: datetime) -> bool:
    try:
        return parse_time(_kept_at(kept)) < than
    except TimeError:
        return False


class KeptLogSweep:
    """Removes what is due, in the leader; `total` is in bytes, `age` in seconds."""

    def __init__(
        self, client: Client, namespace: str, total: int, age: float, exists: Callable[[str], bool], clock: Clock
    ) -> None:
        self._client, self._total, self._age, self._exists, self._clock = client, total, age, exists, clock
        self._changed = asyncio.Event()
        self._kept = Cache(
            client, CONFIGMAPS, namespace, label_selector=f"{KEPT}=true", clock=clock, transform=_without_contents
        )
        self._kept.subscribe(lambda old, new: self._changed.set())

    def original_changed(self, old: Object | None, new: Object | None) -> None:
        """Look again if an original was deleted."""
        if new is None:
            self._changed.set()

    async def run(self) -> None:
        """Sweep until cancelled: when something is kept or an original is deleted, and as time passes."""
        await until_first(self._kept.run(), self._sweep())

    async def _sweep(self) -> None:
        await self._kept.synced.wait()
        while True:
            self._changed.clear()
            for each in due(list(self._kept), self._clock.now(), self._total, self._age, self._exists):
                await self._remove(each)
            await sleep(self._clock, _PAUSE)
            with suppress(TimeoutError):
                async with deadline(self._clock, _INTERVAL):
                    await self._changed.wait()

    async def _remove(self, kept: Object) -> None:
        try:
            await self._client.delete(CONFIGMAPS, kept.name, kept.namespace, uid=kept.uid)
        except NotFound:
            return
        except KubeError as error:
            log.warning("a kept log is not removed", name=kept.name, error=str(error))


def _without_contents(obj: Object) -> Object:
    return Object(obj.metadata, b"{}")
