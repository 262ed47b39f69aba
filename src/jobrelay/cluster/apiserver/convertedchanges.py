"""The changes of a custom resource for a watch in a version that a webhook converts to, in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from jobrelay.cluster.apiserver import conversions, errors
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.store import Change, Store


class ConvertedChanges:
    """Collects changes from the moment that it is made, and converts them one after the other once it is started."""

    def __init__(self, store: Store, served: ServedResource, replay: Iterable[Change]) -> None:
        self._served = served
        self._waiting = deque(replay)
        self._task: asyncio.Task[None] | None = None
        self._started = False
        self._unsubscribe = store.subscribe(served.key, self._collect)

    @property
    def waiting(self) -> bool:
        """Whether there are changes that are not passed on yet."""
        return bool(self._waiting)

    def start(self, changed: Callable[[Change], None], failed: Callable[[errors.ApiError], None]) -> None:
        self._changed, self._failed, self._started = changed, failed, True
        self._go_on()

    def stop(self) -> None:
        self._unsubscribe()
        self._started = False
        self._waiting.clear()

    def _collect(self, change: Change) -> None:
        self._waiting.append(change)
        self._go_on()

    def _go_on(self) -> None:
        if self._started and self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._waiting:
            try:
                change = await conversions.shown_change(self._served, self._waiting[0])
            except errors.ApiError as error:
                if self._started:
                    self._failed(error)
                return
            if not self._started:
                return
            self._waiting.popleft()
            self._changed(change)
