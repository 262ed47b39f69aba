"""The sources of copies, read from the management cluster when they are needed."""

from __future__ import annotations

from typing import Final

from jobrelay.kube import Client, Clock, Forbidden, NotFound, Object
from jobrelay.relay.copying.lookup import look_for
from jobrelay.relay.dependencies.answers import Presence
from jobrelay.relay.dependencies.copies import CopyFailed
from jobrelay.workloads import ObjectName

_MOST: Final = 32
_LARGEST: Final = 64 * 1024
"""Larger objects, in bytes, are not remembered."""
_BELIEVED: Final = 5.0
"""For how many seconds an object is not read again: mirrors that are created later have its changes."""


class CopySources:
    """Reads objects of the management cluster; a few small ones are remembered for seconds, for batches."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._read: dict[ObjectName, tuple[float, Object]] = {}

    async def problem(self, source: ObjectName) -> str:
        """Why an object cannot be copied; empty if it can be."""
        looked = await look_for(self._client, source)
        if looked.presence is Presence.UNCHECKED:
            return f"{looked.detail} on the management cluster"
        return "not on the management cluster either" if looked.presence is Presence.MISSING else ""

    async def find(self, source: ObjectName) -> Object | None:
        """An object of moderate size with its contents; None if it is not there or may not be read."""
        try:
            found = await self.read(source)
        except CopyFailed:
            return None
        return found if len(found.raw) <= _LARGEST else None

    async def read(self, source: ObjectName) -> Object:
        """An object with its contents; raises CopyFailed if it is not there or may not be read."""
        now, known = self._clock.monotonic(), self._read.get(source)
        if known is not None and now - known[0] < _BELIEVED:
            return known[1]
        self._read.pop(source, None)
        try:
            found = await self._client.get(source.resource, source.name, source.namespace or None)
        except NotFound:
            raise CopyFailed(f"{source} is not on the management cluster", source.resource.kind) from None
        except Forbidden as error:
            why = f"{source} may not be read on the management cluster: {error}"
            raise CopyFailed(why, source.resource.kind) from None
        if len(found.raw) <= _LARGEST:
            if len(self._read) >= _MOST:
                del self._read[next(iter(self._read))]
            self._read[source] = now, found
        return found
