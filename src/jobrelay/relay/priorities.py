"""The priorities of workloads, from the PriorityClasses of the management cluster.

They decide only about the order in which workloads start that wait for room. So where they may not be read, everything
has priority 0 and the relay works as well; what was forbidden is tried again later.
"""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from jobrelay.kube import Cache, Client, Clock, Forbidden, MethodNotAllowed, NotFound, Object
from jobrelay.kube.clock import sleep
from jobrelay.kube.objects import Key
from jobrelay.logs import get_logger
from jobrelay.workloads.references import PRIORITYCLASSES

log = get_logger(__name__)

_REFUSALS: Final = (Forbidden, NotFound, MethodNotAllowed)
_RETRY: Final = 600.0


class _PriorityClass(msgspec.Struct, frozen=True, rename="camel"):
    value: int = 0
    global_default: bool = False


class PriorityClasses:
    """Follows the PriorityClasses of the management cluster."""

    def __init__(self, client: Client, *, clock: Clock, random: Random, silence: float) -> None:
        self._clock = clock
        self._cache = Cache(
            client, PRIORITYCLASSES, clock=clock, random=random, idle_timeout=silence, terminal=_REFUSALS,
            transform=_reduced,
        )  # fmt: skip
        self._default = 0
        self._cache.subscribe(self._changed)

    def value(self, name: str) -> int:
        """The priority of workloads that name a class, or none if the name is empty; 0 if it is not known."""
        found = self._cache.get(Key("", name)) if name else None
        return found.decode(_PriorityClass).value if found is not None else self._default if not name else 0

    async def run(self) -> None:
        """Follow the classes until cancelled."""
        while True:
            try:
                await self._cache.run()
            except _REFUSALS as error:
                log.info("all workloads have the same priority: PriorityClasses cannot be read", error=str(error))
            await sleep(self._clock, _RETRY)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        defaults = [found.value for each in self._cache if (found := each.decode(_PriorityClass)).global_default]
        self._default = min(defaults, default=0)


def _reduced(priority_class: Object) -> Object:
    """Keep only what is read here."""
    return Object(priority_class.metadata, msgspec.json.encode(priority_class.decode(_PriorityClass)))
