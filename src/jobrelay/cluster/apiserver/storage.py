"""Objects on their way into the store: JSON without apiVersion and kind, with the version of their write."""

from __future__ import annotations

from typing import Final

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.store import Item, Store
from jobrelay.kinds.strategy import Obj

_TYPE_AND_METADATA: Final = frozenset({"kind", "apiVersion", "metadata"})


def stored_json(obj: Obj) -> bytes:
    """An object as it is stored: without apiVersion and kind, metadata first."""
    rest = {key: value for key, value in obj.items() if key not in _TYPE_AND_METADATA}
    return represent.encode({"metadata": obj["metadata"], **rest})


def current(served: ServedResource, item: Item) -> Obj:
    """A stored object in the version of a resource."""
    return represent.versioned(served, represent.stored(item.raw))


def to_storage(served: ServedResource, obj: Obj) -> Obj:
    """An object of a resource's version as it is stored."""
    return obj if served.to_storage is None else served.to_storage(obj)


def put(store: Store, key: str, namespace: str, name: str, obj: Obj) -> bytes:
    """Stores an object with the version of this write as its resourceVersion; returns its stored JSON."""
    raw = _numbered(store, obj)
    store.put(key, namespace, name, raw)
    return raw


def remove(store: Store, key: str, namespace: str, name: str, obj: Obj) -> bytes:
    """Removes an object, whose last state gets the version of this write; returns that state's stored JSON."""
    raw = _numbered(store, obj)
    store.delete(key, namespace, name, raw)
    return raw


def _numbered(store: Store, obj: Obj) -> bytes:
    obj["metadata"]["resourceVersion"] = str(store.next_version())
    return stored_json(obj)
