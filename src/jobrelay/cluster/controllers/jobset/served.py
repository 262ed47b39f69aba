"""The cache of a custom kind whose definition may come later, or go.

A cache of a kind that is not served fails for as long as that lasts. This one waits for the definition instead, says
once that it does, and begins anew when the definition is back.
"""

from __future__ import annotations

import asyncio
from typing import Final

from jobrelay.kube import Cache, NotFound, Object
from jobrelay.kube.clock import Clock, sleep
from jobrelay.logs import get_logger

__all__ = ["ServedCache"]

log = get_logger(__name__)

_PAUSE: Final = 0.5


class ServedCache:
    """Runs `cache` while `definitions`, a cache of CustomResourceDefinitions, has that of its kind.

    `cache` must end with NotFound when its kind is not served. `hint` says how the definition is installed.
    """

    def __init__(self, cache: Cache, definitions: Cache, clock: Clock, hint: str) -> None:
        self.name = f"{cache.resource} once served"
        self._cache, self._definitions, self._clock, self._hint = cache, definitions, clock, hint
        self._changed = asyncio.Event()
        definitions.subscribe(lambda old, new: self._changed.set())

    async def run(self) -> None:
        """Keeps the cache current until cancelled."""
        while True:
            await self._wait_served()
            try:
                await self._cache.run()
            except NotFound:
                self._cache.start_over()
                await sleep(self._clock, _PAUSE)

    async def _wait_served(self) -> None:
        warned = False
        while not any(map(self._defines, self._definitions)):
            if not warned:
                log.warning(f"{self._cache.resource} are not served; waiting for their definition. {self._hint}")
                warned = True
            await self._changed.wait()
            self._changed.clear()
        if warned:
            log.info("definition found", resource=str(self._cache.resource))

    def _defines(self, definition: Object) -> bool:
        if definition.name != str(self._cache.resource):
            return False
        body = definition.decode()
        conditions = (body.get("status") or {}).get("conditions") or ()
        established = any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
        versions = body["spec"]["versions"]
        return established and any(each["name"] == self._cache.resource.version and each["served"] for each in versions)
