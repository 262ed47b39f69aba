"""Objects by key with secondary indexes and change handlers; client-go calls it an Indexer.

Each change calls all handlers before it returns, so a handler sees each change once and in order, as (old, new):
(None, new) for an addition, (old, None) for a deletion. Handlers should be quick, typically adding a key to a work
queue. Their exceptions are not caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from .objects import Key, Object

__all__ = ["ChangeHandler", "IndexFunc", "ObjectIndex", "is_newer", "is_older"]

ChangeHandler: TypeAlias = Callable[[Object | None, Object | None], None]
IndexFunc: TypeAlias = Callable[[Object], Iterable[str]]


def is_newer(version: str, than: str) -> bool:
    """Whether a resourceVersion is after another; if they are not numbers, whether they differ."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than


def is_older(version: str, than: str) -> bool:
    """Whether both resourceVersions are numbers and the first is before the other."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


class _Index:
    """Keys by value. Most values, such as uids, belong to one key, which is held without a collection around it."""

    def __init__(self, indexer: IndexFunc) -> None:
        self.indexer = indexer
        self._keys: dict[str, Key | dict[Key, None]] = {}
        self._values: dict[Key, tuple[str, ...]] = {}

    def update(self, key: Key, new: Object | None) -> None:
        before = self._values.pop(key, ())
        after = tuple(self.indexer(new)) if new is not None else ()
        if after:
            self._values[key] = after
        if before == after:
            return
        for value in set(before).difference(after):
            self._remove(value, key)
        for value in set(after).difference(before):
            self._add(value, key)

    def find(self, value: str) -> Iterable[Key]:
        found = self._keys.get(value, {})
        return found if isinstance(found, dict) else (found,)

    def _add(self, value: str, key: Key) -> None:
        found = self._keys.get(value)
        if found is None:
            self._keys[value] = key
        elif isinstance(found, dict):
            found[key] = None
        else:
            self._keys[value] = {found: None, key: None}

    def _remove(self, value: str, key: Key) -> None:
        found = self._keys[value]
        if isinstance(found, dict):
            del found[key]
        if not isinstance(found, dict) or not found:
            del self._keys[value]


class ObjectIndex:
    """Objects by key; `add_index` makes them also findable by other values."""

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
        """The present objects; the index may change during the iteration."""
        return iter(tuple(self._objects.values()))

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def add_index(self, name: str, indexer: IndexFunc) -> None:
        """Index objects by the values that `indexer` returns for them."""
        if name in self._indexes:
            raise ValueError(f"there is already an index named {name!r}")
        index = self._indexes[name] = _Index(indexer)
        for key, obj in self._objects.items():
            index.update(key, obj)

    def by_index(self, name: str, value: str) -> tuple[Object, ...]:
        """The objects with this value in this index."""
        return tuple(self._objects[key] for key in self._indexes[name].find(value))

    def subscribe(self, handler: ChangeHandler) -> Callable[[], None]:
        """Call `handler` for each present object, then for each change; returns a function that ends this."""
        for obj in self:
            handler(None, obj)
        self._subscriptions += 1
        number = self._subscriptions
        self._handlers[number] = handler

        def unsubscribe() -> None:
            self._handlers.pop(number, None)

        return unsubscribe

    def put(self, obj: Object) -> None:
        """Add or replace one object; does nothing if it is not newer.

        Another uid for a known key means that a deletion was missed, so handlers get that first.
        """
        old, new = self._objects.get(obj.key), obj.metadata
        if old is not None and old.metadata.uid != new.uid:
            self.discard(obj.key)
            old = None
        if old is None or is_newer(new.resource_version, old.metadata.resource_version):
            self._change(obj.key, old, obj)

    def discard(self, key: Key, last: Object | None = None) -> None:
        """Remove one object; handlers get its `last` state if it is given."""
        held = self._objects.get(key)
        if held is not None:
            self._change(key, held, None, last)

    def replace(self, objects: Iterable[Object]) -> None:
        """Replace all objects; handlers get only the differences, deletions first."""
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
