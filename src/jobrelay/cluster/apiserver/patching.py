"""Patching: the four kinds of patch as functions from the stored object to the new one.

JSON and merge patches go through the object's JSON text, so their result is read as a body would be: a patch may change
kind and apiVersion, and is refused for it. Strategic merge patches and applies change values in place and are converted
by looser rules. Each has words of its own for what it refuses.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery import field, gojson, yaml
from jobrelay.apimachinery.decode import DecodeError, Notes, decode
from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.patch import (
    PatchError,
    UnstructuredConversionError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
    check_json_patch,
    check_merge_patch,
    check_strategic_patch,
    convert,
    go_format,
    patched_text,
)
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.cluster.apiserver import body, errors, ownership
from jobrelay.cluster.apiserver.admission.steps import check_name
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.options import APPLY
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.writes import WriteRequest
from jobrelay.kinds.apiextensions.objects import type_problem
from jobrelay.kinds.strategy import Obj

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
BUILT_IN: Final = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
CUSTOM: Final = (JSON_PATCH, MERGE, APPLY)
_TYPE_AND_METADATA: Final = frozenset({"kind", "apiVersion", "metadata"})


def patch_type(request: ApiRequest, served: ServedResource) -> str:
    """The kind of patch that the content type names; raises 415."""
    media = request.header("content-type").split(";", 1)[0]
    if served.custom is not None:
        if media not in CUSTOM:
            raise errors.unsupported_media_type(CUSTOM)
    elif media not in BUILT_IN:
        raise errors.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    return media


class PatchRequest(WriteRequest, frozen=True, eq=False, kw_only=True):
    """A write whose new object is a patch of the stored one; `media` says how to read its body."""

    media: str

    @property
    def strict(self) -> bool:
        return self.options.field_validation != "Ignore"

    def propose(self, old: Obj | None) -> ProposedObject:
        """The object that the patch makes of the stored one."""
        try:
            if self.media == APPLY:
                return self._apply(old)
            if old is None:
                raise errors.not_found(self.served.group, self.served.plural, self.request.info.name)
            proposed = self._strategic(old) if self.media == STRATEGIC else self._json(old)
        except PatchError as error:
            raise errors.ApiError(error.code, error.reason, error.message, details=error.details) from None
        if not _only_bookkeeping(proposed.obj, old):
            self.served.strategy.default(proposed.obj)
        return proposed

    def _load(self, notes: Notes, prefix: str) -> Any:
        """The body's JSON; repeated fields are noted unless validation is off."""
        raw = self.request.body
        try:
            value = gojson.loads(raw)
            if self.strict and gojson.may_repeat(raw, value):
                for path in gojson.repeated(gojson.loads_keeping_repeats(raw)):
                    notes.add(f'duplicate field "{path}"')
        except gojson.JsonError as error:
            raise errors.bad_request(f"{prefix if self.strict else ''}{error}") from None
        return value

    def _report(self, notes: Notes, refuse: Callable[[str], errors.ApiError]) -> None:
        body.report(self.request, notes if self.strict else None, self.options.field_validation, refuse)

    # JSON and merge patches.

    def _json(self, old: Obj) -> ProposedObject:
        notes = Notes()
        value = self._load(notes, "error decoding patch: ")
        if self.media == JSON_PATCH:
            operations, found = check_json_patch(value, strict=self.strict)
            notes.texts = dict.fromkeys([f"json patch {text}" for text in notes.texts] + found)
            patched = apply_json_patch(old, operations)
        else:
            patched = apply_merge_patch(old, check_merge_patch(value, strict=self.strict))

        def refuse(why: str) -> errors.ApiError:
            type_ = None if self.served.custom else self.served.type
            return _refusal(patched_text(old, patched, type_, sort_new=self.media == MERGE), why)

        if self.served.custom is not None and not _has_kind(patched):
            text = patched_text(old, patched, None, sort_new=self.media == MERGE)
            raise _refusal(text, type_problem(patched, text.encode()))
        unknown = Notes()
        try:
            new = self._read_merged(patched, old, unknown) if self.media == MERGE else self._read(patched, unknown)
        except (DecodeError, body.Unreadable) as error:
            raise refuse(str(error)) from None
        for text in sorted(unknown.texts) if self.media == MERGE else unknown.texts:
            notes.add(text)
        self._report(notes, refuse)
        if new is None:
            check_name({"metadata": {}}, self.request.info.name)
        assert new is not None
        return ProposedObject(new, body.managed_fields(patched), unknown)

    def _read_merged(self, patched: Any, old: Obj, notes: Notes) -> Obj | None:
        """As `_read`, for a patched object that shares unchanged values with `old`."""
        same = isinstance(patched, dict) and all(patched.get(name) == old[name] for name in ("kind", "apiVersion"))
        if not same or self.served.custom is not None or not isinstance(patched.get("metadata"), dict):
            return self._read(patched, notes)
        return _completed(self.served.decode(_changes(patched, old), notes), patched, old)

    def _read(self, patched: Any, notes: Notes) -> Obj | None:
        """The object in a patched document; None for one without a version, in which no field is known."""
        if self.served.custom is not None:
            new = self.served.decode(patched, notes)
            if not new.get("apiVersion"):
                raise errors.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
            return new
        version, kind = body.type_meta(patched)
        if not version:
            self._check_internal(kind or self.served.kind)
            for name in sorted(set(patched) - {"kind", "apiVersion"}):
                notes.unknown(None, name)
            return None
        kind = kind or self.served.kind
        if (version, kind) == (self.served.api_version, self.served.kind):
            return self.served.decode(patched, notes)
        other = self.server.resources.by_kind(version, kind)
        if other is not None and other.key == self.served.key:
            return self._converted(other.decode(patched, notes), other)
        if (type_ := type_for_kind(version, kind)) is not None:
            decode(patched, type_)
        raise body.Unreadable(body.misfit((version, kind), self.served.api_version, self.served.kind))

    def _converted(self, obj: Obj, other: ServedResource) -> Obj:
        """An object that a patch moved to another version of its kind, converted back to the version of the request."""
        other.strategy.default(obj)
        stored = other.to_storage(obj) if other.to_storage is not None else obj
        made = self.served.from_storage(stored) if self.served.from_storage is not None else stored
        return {**made, "apiVersion": self.served.api_version, "kind": self.served.kind}

    def _check_internal(self, kind: str) -> None:
        """A document without a version is read in the group's internal version."""
        if kind == self.served.kind:
            return
        group = self.served.group
        if type_for_kind(self.served.api_version, kind) is None:
            raise body.Unreadable(
                f'no kind "{kind}" is registered for the internal version of group "{group}" in scheme "{body.SCHEME}"'
            )
        package = group.partition(".")[0] or "core"
        raise body.Unreadable(f"converting ({package}.{kind}) to ({package}.{self.served.kind}): unknown conversion")

    # Strategic merge patches.

    def _strategic(self, old: Obj) -> ProposedObject:
        notes, unknown = Notes(), Notes()
        patch = check_strategic_patch(self._load(notes, ""))
        patched = apply_strategic_patch(old, patch, self.served.type)

        def refuse(why: str) -> errors.ApiError:
            return _refusal(go_format(patch), why)

        try:
            new = self._read_changed(patched, old, unknown)
        except (UnstructuredConversionError, DecodeError) as error:
            raise refuse(str(error)) from None
        for text in sorted(unknown.texts):
            notes.add(text)
        self._report(notes, refuse)
        return ProposedObject(new, body.managed_fields(patched), unknown)

    def _read_changed(self, patched: Obj, old: Obj, notes: Notes) -> Obj:
        """The patched object in canonical form; what the patch did not touch is shared with `old`."""
        changed = _changes(patched, old)
        try:
            new = self.served.decode(changed, notes)
        except DecodeError:  # it may be one of those that only the text of a body must not have
            notes.texts.clear()
            new = self.served.decode(convert(changed, self.served.type), notes)
        return _completed(new, patched, old)

    # Server-side apply.

    def _apply(self, old: Obj | None) -> ProposedObject:
        from jobrelay.apimachinery.apply import check_apply

        duplicates: list[str] = []
        try:
            config = check_apply(yaml.load(self.request.body, duplicates))
        except yaml.YamlError as error:
            raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
        merged, managed = ownership.apply(
            self.served,
            old,
            config,
            manager=self.options.field_manager,
            force=bool(self.options.force),
            now=self.now,
            subresource=self.subresource,
        )
        notes = Notes()
        new = self._applied(merged, notes)
        notes.settle()
        self.served.strategy.default(new)
        ownership.record(new, managed)
        self._report_duplicates(duplicates)
        if old is None and (uid := new["metadata"].get("uid")):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise errors.conflict(self.served.group, self.served.plural, self.request.info.name, why)
        return ProposedObject(new, notes=notes, tracked=True)

    def _applied(self, merged: Obj, notes: Notes) -> Obj:
        """The result of an apply, decoded; custom resources keep nulls outside metadata."""
        if self.served.custom is not None:
            metadata = {name: value for name, value in (merged.get("metadata") or {}).items() if value is not None}
            return copy.deepcopy({**merged, "metadata": metadata})
        try:
            return self.served.decode(merged, notes)
        except DecodeError as error:
            raise errors.unknown(str(error)) from None

    def _report_duplicates(self, duplicates: list[str]) -> None:
        if duplicates and self.options.field_validation == "Strict":
            text = body.repeated_keys(duplicates)
            raise errors.bad_request(f"error strict decoding YAML: error converting YAML to JSON: {text}")
        if self.strict:
            self.request.warn(*duplicates)


_BOOKKEEPING: Final = frozenset({"finalizers", "ownerReferences", "resourceVersion"})


def _only_bookkeeping(new: Obj, old: Obj) -> bool:
    """Whether only metadata was changed that no default depends on; the stored object has its defaults."""
    metadata, before = new["metadata"], old["metadata"]
    return (
        all(value is old.get(key) for key, value in new.items() if key not in _TYPE_AND_METADATA)
        and all(value is before.get(key) for key, value in metadata.items() if key not in _BOOKKEEPING)
        and old.keys() <= new.keys()
        and before.keys() - _BOOKKEEPING <= metadata.keys()
    )


def _changes(patched: Obj, old: Obj) -> Obj:
    """The top-level fields that a patch changed, and the fields of metadata."""
    changed, metadata = _changed(patched, old), patched.get("metadata")
    if isinstance(metadata, dict):
        changed["metadata"] = _changed(metadata, old["metadata"])
    return changed


def _completed(new: Obj, patched: Obj, old: Obj) -> Obj:
    """The decoded changes together with everything that was not changed."""
    metadata = patched.get("metadata")
    if isinstance(metadata, dict):
        _fill_in(new["metadata"], metadata, old["metadata"])
    _fill_in(new, patched, {**old, "metadata": None})
    return new


def _changed(patched: Obj, old: Obj) -> Obj:
    return {key: value for key, value in patched.items() if value is not old.get(key)}


def _fill_in(new: Obj, patched: Obj, old: Obj) -> None:
    """Adds unchanged fields to decoded ones, in the order of the patched object."""
    made = dict(new)
    new.clear()
    for key, value in patched.items():
        if value is old.get(key):
            new[key] = value
        elif key in made:
            new[key] = made[key]
    new.update({key: value for key, value in made.items() if key not in new})


def _has_kind(patched: Any) -> bool:
    return isinstance(patched, dict) and bool(patched.get("kind")) and not type_problem(patched, b"")


def _refusal(shown: str, why: str) -> errors.ApiError:
    return errors.invalid("", "", "", [field.invalid(Path("patch"), shown, why)])
