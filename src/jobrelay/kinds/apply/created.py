"""The fields that a new object gives its creator.

Each part of the object counts by itself, and all but the metadata are often the same from one object to the next: the Jobs
of a sweep, the Pods of a Job. Their fields are remembered by what the part looks like in JSON, which is far cheaper to
write down than its fields are to find; those of a part that holds nothing but texts by its keys. What is remembered is
bounded in number and size.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.kinds.apply.compare import compare
from jobrelay.kinds.apply.fieldset import LEAF, Fields, difference, from_paths, ordered, union
from jobrelay.kinds.apply.schema import Schema

ResetFields = tuple[tuple[str, ...], ...]
MOST: Final = 256
LONGEST: Final = 8192
_FEW: Final = 16
_UNTRACKED: Final = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip
_TYPE: Final = frozenset({"apiVersion", "kind"})
_SCALARS: Final = frozenset({str, int, bool})
STRIPPED: Final = from_paths(
    (("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _UNTRACKED)),
)
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
        part = new[name]
        remembers = not schema.custom and type(part) is dict and (name != "metadata" or _is_flat(part))
        out |= (_remembered_fields if remembers else _fields)(name, part, schema, reset_fields)
    return out


def _remembered_fields(name: str, part: Any, schema: Schema, reset_fields: ResetFields) -> Fields:
    look = tuple(part) if _is_flat(part) else msgspec.json.encode(part)
    key = (schema.version, schema.kind, name, reset_fields, look)
    found = _remembered.get(key)
    if found is None:
        found = _fields(name, part, schema, reset_fields)
        if len(look) <= LONGEST:
            if len(_remembered) >= MOST:
                _remembered.clear()
            _remembered[key] = found
    return found


def _is_flat(part: dict[str, Any]) -> bool:
    """Whether a part has no other fields than its few keys, whatever the values are: texts, none of them empty."""
    return len(part) <= _FEW and all(type(value) is str and value for value in part.values())


def _fields(name: str, part: Any, schema: Schema, reset_fields: ResetFields) -> Fields:
    """The fields of one part, compared with what an empty object of the kind has there."""
    excluded = excluded_fields(reset_fields)
    if type(part) in _SCALARS and name not in schema.empty and f"f:{name}" not in excluded:
        return {f"f:{name}": LEAF}
    before = {name: schema.empty[name]} if name in schema.empty else {}
    changes = compare(before, {name: part}, schema.root).without(excluded)
    return ordered(difference(union(changes.modified, changes.added), STRIPPED))
