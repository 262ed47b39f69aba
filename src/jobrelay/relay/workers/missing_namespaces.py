"""Waits for namespaces that workloads need and a worker does not have.

While there are such, the metadata of the worker's namespaces is watched, so that what waits for one is tried again at
once when it is created. Where they may not be watched, workloads are tried again after pauses, as they are anyway. When
nothing has asked for a namespace for some time, nothing is watched.
"""

from __future__ import annotations

from random import Random
from typing import Final

from jobrelay.kube import Cache, Client, Clock, Object
from jobrelay.kube.clock import sleep
from jobrelay.kube.object_budget import BudgetExceeded, ObjectBudget
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.signal import Changes, Signal
from jobrelay.relay.workers.served_kinds import REFUSALS
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.transforms import name_only

_TIMEOUT: Final = 15.0
_WAITED_FOR: Final = 150.0
"""How long a namespace is waited for after it was last missed: workloads that wait ask every minute at least."""


class MissingNamespaces:
    """The namespaces that one worker lacks; `found` is called with the name of each that is there."""

    def __init__(self, client: Client, *, clock: Clock, random: Random, timing: Timing, budget: ObjectBudget) -> None:
        self._clock, self._timing = clock, timing
        self.found: Signal[[str]] = Signal()
        self._waited_for: dict[str, float] = {}
        """By name: until when, in monotonic time."""
        self._changes = Changes()
        self._cache = Cache(
            Client(client.transport, clock=clock, timeout=_TIMEOUT, retries=0, metadata_only=True),
            NAMESPACES,
            clock=clock,
            random=random,
            transform=name_only,
            idle_timeout=timing.silence,
            terminal=(*REFUSALS, BudgetExceeded),
            budget=budget,
        )
        self._cache.subscribe(self._changed)

    def missed(self, name: str) -> None:
        """A workload was refused since this namespace does not exist."""
        self._waited_for[name] = self._clock.monotonic() + _WAITED_FOR
        self._changes.notify()

    def start_over(self) -> None:
        """Forget everything, because the worker is another cluster now."""
        self._cache.start_over()
        self._waited_for.clear()

    async def run(self) -> None:
        """Watch namespaces while one is missing, until cancelled."""
        while True:
            await self._changes.until(self._waits)
            try:
                await until_first(self._cache.run(), self._nothing_waits())
            except (*REFUSALS, BudgetExceeded):
                await sleep(self._clock, self._timing.unavailable)
            finally:
                self._cache.start_over()  # what comes and goes unwatched is not known

    async def _nothing_waits(self) -> None:
        while self._waits():
            await sleep(self._clock, max(self._waited_for.values()) - self._clock.monotonic())

    def _waits(self) -> bool:
        """Whether a namespace is waited for."""
        now = self._clock.monotonic()
        self._waited_for = {name: until for name, until in self._waited_for.items() if until > now}
        return bool(self._waited_for)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None and old is None and self._waited_for.pop(new.name, None) is not None:
            self.found(new.name)
