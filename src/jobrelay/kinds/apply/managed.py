"""Field management of every write that is not an apply: who changed which fields.

A create is compared with an empty object of its kind, an update with the live object. What was added or modified belongs to
the writer from then on and to nobody else; what was removed belongs to nobody. Metadata that the server itself manages is
never recorded, nor are the fields that a write through a subresource cannot change.

An object whose managedFields were wiped is not tracked again until the next apply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from jobrelay.kinds.apply.compare import Comparison, compare
from jobrelay.kinds.apply.entries import Entry, ManagedFieldsError, Managers, Wire, cap, read, write
from jobrelay.kinds.apply.fieldset import Fields, difference, from_paths, intersection, union
from jobrelay.kinds.apply.schema import Schema, built_in_schema
from jobrelay.kinds.apply.typed import TypedError

Obj = dict[str, Any]
ResetFields = tuple[tuple[str, ...], ...]
Schemas = Callable[[str], Schema | None]  # the schema of the same kind in another version
SELF: Final = "current-operation"
_UNTRACKED: Final = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip
STRIPPED: Final = from_paths(
    (("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _UNTRACKED)),
)


def update_managed_fields(
    live: Obj | None,
    new: Obj,
    *,
    manager: str,
    api_version: str,
    now: str,
    schema: Schema,
    subresource: str = "",
    reset_fields: ResetFields = (),
    sent: list[Any] | None = None,
    schemas: Schemas | None = None,
) -> Wire | None:
    """The managedFields of an object that is being created (live is None) or changed, or None for none.

    new is the object as decoded and defaulted, before admission and before the strategy's prepare hooks. reset_fields
    are those of the subresource. sent are the managedFields of the request before they were decoded: an empty list
    there, which wipes those of built-in kinds, cannot be told from absence in `new`.
    """
    try:
        managers = _starting_point(live, new, None if schema.custom else sent, subresource)
        if live is not None and not managers:
            return None
        writer = Entry(manager or "unknown", "Update", api_version, {}, now, subresource)
        base = schema.empty if live is None else live
        return write(track(base, new, managers, writer, schema, reset_fields, schemas))
    except TypedError:
        return None


def _starting_point(live: Obj | None, new: Obj, sent: list[Any] | None, subresource: str) -> Managers:
    """The managers before the write. A client may send managedFields of its own, but not through a subresource."""
    before: Wire | None = live["metadata"].get("managedFields") if live is not None else None
    given = new["metadata"].get("managedFields")
    if not subresource:
        if given == [{}] or (sent is not None and not sent):
            return {}
        if given and given != before:
            try:
                return read(given, trusted=False)
            except ManagedFieldsError:
                pass
    return read(before, trusted=True)


def track(
    old: Obj,
    new: Obj,
    managers: Managers,
    writer: Entry,
    schema: Schema,
    reset_fields: ResetFields,
    schemas: Schemas | None,
) -> Managers:
    """The managers after a write by `writer`."""
    old, new = unmanaged(old), unmanaged(new)
    excluded = excluded_fields(reset_fields)
    changes = compare(old, new, schema.root).without(excluded)
    managers = settle(managers, "", changes, Versions(old, new, schema, excluded, schemas))
    fields = difference(union(changes.modified, changes.added), STRIPPED)
    if fields:
        previous = managers.get(writer.identity)
        joined = union(fields, previous.fields) if previous is not None else fields
        managers[writer.identity] = writer.with_fields(joined)
    return cap(managers)


def unmanaged(obj: Obj) -> Obj:
    """The object without its managedFields."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def excluded_fields(reset_fields: ResetFields) -> Fields:
    found = _EXCLUDED.get(reset_fields)
    if found is None:
        found = _EXCLUDED[reset_fields] = from_paths(reset_fields)
    return found


_EXCLUDED: Final[dict[ResetFields, Fields]] = {}


class Versions:
    """The comparison of the two objects as managers of other versions see it; objects are the same in all versions."""

    def __init__(self, old: Obj, new: Obj, schema: Schema, excluded: Fields, schemas: Schemas | None) -> None:
        self._old, self._new, self._excluded, self.version = old, new, excluded, schema.version
        self._schemas = schemas or (lambda version: built_in_schema(version, schema.kind))
        self._made: dict[str, Comparison | None] = {}

    def compare(self, version: str) -> Comparison | None:
        """None when there is no such version any more."""
        if version not in self._made:
            schema = self._schemas(version)
            made = compare(self._old, self._new, schema.root).without(self._excluded) if schema else None
            self._made[version] = made
        return self._made[version]


def settle(managers: Managers, writer: str, changes: Comparison, versions: Versions) -> Managers:
    """The managers after a change: nobody but the writer keeps what changed, and nobody what is gone."""
    out: Managers = {}
    for identity, entry in managers.items():
        fields = entry.fields
        if identity != writer:
            seen = changes if entry.version == versions.version else versions.compare(entry.version)
            if seen is None:
                continue
            lost = intersection(fields, union(seen.modified, seen.added))
            fields = difference(difference(fields, lost), seen.removed)
        if fields:
            out[identity] = entry if fields is entry.fields else replace(entry, fields=fields)
    return out
