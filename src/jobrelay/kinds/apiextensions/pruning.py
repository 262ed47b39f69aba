"""Pruning and defaulting of objects by their structural schema, before validation.

Unknown fields are removed (and their paths returned, for warnings and strict requests), nulls that the schema does not
allow are removed or replaced by the default, then defaults are set from the outside to the inside.
"""

from __future__ import annotations

import copy
from typing import Any

from jobrelay.kinds.apiextensions.structural import StructuralSchema

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(obj: dict[str, Any], root: StructuralSchema) -> list[str]:
    """Removes unknown fields from a resource in place; returns their paths, sorted."""
    unknown: list[str] = []
    _prune(obj, root, "", unknown, is_resource=True)
    return sorted(unknown)


def prune_value(value: Any, node: StructuralSchema, *, is_resource: bool = False) -> bool:
    """Prunes a value by its schema; returns whether something was removed."""
    unknown: list[str] = []
    _prune(value, node, ".", unknown, is_resource=is_resource)
    return bool(unknown)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _prune(
    value: Any, node: StructuralSchema | None, path: str, unknown: list[str], *, is_resource: bool = False
) -> None:
    if node is not None and node.preserve:
        _walk_preserved(value, node, path, unknown, is_resource=is_resource)
    elif isinstance(value, dict):
        _prune_object(value, node, path, unknown, is_resource=is_resource)
    elif isinstance(value, list):
        items = node.items if node is not None else None
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                _prune(item, items, f"{path}[{index}]", unknown)


def _prune_object(
    value: dict[str, Any], node: StructuralSchema | None, path: str, unknown: list[str], *, is_resource: bool
) -> None:
    if node is None:
        unknown.extend(_join(path, key) for key in value)
        value.clear()
        return
    embedded, dropped = is_resource or node.embedded, []
    for key, item in value.items():
        if embedded and key in META_FIELDS:
            continue
        child = node.named(key)
        if child is None and not node.has_additional:
            dropped.append(key)
        elif isinstance(item, (dict, list)):
            _prune(item, child or node.values, _join(path, key), unknown)
    for key in dropped:
        del value[key]
        unknown.append(_join(path, key))


def _walk_preserved(
    value: Any, node: StructuralSchema | None, path: str, unknown: list[str], *, is_resource: bool = False
) -> None:
    """Below x-kubernetes-preserve-unknown-fields only what is specified is pruned further."""
    if node is None:
        return
    if isinstance(value, dict):
        embedded = is_resource or node.embedded
        for key, item in value.items():
            child = node.named(key)
            if (embedded and key in META_FIELDS) or (child is None and not node.has_additional):
                continue
            _prune(item, child or node.values, _join(path, key), unknown)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk_preserved(item, node.items, f"{path}[{index}]", unknown)


def prune_nulls(value: Any, node: StructuralSchema | None) -> None:
    """Drops nulls that are neither allowed nor going to be defaulted."""
    if isinstance(value, dict):
        for key in [k for k, item in value.items() if item is None]:
            child = node.child(key) if node is not None else None
            if child is not None and not child.nullable and child.default is None:
                del value[key]
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                prune_nulls(item, node.child(key) if node is not None else None)
    elif isinstance(value, list):
        items = node.items if node is not None else None
        for item in value:
            prune_nulls(item, items)


def default(value: Any, node: StructuralSchema | None) -> None:
    """Fills in defaults, in place."""
    if node is None:
        return
    if isinstance(value, dict):
        _default_object(value, node)
    elif isinstance(value, list):
        items = node.items
        if items is None:
            return
        for index, item in enumerate(value):
            if item is None and not items.nullable:
                value[index] = copy.deepcopy(items.default)
            default(value[index], items)


def _default_object(value: dict[str, Any], node: StructuralSchema) -> None:
    for name, schema in node.schema.get("properties", {}).items():
        made = schema.get("default")
        if made is None:
            continue
        if name not in value or (value[name] is None and not schema.get("nullable")):
            value[name] = copy.deepcopy(made)
    for key, item in value.items():
        child = node.named(key)
        if child is None:
            child = node.values
            if child is not None and item is None and not child.nullable:
                value[key] = item = copy.deepcopy(child.default)
        if child is not None and isinstance(item, (dict, list)):
            default(item, child)
