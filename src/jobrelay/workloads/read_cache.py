"""Remembers what was read of objects: one version of an object is read many times on its way through the relay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jobrelay.kube import Object
from jobrelay.workloads.adapter import Workload

_KEPT: Final = 2048


class ReadCache:
    """Reads objects by `read`, and keeps the results for the last few thousand versions."""

    def __init__(self, read: Callable[[Object], Workload]) -> None:
        self._read = read
        self._known: dict[bytes, Workload] = {}

    def read(self, obj: Object) -> Workload:
        found = self._known.get(obj.raw)
        if found is None:
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]  # the oldest
            found = self._known[obj.raw] = self._read(obj)
        return found
