"""Server-side apply: lay a configuration over the live object and record who owns what.

The applier comes to own exactly the fields that its configuration names. Fields that it named last time, but no longer
does, are removed unless somebody else owns them too. A value that differs from what another manager set is a conflict,
unless the request forces it. An apply that changes nothing leaves everything as it is, times included.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jobrelay.apimachinery.apply import lastapplied
from jobrelay.apimachinery.apply.created import STRIPPED, ResetFields, excluded_fields
from jobrelay.apimachinery.apply.entries import ManagedFieldsEntry, ManagedFieldsError, Managers, Wire, read, write
from jobrelay.apimachinery.apply.fieldset import (
    Fields,
    difference,
    has,
    intersection,
    ordered,
    path_text,
    paths,
    recursive_difference,
    union,
)
from jobrelay.apimachinery.apply.managed import (
    Convert,
    ManagedKind,
    Obj,
    Schemas,
    VersionedComparison,
    settle,
    track,
    unmanaged,
)
from jobrelay.apimachinery.apply.merge import merge
from jobrelay.apimachinery.apply.schema import Schema, SchemaNode
from jobrelay.apimachinery.apply.typed import TypedError, field_set, remove, validate, with_named_fields
from jobrelay.apimachinery.decode import json_kind
from jobrelay.apimachinery.patch.convert import UnstructuredConversionError, convert
from jobrelay.apimachinery.patch.errors import PatchError, bad_request, failure
from jobrelay.apimachinery.types import type_for_kind

BEFORE_FIRST_APPLY: Final = "before-first-apply"
KUBECTL: Final = "kubectl"
Conflicts = list[tuple[ManagedFieldsEntry, tuple[str, ...]]]


class ApplyConflict(PatchError):
    """Other managers own fields that the configuration wants to change."""

    def __init__(self, conflicts: Conflicts) -> None:
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {entry.described()}",
                "field": path_text(path),
            }
            for entry, path in conflicts
        ]
        super().__init__(409, "Conflict", _conflict_text(conflicts), {"causes": causes})
        self.conflicts, self.causes = conflicts, causes


def _conflict_text(conflicts: Conflicts) -> str:
    if len(conflicts) == 1:
        entry, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {entry.described()}: {path_text(path)}"
    lines: list[str] = []
    for identity in sorted({entry.identity for entry, _ in conflicts}):
        mine = [(entry, path) for entry, path in conflicts if entry.identity == identity]
        lines.append(f"conflicts with {mine[0][0].described()}:")
        lines += [f"- {path_text(path)}" for _, path in mine]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def apply_object(
    live: Obj | None,
    config: Obj,
    *,
    manager: str,
    api_version: str,
    now: str,
    schema: Schema,
    force: bool = False,
    subresource: str = "",
    reset_fields: ResetFields = (),
    schemas: Schemas | None = None,
    convert: Convert | None = None,
) -> tuple[Obj, Wire | None]:
    """The live object (None: a new one) with the configuration applied, without managedFields, and the managedFields.

    The result still has to be decoded and defaulted. Raises ApplyConflict, or PatchError for a wrong configuration.
    reset_fields, schemas and convert are as for update_managed_fields.
    """
    _check_config(config, schema)
    try:
        validate(config, schema.root)
    except TypedError as error:
        raise failure(f"failed to create typed patch object ({_describe(config)}): {error}") from None
    try:
        managers = read(live["metadata"].get("managedFields"), trusted=True) if live is not None else {}
    except ManagedFieldsError as error:
        raise failure(f"failed to decode managed fields: {error}") from None
    base = unmanaged(live) if live is not None else schema.empty
    kind = ManagedKind(schema, excluded_fields(reset_fields), schemas, convert)
    applier = ManagedFieldsEntry(manager, "Apply", api_version, {}, "", subresource)
    if not managers and live is not None:
        first = ManagedFieldsEntry(BEFORE_FIRST_APPLY, "Update", api_version, {}, now, subresource)
        managers = track(schema.empty, base, {}, first, kind)
    task = _Apply(base, config, kind, applier)
    run = _as_kubectl if manager == KUBECTL else _Apply.run
    try:
        merged, after = run(task, managers, force=force)
    except TypedError as error:
        raise failure(str(error)) from None
    if merged is not base:
        merged = _converted(merged, config, schema)
        if applier.identity in after:
            after[applier.identity] = after[applier.identity]._replace(time=now)
    if manager == KUBECTL:
        merged = lastapplied.record(merged, config)
    return merged, write(after)


def check_apply(body: Any) -> Obj:
    """The configuration of a body decoded from YAML."""
    if body is None:
        return {}
    if not isinstance(body, dict):
        wrong = f"json: cannot unmarshal {json_kind(body)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {wrong}")
    return body


def _check_config(config: Obj, schema: Schema) -> None:
    version, kind = _text(config.get("apiVersion")), _text(config.get("kind"))
    if version.count("/") > 1:
        version = kind = ""
    if (version, kind) != (schema.version, schema.kind):
        raise bad_request(f"invalid object type: {gvk_text(version, kind)}")
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def gvk_text(version: str, kind: str) -> str:
    """A kind as Go prints it: `batch/v1, Kind=Job`, `/v1, Kind=Pod`."""
    return f"{version if '/' in version else '/' + version}, Kind={kind}"


def _describe(config: Obj) -> str:
    metadata = config.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    place = f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}"
    return f"{place}; {gvk_text(_text(config.get('apiVersion')), _text(config.get('kind')))}"


def _converted(merged: Obj, config: Obj, schema: Schema) -> Obj:
    """The object with its numbers in their Go types; the schema let pass what only looks like them."""
    type_ = None if schema.custom else type_for_kind(schema.version, schema.kind)
    if type_ is None:
        return merged
    try:
        made: Obj = convert(merged, type_)
    except UnstructuredConversionError as error:
        why = f"unable to convert unstructured object to {gvk_text(schema.version, schema.kind)}: {error}"
        raise failure(f"failed to convert new object ({_describe(config)}) to proper version: {why}") from None
    return made


class _Apply:
    """One configuration for one live object; it may be tried twice, the second time with force."""

    def __init__(self, live: Obj, config: Obj, kind: ManagedKind, applier: ManagedFieldsEntry) -> None:
        self.live, self.config, self.kind, self.applier = live, config, kind, applier

    def run(self, managers: Managers, *, force: bool) -> tuple[Obj, Managers]:
        """The merged object, the live one itself when nothing changed, and the managers."""
        root, identity = self.kind.schema.root, self.applier.identity
        last = managers.get(identity)
        wanted = recursive_difference(field_set(self.config, root), self.kind.excluded)
        current = last or self.applier
        managers = {**managers, identity: current._replace(version=self.applier.version, fields=wanted)}
        try:
            merged = merge(self.live, self.config, root)
        except TypedError as error:
            raise failure(f"failed to merge config: {error}") from None
        if last is not None and last.fields:
            merged = prune(merged, last.fields, managers.values(), root)
        versions = VersionedComparison(self.live, merged, self.kind)
        if not force:
            self._refuse_conflicts(managers, versions)
        managers = settle(managers, identity, versions)
        return (self.live if merged == self.live else merged), self._strip(managers)

    def _refuse_conflicts(self, managers: Managers, versions: VersionedComparison) -> None:
        conflicts: Conflicts = []
        for identity in sorted(managers):
            entry = managers[identity]
            if identity == self.applier.identity:
                continue
            seen = versions.compare(entry.version)
            if seen is not None:
                lost = intersection(entry.fields, union(seen.modified, seen.added))
                conflicts += [(entry, path) for path in paths(lost)]
        if conflicts:
            raise ApplyConflict(conflicts)

    def _strip(self, managers: Managers) -> Managers:
        mine = managers.get(self.applier.identity)
        if mine is None:
            return managers
        fields = difference(mine.fields, STRIPPED)
        if fields:
            return {**managers, self.applier.identity: mine.with_fields(ordered(fields))}
        return {key: entry for key, entry in managers.items() if key != self.applier.identity}


def prune(merged: Obj, last: Fields, managers: Iterable[ManagedFieldsEntry], root: SchemaNode) -> Obj:
    """The merged object without what the applier no longer names and nobody else owns."""
    named = with_named_fields(last, root)
    everything = with_named_fields(field_set(merged, root), root)
    removed = remove(merged, named, root) or {}
    owned: Fields = {}
    for entry in managers:
        owned = union(owned, entry.fields)
    kept = union(with_named_fields(field_set(removed, root), root), with_named_fields(owned, root))
    pruned = remove(merged, difference(everything, kept), root) or {}
    gone = difference(everything, with_named_fields(field_set(pruned, root), root))
    result: Obj = remove(merged, intersection(gone, named), root) or {}
    return result


def _as_kubectl(task: _Apply, managers: Managers, *, force: bool) -> tuple[Obj, Managers]:
    """kubectl may take over without force what it applied before from the client's side."""
    try:
        return task.run(managers, force=force)
    except ApplyConflict as error:
        allowed = lastapplied.unchanged_fields(task.live, task.kind.schema)
        if allowed is None:
            raise
        rest = [(entry, path) for entry, path in error.conflicts if not has(allowed, path)]
        if rest:
            raise ApplyConflict(rest) from None
        return task.run(managers, force=True)
