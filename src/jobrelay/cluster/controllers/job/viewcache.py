"""Decodes each object once per version, since objects are read far more often than they change."""

from __future__ import annotations

from typing import Generic, TypeVar

from jobrelay.kube.objects import Key, Object

T = TypeVar("T")


class ViewCache(Generic[T]):
    """Decoded views of the objects of one kind, until they are forgotten."""

    def __init__(self, view: type[T]) -> None:
        self._view = view
        self._known: dict[Key, tuple[Object, T]] = {}

    def of(self, obj: Object) -> T:
        known = self._known.get(obj.key)
        if known is not None and known[0] is obj:
            return known[1]
        view = obj.decode(self._view)
        self._known[obj.key] = (obj, view)
        return view

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)
