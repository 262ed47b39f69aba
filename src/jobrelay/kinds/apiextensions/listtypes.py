"""Uniqueness in lists of type set (whole items) and map (their keys)."""

from __future__ import annotations

from typing import Any

import msgspec

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.kinds.apiextensions.structural import StructuralSchema


def validate_lists(value: Any, node: StructuralSchema | None, path: Path) -> list[FieldError]:
    """The duplicates in every set and map below a value."""
    errors: list[FieldError] = []
    _walk(value, node, path, errors)
    return errors


def _walk(value: Any, node: StructuralSchema | None, path: Path, errors: list[FieldError]) -> None:
    if node is None:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                child = node.named(key)
                if child is not None:
                    _walk(item, child, path.child(key), errors)
                else:
                    _walk(item, node.values, path.key(key), errors)
    elif isinstance(value, list):
        if node.list_type == "set":
            errors.extend(field.duplicate(path.index(i), value[i]) for i in _repeated(value))
        elif node.list_type == "map":
            errors.extend(_map_errors(value, node, path))
        items = node.items
        for index, item in enumerate(value):
            _walk(item, items, path.index(index), errors)


def _map_errors(value: list[Any], node: StructuralSchema, path: Path) -> list[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            return [field.invalid(path.index(index), item, "must be an object for an array of list-type map")]
    keys = [{name: item[name] for name in node.map_keys if name in item} if item else {} for item in value]
    return [field.duplicate(path.index(i), keys[i]) for i in _repeated(keys)]


def _repeated(items: list[Any]) -> list[int]:
    """The index where an item appears for the second time; further repetitions are not reported."""
    seen: dict[bytes, int] = {}
    found = []
    for index, item in enumerate(items):
        text = msgspec.json.encode(item, order="sorted")
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            found.append(index)
    return found
