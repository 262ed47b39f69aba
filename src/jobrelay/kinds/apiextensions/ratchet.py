"""Ratcheting validation: an update may keep invalid values that were stored before.

A `CorrelatedObject` pairs a value with the stored value at the same place. Objects correlate by field name, lists only
when they are of type map (by their keys). An error of a value that equals its stored counterpart is ignored.
"""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.apiextensions.structural import StructuralSchema


class CorrelatedObject:
    """A new value, the old value at the same path, and their schema."""

    __slots__ = ("_by_key", "_equal", "new", "node", "old")

    def __init__(self, new: Any, old: Any, node: StructuralSchema) -> None:
        self.new, self.old, self.node = new, old, node
        self._equal: bool | None = None
        self._by_key: dict[Any, Any] | None = None

    def key(self, name: str) -> CorrelatedObject | None:
        new, old = self.new, self.old
        if not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
            return None
        child = self.node.child(name)
        return CorrelatedObject(new[name], old[name], child) if child is not None else None

    def index(self, index: int) -> CorrelatedObject | None:
        new, old, items = self.new, self.old, self.node.items
        if self.node.list_type != "map" or items is None:
            return None
        if not isinstance(new, list) or not isinstance(old, list):
            return None
        if self._by_key is None:
            self._by_key = keyed_items(self.node, old)
        found = self._by_key.get(item_key(self.node, new[index]))
        return CorrelatedObject(new[index], found, items) if found is not None else None

    def unchanged(self) -> bool:
        if self._equal is None:
            self._equal = same(self.new, self.old, self.node)
        return self._equal


def same(new: Any, old: Any, node: StructuralSchema | None) -> bool:
    """Equality for ratcheting: map-type lists by key; objects with fields that the schema does not name are never
    equal.
    """
    if node is None:
        return _plainly_same(new, old)
    if isinstance(new, dict):
        if not isinstance(old, dict) or new.keys() != old.keys():
            return False
        children = ((key, node.child(key)) for key in new)
        return all(child is not None and same(new[key], old[key], child) for key, child in children)
    if isinstance(new, list) and isinstance(old, list) and node.list_type == "map" and node.items is not None:
        if len(new) != len(old):
            return False
        by_key = keyed_items(node, old)
        pairs = ((item, by_key.get(item_key(node, item))) for item in new)
        return all(before is not None and same(item, before, node.items) for item, before in pairs)
    return _plainly_same(new, old)


def _plainly_same(new: Any, old: Any) -> bool:
    """Equality of JSON, where 1 is not true."""
    if isinstance(new, dict):
        if not isinstance(old, dict) or new.keys() != old.keys():
            return False
        return all(_plainly_same(value, old[key]) for key, value in new.items())
    if isinstance(new, list):
        if not isinstance(old, list) or len(new) != len(old):
            return False
        return all(_plainly_same(a, b) for a, b in zip(new, old, strict=True))
    return isinstance(new, bool) == isinstance(old, bool) and bool(new == old)


def item_key(node: StructuralSchema, item: Any) -> Any:
    """The key of an item of a map-type list; None for anything that has none."""
    if not isinstance(item, dict):
        return None
    key: list[Any] = []
    items = node.items
    for name in node.map_keys:
        value = item.get(name)
        if value is None and items is not None and (child := items.named(name)) is not None:
            value = child.default
        if isinstance(value, (dict, list)) or value is None:
            return None
        key.append((type(value), value))
    return tuple(key)


def keyed_items(node: StructuralSchema, items: list[Any]) -> dict[Any, Any]:
    """The items of a map-type list by key."""
    found = {item_key(node, item): item for item in items}
    found.pop(None, None)
    return found
