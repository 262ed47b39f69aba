"""The fields that a new object gives its creator.

Each part of the object counts by itself, and is often the same from one object to the next: the Jobs of a sweep, the
Pods of a Job. Their fields are remembered by what the part looks like in JSON, which is far cheaper to write down than
its fields are to find; those of metadata and of a part that holds nothing but texts by their keys, and of a scalar by
whether it is zero. The texts of a part, such as the host name in a pod's spec, do not count: they are owned whatever
they say. What is remembered is bounded in number and size.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.apimachinery.apply.compare import compare
from jobrelay.apimachinery.apply.fieldset import Fields, difference, from_paths, ordered, union
from jobrelay.apimachinery.apply.schema import Schema

ResetFields = tuple[tuple[str, ...], ...]
Look = bytes | tuple[Any, ...]
MOST: Final = 256
LONGEST: Final = 8192
_FEW: Final = 16
_UNTRACKED: Final = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip
_TYPE: Final = frozenset({"apiVersion", "kind"})
_TEXTS: Final = frozenset({str})
_TEXT: Final = msgspec.Raw(b"~")  # stands for a text that is not empty; nothing else is written so
_SCALARS: Final = frozenset({str, int, bool, type(None)})
STRIPPED: Final = from_paths((("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _UNTRACKED)))
_remembered: Final[dict[tuple[Any, ...], Fields]] = {}
_EXCLUDED: Final[dict[ResetFields, Fields]] = {}


def excluded_fields(reset_fields: ResetFields) -> Fields:
    found = _EXCLUDED.get(reset_fields)
    if found is None:
        found = _EXCLUDED[reset_fields] = from_paths(reset_fields)
    return found


def created_fields(new: dict[str, Any], schema: Schema, reset_fields: ResetFields) -> Fields:
    """The fields of a new object, in the server's order and without those that are not tracked."""
    out: Fields = {}
    for name in sorted(new.keys() - _TYPE):
        look = None if schema.custom else _look(name, new[name])
        if look is None:
            out |= _fields(name, new[name], schema, reset_fields)
        else:
            out |= _remembered_fields(look, name, new[name], schema, reset_fields)
    return out


def _remembered_fields(look: Look, name: str, part: Any, schema: Schema, reset_fields: ResetFields) -> Fields:
    key = (schema.version, schema.kind, name, reset_fields, look)
    found = _remembered.get(key)
    if found is None:
        found = _fields(name, part, schema, reset_fields)
        if len(_remembered) >= MOST:
            _remembered.clear()
        _remembered[key] = found
    return found


def _look(name: str, part: Any) -> Look | None:
    """What the fields of a part depend on, if that can come again: parts of an equal look have the same fields."""
    kind = type(part)
    if kind in _SCALARS:
        return kind, bool(part)
    if kind is not dict:
        return None
    if name == "metadata":
        return _metadata_look(part)
    if _has_few_keys(part) and all(part.values()) and set(map(type, part.values())) <= _TEXTS:
        return tuple(part)
    raw = msgspec.json.encode({key: _TEXT if value and type(value) is str else value for key, value in part.items()})
    return raw if len(raw) <= LONGEST else None


def _has_few_keys(texts: dict[str, Any]) -> bool:
    """Whether keys are few and short: nobody has checked them yet, and they are held."""
    return len(texts) <= _FEW and sum(map(len, texts)) <= LONGEST


def _metadata_look(metadata: dict[str, Any]) -> Look | None:
    """Names and times, labels and annotations: their owner has the fields, whatever the values. Lists do not recur."""
    look: list[Any] = []
    for key, value in metadata.items():
        kind = type(value)
        if kind is str or value is None:
            look.append((key, value is None))
        elif kind is dict and _has_few_keys(value) and set(map(type, value.values())) <= _TEXTS:
            look.append((key, *value))
        else:
            return None
    return tuple(look)


def _fields(name: str, part: Any, schema: Schema, reset_fields: ResetFields) -> Fields:
    """The fields of one part, compared with what an empty object of the kind has there."""
    excluded = excluded_fields(reset_fields)
    before = {name: schema.empty[name]} if name in schema.empty else {}
    changes = compare(before, {name: part}, schema.root).without(excluded)
    return ordered(difference(union(changes.modified, changes.added), STRIPPED))
