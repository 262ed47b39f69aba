"""Controllers: workers that take keys from a queue and reconcile them.

Several workers share one queue, which never gives a key to two of them. Objects that exist when a cache is first filled
are queued with low priority: after a restart there are many of them, and new changes should not wait for all of them.

When `run` is cancelled, no more keys are taken and running reconciles have `grace` seconds before they are cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from jobrelay.kube.cache import Cache
from jobrelay.kube.clock import Clock, SystemClock, deadline
from jobrelay.kube.errors import Conflict, StatusError
from jobrelay.kube.metrics import LatencyHistogram
from jobrelay.kube.objects import Key, Object
from jobrelay.logs import get_logger

from .queue import QueueClosed, WorkQueue
from .reconciler import DONE, Reconcile, Result, TerminalError

__all__ = ["LOW_PRIORITY", "Controller", "ControllerMetrics", "Mapper"]

log = get_logger(__name__)

LOW_PRIORITY = -100
_MAX_RETRY_AFTER = 60.0
_DURATIONS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

K = TypeVar("K", bound=Hashable)
Mapper = Callable[[Object | None, Object | None], Iterable[K]]
"""Maps a change (old, new) to the keys to reconcile because of it."""


@dataclass(slots=True)
class ControllerMetrics:
    """What a controller counts; `jobrelay.control.metrics` exposes it."""

    succeeded: int = 0
    requeued: int = 0
    conflicts: int = 0
    failed: int = 0
    terminal: int = 0
    active: int = 0
    durations: LatencyHistogram = field(default_factory=lambda: LatencyHistogram(_DURATIONS))

    @property
    def errors(self) -> int:
        """Reconciles that raised, for whatever reason."""
        return self.failed + self.conflicts + self.terminal


class Controller(Generic[K]):
    """Calls `reconcile` for keys, with up to `workers` at a time.

    `timeout` bounds each reconcile, `grace` what is running when `run` is cancelled. `queue` is the place to add keys
    without a cache.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconcile[K],
        *,
        workers: int = 4,
        queue: WorkQueue[K] | None = None,
        clock: Clock | None = None,
        timeout: float | None = None,
        grace: float = 10.0,
    ) -> None:
        self.name = name
        self.metrics = ControllerMetrics()
        self._clock = clock or SystemClock()
        self.queue: WorkQueue[K] = WorkQueue(clock=self._clock) if queue is None else queue
        self._reconcile = reconcile
        self._workers = workers
        self._timeout = timeout
        self._grace = grace

    def watch(self, cache: Cache, mapper: Mapper[K] | None = None) -> Callable[[], None]:
        """Queue the keys that `mapper` returns for each change of a cache, by default the object's own key."""
        keys = mapper or cast("Mapper[K]", own_key)

        def changed(old: Object | None, new: Object | None) -> None:
            priority = 0 if cache.synced.is_set() else LOW_PRIORITY
            for key in keys(old, new):
                self.queue.add(key, priority=priority)

        return cache.subscribe(changed)

    async def run(self) -> None:
        """Reconcile until cancelled."""
        workers = [asyncio.create_task(self._work(), name=f"{self.name}-{number}") for number in range(self._workers)]
        try:
            ended, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in ended:
                worker.result()
        finally:
            self.queue.close()
            await self._finish(workers)

    async def _finish(self, workers: list[asyncio.Task[None]]) -> None:
        try:
            async with deadline(self._clock, self._grace):
                await asyncio.wait(workers)
        except TimeoutError:
            log.warning("reconciles cancelled after the grace period", controller=self.name, seconds=self._grace)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueClosed:
                return
            self.metrics.active += 1
            started = self._clock.monotonic()
            try:
                await self._handle(key)
            finally:
                self.metrics.durations.observe(self._clock.monotonic() - started)
                self.metrics.active -= 1
                self.queue.done(key)

    async def _handle(self, key: K) -> None:
        """Reconcile one key and handle its result or exception."""
        try:
            result = await self._bounded(key)
        except TerminalError as error:
            self.metrics.terminal += 1
            self.queue.forget(key)
            log.error("terminal error of a reconcile", controller=self.name, key=str(key), error=str(error))
        except Conflict as error:
            self.metrics.conflicts += 1
            self.queue.add_failed(key)
            log.debug("conflict, reconciling again", controller=self.name, key=str(key), error=str(error))
        except Exception as error:  # one key's failure must not end the worker
            self.metrics.failed += 1
            wait = _retry_after(error)
            delay = self.queue.add_failed(key, at_least=wait)
            log.warning("reconcile failed", controller=self.name, key=str(key), retry_in=delay, exc_info=not wait)
        else:
            self._succeeded(key, result or DONE)

    async def _bounded(self, key: K) -> Result | None:
        if self._timeout is None:
            return await self._reconcile(key)
        async with deadline(self._clock, self._timeout):
            return await self._reconcile(key)

    def _succeeded(self, key: K, result: Result) -> None:
        self.metrics.succeeded += 1
        self.queue.forget(key)
        if result.requeue_after is not None:
            self.metrics.requeued += 1
            self.queue.add_after(key, result.requeue_after, priority=result.priority)


def _retry_after(error: Exception) -> float:
    """How long the server asks to wait, within bounds."""
    return min(error.retry_after or 0.0, _MAX_RETRY_AFTER) if isinstance(error, StatusError) else 0.0


def own_key(old: Object | None, new: Object | None) -> Iterable[Key]:
    """The key of the object that changed."""
    obj = new or old
    return (obj.key,) if obj is not None else ()
