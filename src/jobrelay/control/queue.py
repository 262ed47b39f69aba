"""A work queue with priorities, as client-go and controller-runtime have it.

A key is in the queue at most once, however often it was added. A key that is being processed is not given to another
worker: if it is added meanwhile, it is queued again after `done`. So two workers never process the same key, and no
change is missed.

Keys with the highest priority come first, and keys of one priority in the order in which they were added. Every
`fairness`-th key is the oldest regardless of priority, so that urgent keys cannot starve the others. A key that is
added twice keeps the higher priority and the earlier position. `add_failed` delays a key longer each time, until
`forget`.

All methods but `get` return at once; the queue belongs to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from jobrelay.kube.clock import Clock, SystemClock, Timer

from .indexed_heap import IndexedHeap

__all__ = ["QueueClosed", "WorkQueue"]

K = TypeVar("K", bound=Hashable)


class QueueClosed(Exception):
    """The queue was closed and returns no more keys."""


class WorkQueue(Generic[K]):
    """Keys to process: `key = await queue.get()`, process it, `queue.done(key)`.

    The n-th failure in a row delays a key by `base_delay` * 2**(n - 1) seconds, up to `max_delay`. `adds` and `retries`
    count calls of `add` and `add_failed`.
    """

    def __init__(
        self, *, clock: Clock | None = None, base_delay: float = 0.005, max_delay: float = 300.0, fairness: int = 8
    ) -> None:
        self._clock = clock or SystemClock()
        self._base_delay = base_delay
        self._max_delay = max_delay
        self._fairness = fairness
        self._picks = 0
        self._ready: IndexedHeap[K] = IndexedHeap()
        self._delayed: IndexedHeap[K] = IndexedHeap()
        self._priority: dict[K, int] = {}
        self._dirty: set[K] = set()
        self._processing: set[K] = set()
        self._timer: Timer | None = None
        self._timer_due = 0.0
        self._failures: dict[K, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._held: dict[K, float] = {}
        """By key: before when it is not taken again, because a server asked for that."""
        self.adds = 0
        self.retries = 0

    def __len__(self) -> int:
        """How many keys wait for a worker now."""
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """How many keys wait for a delay to pass."""
        return len(self._delayed)

    @property
    def processing(self) -> int:
        """How many keys are being processed."""
        return len(self._processing)

    def failures(self, key: K) -> int:
        """How often a key has failed in a row."""
        return self._failures.get(key, 0)

    def add(self, key: K, *, priority: int = 0) -> None:
        """Queue a key."""
        if self._closed:
            return
        self.adds += 1
        if self._held and self._held.get(key, 0.0) > self._clock.monotonic():
            self._raise_priority(key, priority)
            self._delayed.push(key, self._held[key])
            self._set_timer()
            return
        self._delayed.discard(key)
        priority = self._raise_priority(key, priority)
        if key in self._processing:
            self._dirty.add(key)
            return
        known = self._ready.rank(key)
        if known is None or -priority < known:
            self._ready.push(key, -priority)
        if known is None:
            self._wake_one()

    def add_after(self, key: K, seconds: float, *, priority: int = 0) -> None:
        """Queue a key after some seconds, unless it is queued or due earlier."""
        if seconds <= 0:
            self.add(key, priority=priority)
            return
        if self._closed or key in self._ready or key in self._dirty:
            return
        self._raise_priority(key, priority)
        due = self._clock.monotonic() + seconds
        known = self._delayed.rank(key)
        if known is None or due < known:
            self._delayed.push(key, due)
            self._set_timer()

    def add_failed(self, key: K, *, priority: int = 0, at_least: float = 0.0) -> float:
        """Queue a key after a failure, with a delay that grows; returns the delay.

        The delay is not less than `at_least`, whatever happens meanwhile.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        if at_least:
            self._dirty.discard(key)
            self._held[key] = self._clock.monotonic() + at_least
        delay = max(at_least, min(self._base_delay * 2.0 ** min(failures, 62), self._max_delay))
        self.add_after(key, delay, priority=priority)
        return delay

    def forget(self, key: K) -> None:
        """Reset the failures of a key, after a success or when it is not retried."""
        self._failures.pop(key, None)
        self._held.pop(key, None)

    async def get(self) -> K:
        """Wait for the next key; raises `QueueClosed` once the queue is closed."""
        while not self._ready and not self._closed:
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except BaseException:
                getter.cancel()
                if getter in self._getters:
                    self._getters.remove(getter)
                elif self._ready:
                    self._wake_one()
                raise
        if self._closed:
            raise QueueClosed
        return self._take()

    def done(self, key: K) -> None:
        """End the processing of a key, whether it succeeded or not."""
        self._processing.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self._ready.push(key, -self._priority[key])
            self._wake_one()

    def close(self) -> None:
        """Drop all keys and take no more; `get` raises from now on."""
        self._closed = True
        self._ready.clear()
        self._dirty.clear()
        self._delayed.clear()
        if self._timer is not None:
            self._timer.cancel()
        while self._getters:
            self._wake_one()

    def _take(self) -> K:
        self._picks += 1
        first = self._ready.first()
        assert first is not None
        fair = self._fairness and self._picks % self._fairness == 0
        key = self._ready.oldest() if fair else first[0]
        self._ready.discard(key)
        self._priority.pop(key, None)
        self._processing.add(key)
        return key

    def _raise_priority(self, key: K, priority: int) -> int:
        """Keep the highest priority that a waiting key was added with."""
        self._priority[key] = highest = max(priority, self._priority.get(key, priority))
        return highest

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _set_timer(self) -> None:
        """Set the timer for the earliest delayed key."""
        first = self._delayed.first()
        if first is None:
            return
        due = first[1]
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._clock.call_later(due - self._clock.monotonic(), self._queue_due)

    def _queue_due(self) -> None:
        """Queue the keys whose delay has passed."""
        self._timer = None
        now = self._clock.monotonic()
        while (first := self._delayed.first()) is not None and first[1] <= now:
            self.add(first[0], priority=self._priority[first[0]])
        self._set_timer()
