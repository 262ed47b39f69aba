"""One kind of object on a worker, over all namespaces or over several, as one collection.

A role in some namespaces does not allow a watch over all of them. Then each namespace has a cache of its own, and this
store collects what they hold. Namespaces are only added: mirrors in one that the worker no longer serves are followed
to their end.

Only mirrors get in. Objects that merely look like some are held apart, in `unproven`. The children of some kinds
inherit all labels and annotations of a mirror, its proof included, which is not valid for them; they have an owner that
controls them, and are neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jobrelay.kube import Cache, Object
from jobrelay.kube.object_index import ObjectIndex
from jobrelay.relay.workers.proving import MirrorProver


class ScopedCache(ObjectIndex):
    """Holds those mirrors that its parts hold; `make` makes the cache of one namespace, or of all for None."""

    def __init__(self, make: Callable[[str | None], Cache], prover: MirrorProver) -> None:
        super().__init__()
        self._make, self._prover = make, prover
        self.unproven = ObjectIndex()
        """Objects with our label that are not proven to be mirrors."""
        self._parts: dict[str | None, Cache] = {}
        self._rescoped = False

    @property
    def parts(self) -> tuple[Cache, ...]:
        return tuple(self._parts.values())

    @property
    def synced(self) -> bool:
        return bool(self._parts) and all(part.synced.is_set() for part in self.parts)

    def scope(self, namespaces: Sequence[str]) -> tuple[Cache, ...]:
        """The caches to run from now on: one for each namespace, or one over all. Call it only while none runs."""
        if self._parts and bool(namespaces) == (None in self._parts):
            self._parts.clear()
            self._rescoped = True
        for namespace in namespaces or (None,):
            if namespace not in self._parts:
                part = self._parts[namespace] = self._make(namespace)
                part.subscribe(self._part_changed)
        return self.parts

    def observe(self, obj: Object) -> None:
        """Put the reply to an own write into the cache."""
        part = self._parts.get(obj.namespace) or self._parts.get(None)
        if part is not None:
            part.observe(obj)
        else:
            self._judge(obj)

    def judge_again(self) -> None:
        """Look for mirrors among the unproven objects, because keys have changed."""
        for obj in self.unproven:
            self._judge(obj)

    def settle(self) -> None:
        """After a change from all namespaces to some, or back: discard what the new parts do not hold."""
        if self._rescoped and self.synced:
            self._rescoped = False
            for held in (self, self.unproven):
                for obj in held:
                    if not any(obj.key in part for part in self.parts):
                        held.discard(obj.key)
                        self._prover.forget(obj.uid)

    def start_over(self) -> None:
        for part in self.parts:
            part.start_over()

    def deleted(self) -> None:
        """All objects were deleted, with the definition of their kind. Only to be called while no part runs."""
        for part in self.parts:
            part.replace(())
            part.start_over()
        for held in (self, self.unproven):
            held.replace(())

    def _part_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._judge(new)
        elif old is not None:
            self.discard(old.key, self._prover.prove(old))
            self.unproven.discard(old.key, old)
            self._prover.forget(old.uid)

    def _judge(self, obj: Object) -> None:
        mirror = self._prover.prove(obj)
        if mirror is not None:
            self.unproven.discard(obj.key)
            self.put(mirror)
            return
        self.discard(obj.key)
        if obj.metadata.controller is None:
            self.unproven.put(obj)
        else:
            self.unproven.discard(obj.key)
