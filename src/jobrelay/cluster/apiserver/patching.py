"""Patching: the four kinds of patch as functions from the stored object to the new one."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.cluster.apiserver import body, errors, represent
from jobrelay.cluster.apiserver.options import APPLY
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.writer import Writer
from jobrelay.kinds import field, gojson, yaml
from jobrelay.kinds.decode import DecodeError, Notes
from jobrelay.kinds.field import Path
from jobrelay.kinds.patch import (
    PatchError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
    check_json_patch,
    check_merge_patch,
    check_strategic_patch,
)
from jobrelay.kinds.strategy import Obj
from jobrelay.kinds.times import format_time
from jobrelay.kinds.types import Type

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
BUILT_IN: Final = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
CUSTOM: Final = (JSON_PATCH, MERGE, APPLY)


def patch_type(request: ApiRequest, served: Served) -> str:
    """The kind of patch that the content type names; raises 415."""
    media = request.header("content-type").split(";", 1)[0]
    if served.custom is not None:
        if media not in CUSTOM:
            raise errors.unsupported_media_type(CUSTOM)
    elif media not in BUILT_IN:
        raise errors.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    return media


def plain_patch(request: ApiRequest, document: Obj, media: str, type_: Type) -> Any:
    """A patch applied to a document that is only a view; apply means a merge of the fields given."""
    try:
        if media == APPLY:
            return apply_merge_patch(document, yaml.load(request.body))
        given = gojson.loads(request.body)
        if media == JSON_PATCH:
            return apply_json_patch(document, check_json_patch(given, strict=False)[0])
        if media == MERGE:
            return apply_merge_patch(document, check_merge_patch(given, strict=False))
        return apply_strategic_patch(document, check_strategic_patch(given), type_)
    except PatchError as error:
        raise errors.ApiError(error.code, error.reason, error.message, details=error.details) from None
    except (gojson.JsonError, yaml.YamlError) as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None


class Patch:
    """One patch request: `make` turns the stored object into the new one."""

    def __init__(self, writer: Writer, media: str) -> None:
        self.writer, self.media = writer, media
        self.request, self.served, self.options = writer.request, writer.served, writer.options
        self.strict = self.options.field_validation != "Ignore"

    def make(self, old: Obj | None) -> Obj:
        if self.media == APPLY:
            return self._apply(old)
        if old is None:
            raise errors.not_found(self.served.group, self.served.plural, self.request.info.name)
        try:
            notes: list[str] = []
            patched = self._patched(old, notes)
        except PatchError as error:
            raise errors.ApiError(error.code, error.reason, error.message, details=error.details) from None
        new = self._decode(patched, notes)
        self.writer.track(old, new, body.managed_fields(patched))
        return new

    def _patched(self, old: Obj, notes: list[str]) -> Any:
        try:
            given = gojson.loads_keeping_repeats(self.request.body) if self.strict else gojson.loads(self.request.body)
        except gojson.JsonError as error:
            prefix = "error decoding patch: " if self.strict and self.media != STRATEGIC else ""
            raise errors.bad_request(f"{prefix}{error}") from None
        notes += [f'duplicate field "{path}"' for path in gojson.repeated(given)]
        value = gojson.plain(given)
        if self.media == JSON_PATCH:
            operations, found = check_json_patch(value, strict=self.strict)
            notes[:] = [f"json patch {text}" for text in notes] + found
            return apply_json_patch(old, operations)
        if self.media == MERGE:
            return apply_merge_patch(old, check_merge_patch(value, strict=self.strict))
        return apply_strategic_patch(old, check_strategic_patch(value), self.served.type)

    def _decode(self, patched: Any, texts: list[str]) -> Obj:
        notes = Notes() if self.strict else None
        if notes is not None:
            for text in texts:
                notes.add(text)
        try:
            new = self.served.decode(patched, notes)
        except DecodeError as error:
            raise self._refusal(patched, str(error)) from None
        body.report(
            self.request, notes, self.options.field_validation, lambda text: self._refusal(patched, text)
        )
        self.served.strategy.default(new)
        return new

    def _refusal(self, patched: Any, why: str) -> errors.ApiError:
        shown = represent.encode(patched).decode()
        return errors.invalid("", "", "", [field.invalid(Path("patch"), shown, why)])

    def _apply(self, old: Obj | None) -> Obj:
        from jobrelay.kinds.apply import apply_object

        config = self._configuration()
        try:
            merged, managed = apply_object(
                old,
                config,
                manager=self.options.field_manager,
                force=bool(self.options.force),
                subresource=self.writer.subresource,
                api_version=self.served.api_version,
                now=format_time(self.writer.services.now()),
                schema=self.served.apply_schema,
                reset_fields=self.served.strategy.reset_fields.get(self.writer.subresource, ()),
            )
        except PatchError as error:
            raise errors.ApiError(error.code, error.reason, error.message, details=error.details) from None
        try:
            new = self.served.decode(merged, None)
        except DecodeError as error:
            raise errors.unknown(str(error)) from None
        self.served.strategy.default(new)
        if managed:
            new["metadata"]["managedFields"] = managed
        else:
            new["metadata"].pop("managedFields", None)
        return new

    def _configuration(self) -> Obj:
        duplicates: list[str] = []
        try:
            config = yaml.load(self.request.body, duplicates)
        except yaml.YamlError as error:
            raise errors.bad_request(f"error decoding YAML: {error}") from None
        if not isinstance(config, dict):
            config = {}
        if duplicates and self.strict:
            text = "yaml: unmarshal errors:\n" + "\n".join(f"  {line}" for line in duplicates)
            if self.options.field_validation == "Strict":
                raise errors.bad_request(f"error strict decoding YAML: error converting YAML to JSON: {text}")
            for line in duplicates:
                self.request.warn(line)
        return config
