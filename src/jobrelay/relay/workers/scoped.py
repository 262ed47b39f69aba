"""One kind of object on a worker, over all namespaces or over several: one watch for each, seen as one collection.

A role in some namespaces does not allow a watch over all of them. Every namespace then has a cache of its own, and what each
of them tells goes on into this store. Namespaces are only ever added: what the relay has in one that a worker is no longer to
serve is followed to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jobrelay.kube import Cache, KubeError, Object
from jobrelay.kube.object_index import ObjectIndex

__all__ = ["ScopedCache"]


class ScopedCache(ObjectIndex):
    """Holds what all its parts hold; `make` makes the cache of one namespace, or of all for None."""

    def __init__(self, make: Callable[[str | None], Cache]) -> None:
        super().__init__()
        self._make = make
        self._parts: dict[str | None, Cache] = {}
        self._rescoped = False

    @property
    def parts(self) -> tuple[Cache, ...]:
        return tuple(self._parts.values())

    @property
    def synced(self) -> bool:
        """Whether everything that can be known is known."""
        return bool(self._parts) and all(part.synced.is_set() for part in self.parts)

    @property
    def last_error(self) -> KubeError | None:
        return next((part.last_error for part in self.parts if part.last_error is not None), None)

    def scope(self, namespaces: Sequence[str]) -> tuple[Cache, ...]:
        """The caches to run from now on: one for each namespace, or one over all. To be called while none is run."""
        if self._parts and bool(namespaces) == (None in self._parts):
            self._parts.clear()
            self._rescoped = True
        for namespace in namespaces or (None,):
            if namespace not in self._parts:
                part = self._parts[namespace] = self._make(namespace)
                part.subscribe(self._told)
        return self.parts

    def observe(self, obj: Object) -> None:
        """Take over the reply to an own write."""
        part = self._parts.get(obj.namespace) or self._parts.get(None)
        if part is not None:
            part.observe(obj)
        else:
            self.put(obj)

    def settle(self) -> None:
        """After a change from all namespaces to some, or back: let go what the new parts do not know."""
        if self._rescoped and self.synced:
            self._rescoped = False
            for obj in self:
                if not any(obj.key in part for part in self.parts):
                    self.discard(obj.key)

    def start_over(self) -> None:
        for part in self.parts:
            part.start_over()

    def _told(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.put(new)
        elif old is not None:
            self.discard(old.key, old)
