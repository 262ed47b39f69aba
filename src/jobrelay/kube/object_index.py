"""The objects a watch cache holds, their indexes, and who wants to know about changes.

Everything here is synchronous: one call makes one change, and every handler has heard of it before the call returns.
A handler therefore sees each change exactly once and in order, as the pair (old, new): (None, new) for an addition,
(old, None) for a deletion, both for a modification. Handlers should only note what changed, typically by putting a key
on a work queue; an exception from a handler is a bug and is not caught here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from .objects import Key, Object

__all__ = ["ChangeHandler", "IndexFunc", "ObjectIndex", "is_newer", "is_older"]

ChangeHandler: TypeAlias = Callable[[Object | None, Object | None], None]
IndexFunc: TypeAlias = Callable[[Object], Iterable[str]]


def is_newer(version: str, than: str) -> bool:
    """Whether a resourceVersion lies after another; versions that are not numbers can only differ."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than


def is_older(version: str, than: str) -> bool:
    """Whether a resourceVersion is known to lie before another, which takes numbers."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


class _Index:
    def __init__(self, indexer: IndexFunc) -> None:
        self.indexer = indexer
        self.keys: dict[str, dict[Key, None]] = {}
        self._values: dict[Key, tuple[str, ...]] = {}

    def update(self, key: Key, new: Object | None) -> None:
        before = self._values.pop(key, ())
        after = tuple(self.indexer(new)) if new is not None else ()
        if after:
            self._values[key] = after
        if before == after:
            return
        for value in set(before).difference(after):
            bucket = self.keys[value]
            del bucket[key]
            if not bucket:
                del self.keys[value]
        for value in set(after).difference(before):
            self.keys.setdefault(value, {})[key] = None


class ObjectIndex:
    """A readable collection of objects by key."""

    def __init__(self) -> None:
        self._objects: dict[Key, Object] = {}
        self._indexes: dict[str, _Index] = {}
        self._handlers: dict[int, ChangeHandler] = {}
        self._subscriptions = 0

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[Object]:
        """The objects at this moment; the store may change while they are walked."""
        return iter(tuple(self._objects.values()))

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def add_index(self, name: str, indexer: IndexFunc) -> None:
        """Keep objects findable by the values `indexer` returns for them."""
        if name in self._indexes:
            raise ValueError(f"there is already an index named {name!r}")
        index = self._indexes[name] = _Index(indexer)
        for key, obj in self._objects.items():
            index.update(key, obj)

    def by_index(self, name: str, value: str) -> tuple[Object, ...]:
        """The objects that have this value in this index."""
        return tuple(self._objects[key] for key in self._indexes[name].keys.get(value, ()))

    def subscribe(self, handler: ChangeHandler) -> Callable[[], None]:
        """Tell `handler` of every object there is, then of every change; returns how to stop that."""
        for obj in self:
            handler(None, obj)
        self._subscriptions += 1
        number = self._subscriptions
        self._handlers[number] = handler

        def unsubscribe() -> None:
            self._handlers.pop(number, None)

        return unsubscribe

    def put(self, obj: Object) -> None:
        """Add or replace one object; the same version again changes nothing.

        Another uid under a known key means that a deletion was not seen, so it is told before the addition.
        """
        old = self._objects.get(obj.key)
        if old is not None and old.uid != obj.uid:
            self.discard(obj.key)
            old = None
        if old is None or is_newer(obj.resource_version, old.resource_version):
            self._change(obj.key, old, obj)

    def discard(self, key: Key, last: Object | None = None) -> None:
        """Remove one object, telling handlers its `last` state if that is known to be newer than the held one."""
        held = self._objects.get(key)
        if held is not None:
            self._change(key, held, None, last)

    def replace(self, objects: Iterable[Object]) -> None:
        """Make the store hold exactly these objects, telling handlers only the differences, deletions first."""
        fresh = {obj.key: obj for obj in objects}
        for key in [key for key in self._objects if key not in fresh]:
            self.discard(key)
        for obj in fresh.values():
            self.put(obj)

    def _change(self, key: Key, old: Object | None, new: Object | None, last: Object | None = None) -> None:
        if new is None:
            del self._objects[key]
        else:
            self._objects[key] = new
        for index in self._indexes.values():
            index.update(key, new)
        for handler in tuple(self._handlers.values()):
            handler(last or old, new)
