"""Field management of every write that is not an apply: who changed which fields.

A create is compared with an empty object of its kind, an update with the live object. Added and modified fields are
then owned by the writer alone; removed fields by no manager. Metadata that the server itself manages is never recorded,
nor are the fields that a write through a subresource cannot change.

An object whose managedFields were wiped is not tracked again until the next apply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobrelay.apimachinery.apply.compare import NOTHING, Comparison, compare
from jobrelay.apimachinery.apply.created import STRIPPED, ResetFields, created_fields, excluded_fields
from jobrelay.apimachinery.apply.entries import ManagedFieldsEntry, ManagedFieldsError, Managers, Wire, cap, read, write
from jobrelay.apimachinery.apply.fieldset import LEAF, Fields, difference, intersection, ordered, union
from jobrelay.apimachinery.apply.schema import Schema, built_in_schema
from jobrelay.apimachinery.apply.typed import TypedError, validate

Obj = dict[str, Any]
Schemas = Callable[[str], Schema | None]  # the schema of the same kind in another version
Convert = Callable[[Obj, str], Obj]  # the object in another version


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
    convert: Convert | None = None,
) -> Wire | None:
    """The managedFields of an object that is being created (live is None) or changed, or None for none.

    new is the object as decoded and defaulted, before admission and before the strategy's prepare hooks. reset_fields
    are those of the subresource. sent are the managedFields of the request before they were decoded: an empty list
    there, which wipes those of built-in kinds, cannot be told from absence in `new`. schemas and convert serve managers
    of other versions; without them the object is taken to look the same in all versions of its group.
    """
    try:
        managers = _starting_point(live, new, None if schema.custom else sent, subresource)
        if live is not None and not managers:
            return None
        if schema.custom:
            validate(unmanaged(new), schema.root)
        writer = ManagedFieldsEntry(manager or "unknown", "Update", api_version, {}, now, subresource)
        if live is None and not managers:
            fields = created_fields(unmanaged(new), schema, reset_fields)
            return [writer.with_fields(fields).wire()] if fields else None
        kind = ManagedKind(schema, excluded_fields(reset_fields), schemas, convert)
        return write(track(schema.empty if live is None else live, new, managers, writer, kind))
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


class ManagedKind:
    """What is known of the kind: its schema, the fields that are not tracked, how it looks in other versions."""

    __slots__ = ("_convert", "_schemas", "excluded", "schema")

    def __init__(self, schema: Schema, excluded: Fields, schemas: Schemas | None, convert: Convert | None) -> None:
        self.schema, self.excluded, self._schemas, self._convert = schema, excluded, schemas, convert

    def schema_of(self, version: str) -> Schema | None:
        if self._schemas is not None:
            return self._schemas(version)
        if self.schema.custom:
            return self.schema if _group(version) == _group(self.schema.version) else None
        return built_in_schema(version, self.schema.kind)

    def compare(self, old: Obj, new: Obj, version: str) -> Comparison | None:
        """What differs, as a manager of some version sees it; None when there is no such version any more."""
        schema = self.schema if version == self.schema.version else self.schema_of(version)
        if schema is None:
            return None
        if version != self.schema.version and self._convert is not None:
            old, new = self._convert(old, version), self._convert(new, version)
            if schema.custom:
                validate(old, schema.root)
                validate(new, schema.root)
        return compare(self._tracked(old), self._tracked(new), schema.root).without(self.excluded)

    def _tracked(self, obj: Obj) -> Obj:
        """The parts of an object of which anything is tracked."""
        excluded = self.excluded
        return {name: part for name, part in obj.items() if excluded.get(f"f:{name}") != LEAF}


def _group(version: str) -> str:
    return version.rpartition("/")[0]


def track(old: Obj, new: Obj, managers: Managers, writer: ManagedFieldsEntry, kind: ManagedKind) -> Managers:
    """The managers after a write by `writer`."""
    versions = VersionedComparison(unmanaged(old), unmanaged(new), kind)
    changes = versions.own
    managers = settle(managers, "", versions)
    fields = difference(union(changes.modified, changes.added), STRIPPED)
    if fields:
        identity = writer.identity
        previous = managers.get(identity)
        joined = union(fields, previous.fields) if previous is not None else fields
        managers[identity] = writer.with_fields(ordered(joined))
    return cap(managers)


def unmanaged(obj: Obj) -> Obj:
    """The object without its managedFields."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


class VersionedComparison:
    """Compares two objects in the version of the request, and in the versions of other managers when needed."""

    def __init__(self, old: Obj, new: Obj, kind: ManagedKind) -> None:
        self._old, self._new, self._kind = old, new, kind
        own = kind.compare(old, new, kind.schema.version)
        self.own = own if own is not None else NOTHING
        self._made: dict[str, Comparison | None] = {kind.schema.version: self.own}

    def compare(self, version: str) -> Comparison | None:
        """None when there is no such version any more."""
        if version not in self._made:
            self._made[version] = self._kind.compare(self._old, self._new, version)
        return self._made[version]


def settle(managers: Managers, writer: str, versions: VersionedComparison) -> Managers:
    """The managers after a change: changed fields stay with the writer only, removed fields with no manager."""
    out: Managers = {}
    taken: dict[str, Fields] = {}
    for identity, entry in managers.items():
        fields = entry.fields
        if identity != writer:
            seen = versions.compare(entry.version)
            if seen is None:
                continue
            if entry.version not in taken:
                taken[entry.version] = union(seen.modified, seen.added)
            lost = intersection(fields, taken[entry.version])
            fields = difference(difference(fields, lost), seen.removed)
        if fields:
            out[identity] = entry if fields is entry.fields else entry.with_fields(fields)
    return out
