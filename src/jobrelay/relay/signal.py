"""Change notification."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Signal(Generic[P]):
    """Calls every subscriber, in the order of subscription. Subscribers must not raise."""

    def __init__(self) -> None:
        self._subscribers: dict[int, Callable[P, None]] = {}
        self._count = 0

    def subscribe(self, callback: Callable[P, None]) -> Callable[[], None]:
        """Have `callback` called from now on; returns how to unsubscribe."""
        self._count += 1
        number = self._count
        self._subscribers[number] = callback

        def unsubscribe() -> None:
            self._subscribers.pop(number, None)

        return unsubscribe

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for callback in tuple(self._subscribers.values()):
            callback(*args, **kwargs)


class Changes:
    """Wakes tasks that wait for something to become true."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Have every waiting task look again."""
        last, self._next = self._next, asyncio.Event()
        last.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once a condition is true; it is evaluated now and after each notification."""
        while not condition():
            await self._next.wait()
