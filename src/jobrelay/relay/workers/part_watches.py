"""Runs the watches of the caches of mirrors, one by one, and knows which of them cannot be filled at present.

A watch that is refused is tried again later, without an end to the connection: the worker is used for other kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random

from jobrelay.kube import Cache, Clock, Forbidden, NotFound
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.logs import get_logger
from jobrelay.relay.workers.reasons import describe
from jobrelay.relay.workers.served_kinds import REFUSALS, ServedKinds
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workload_kind import is_built_in

log = get_logger(__name__)


class PartWatches:
    """The watches of one worker's caches; `failed` is called when one of them cannot be filled."""

    def __init__(
        self, served: ServedKinds, failed: Callable[[], None], *, clock: Clock, random: Random, timing: Timing
    ) -> None:
        self._served, self._failed = served, failed
        self._clock, self._random, self._timing = clock, random, timing
        self._missing: dict[Cache, str] = {}

    @property
    def missing(self) -> Mapping[Cache, str]:
        """The caches that cannot be filled at present, and why."""
        return self._missing

    def keep(self, parts: Collection[Cache]) -> None:
        """Forget what is missing except in these caches, since the others run no more."""
        self._missing = {part: why for part, why in self._missing.items() if part in parts}

    def forget(self, parts: Collection[Cache]) -> None:
        """Forget what is missing in these caches."""
        self._missing = {part: why for part, why in self._missing.items() if part not in parts}

    def connection_changed(self) -> None:
        """Forget what was missing in caches that are connected."""
        self._missing = {part: why for part, why in self._missing.items() if not part.connected}

    async def follow(self, part: Cache, fallback: str | None) -> None:
        """Run one cache until cancelled; `fallback` is the namespace to watch if a watch over all is forbidden."""
        backoff = Backoff(1.0, self._timing.unavailable, random=self._random)
        while True:
            try:
                await part.run()
            except REFUSALS as error:
                if fallback is not None:
                    if isinstance(error, Forbidden) and part.namespace is None and part.resource.namespaced:
                        _rescope(part, fallback)
                        continue
                    _rescope(part, None)
                self._unusable(part, describe(error))
                if isinstance(error, NotFound) and not is_built_in(part.resource):
                    self._served.check(part.resource)
                    await sleep(self._clock, backoff.next())
                    continue
            except Exception as error:  # foreign code: an adapter that fails must not end the connection
                if is_built_in(part.resource):
                    raise
                log.exception("the adapter of a kind failed", kind=str(part.resource))
                part.start_over()
                self._unusable(part, f"its adapter failed: {error!r}")
            await sleep(self._clock, self._timing.unavailable * (0.5 + self._random.random()))

    def _unusable(self, part: Cache, why: str) -> None:
        self._missing[part] = why
        self._failed()


def _rescope(cache: Cache, namespace: str | None) -> None:
    if cache.namespace != namespace:
        cache.namespace = namespace
        cache.start_over()
