"""Which kinds the connections to workers have to know the mirrors of."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jobrelay.kube import Resource
from jobrelay.relay.signal import Signal


class KindsInUse:
    """A kind that is *sought* may have mirrors from before, so workers are read for them once.

    That is every kind of which it is known whether the management cluster serves it: definitions go, too. One that is
    *used*, since it has originals, is watched there. `FollowedKinds` changes this, connections follow it.
    """

    def __init__(self, used: Iterable[Resource] = ()) -> None:
        self._used = set(used)
        self._sought = set(self._used)
        self._changed: Signal[[]] = Signal()

    def seeks(self, resource: Resource) -> bool:
        return resource in self._sought

    def uses(self, resource: Resource) -> bool:
        return resource in self._used

    def update(self, resource: Resource, *, sought: bool, used: bool) -> None:
        """A kind is sought, or used, from now on; or it is not any more."""
        if (sought, used) == (self.seeks(resource), self.uses(resource)):
            return
        for kinds, belongs in ((self._sought, sought), (self._used, used)):
            if belongs:
                kinds.add(resource)
            else:
                kinds.discard(resource)
        self._changed()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called after each change; returns how to unsubscribe."""
        return self._changed.subscribe(callback)
