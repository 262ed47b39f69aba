"""From the bytes of a body to a canonical object: media type, JSON/YAML/protobuf, kind check, strictness.

The refusals carry the server's own words, because clients and users read them. Objects of built-in kinds are decoded by
the type table; custom resources come in as plain JSON and are shaped by their schema later.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from jobrelay.apimachinery import gojson, protobuf, yaml
from jobrelay.apimachinery.decode import DecodeError, Notes, decode, json_kind
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.cluster.apiserver import errors, negotiate
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource

BODY_LIMIT: Final = 3 * 1024 * 1024
SCHEME: Final = "pkg/runtime/scheme.go:111"
_YAML_ERRORS: Final = "yaml: unmarshal errors:\n  "
_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def summarize(body: bytes, limit: int = 30) -> str:
    if not body:
        return "<empty>"
    text = body[:limit].decode("utf-8", errors="replace") if body[:1] == b"{" else body[:limit].hex()
    return f"{text} ..." if len(body) > limit else text


class Unreadable(Exception):
    """A body that is not an object of any kind; the text is completed by the caller, which knows the wanted kind."""


class ProtobufObject(NamedTuple):
    """The bytes of a protobuf object, to be read once its kind is known."""

    raw: bytes


class ProposedObject(NamedTuple):
    """The canonical object that a write asks for, before field management and admission.

    `sent` are its managedFields as the client sent them, where an empty list still differs from none. `notes` records
    other lists that were sent empty: they stay so until field management has seen them (see `Notes.settle`). `tracked`
    says that its managedFields are final already.
    """

    obj: dict[str, Any]
    sent: list[Any] | None = None
    notes: Notes | None = None
    tracked: bool = False


def parse(body: bytes, media: str, notes: Notes | None) -> tuple[Any, str, str]:
    """The raw value of a body with its apiVersion and kind ("" when not given)."""
    if media == negotiate.PROTOBUF:
        return _parse_protobuf(body)
    if media == negotiate.YAML:
        duplicates: list[str] = []
        try:
            value = yaml.load(body, duplicates)
        except yaml.YamlError as error:
            raise Unreadable(str(error)) from None
        if notes is not None and duplicates:
            notes.add(repeated_keys(duplicates))
    else:
        try:
            value = gojson.loads(body) if notes is None else gojson.loads_keeping_repeats(body)
        except gojson.JsonError as error:
            raise Unreadable(f"couldn't get version/kind; json parse error: {error}") from None
    return (value, *type_meta(value))


def type_meta(value: Any) -> tuple[str, str]:
    """The apiVersion and kind of a raw value; raises Unreadable."""
    if value is None:
        return "", ""
    fields = dict(value.pairs) if isinstance(value, gojson.Pairs) else value
    if not isinstance(fields, dict):
        raise _wrong_json(f"{json_kind(value)} into Go value of type {_TYPE_META}")
    found = []
    for key in ("apiVersion", "kind"):
        text = fields.get(key)
        text = "" if text is None else text
        if not isinstance(text, str):
            raise _wrong_json(f"{json_kind(text)} into Go struct field .{key} of type string")
        found.append(text)
    if found[0].count("/") > 1:
        raise Unreadable(f"unexpected GroupVersion string: {found[0]}")
    return found[0], found[1]


def _wrong_json(what: str) -> Unreadable:
    return Unreadable(f"couldn't get version/kind; json parse error: json: cannot unmarshal {what}")


def _parse_protobuf(body: bytes) -> tuple[Any, str, str]:
    try:
        api_version, kind, raw = protobuf.decode_envelope(body)
    except protobuf.ProtobufError as error:
        raise Unreadable(str(error)) from None
    return ProtobufObject(raw), api_version, kind


def managed_fields(value: Any) -> list[Any] | None:
    """The managedFields of a raw object, if it has a list of them."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    found = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return found if isinstance(found, list) else None


def read(request: ApiRequest, served: ServedResource, directive: str, *, same: tuple[str, ...] = ()) -> ProposedObject:
    """The canonical object in a request's body.

    `served` is what the path names, of a built-in kind; `same` are other apiVersions in which the kind looks the same;
    `directive` is the fieldValidation in force.
    """
    media = negotiate.input_media(request.header("content-type"))
    api_version, kind, type_ = served.api_version, served.kind, served.type
    notes = Notes() if directive != "Ignore" else None
    try:
        value, given_version, given_kind = parse(request.body, media, notes)
    except Unreadable as error:
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {error} ({summarize(request.body)})"
        ) from None
    sent = managed_fields(value)
    actual_version, actual_kind = given_version or api_version, given_kind or kind
    if actual_kind != kind or actual_version not in (api_version, *same):
        raise _wrong_kind(actual_version, actual_kind, api_version, kind)
    try:
        if isinstance(value, ProtobufObject):
            value = protobuf.decode_message(value.raw, type_)
        notes = notes or Notes()
        made = decode(value if value is not None else {}, type_, notes)
    except (DecodeError, protobuf.ProtobufError) as error:
        raise unhandled(actual_version, actual_kind, kind, str(error)) from None
    if directive != "Ignore":
        report(request, notes, directive, lambda text: unhandled(actual_version, actual_kind, kind, text))
    made["apiVersion"], made["kind"] = api_version, kind
    return ProposedObject(made, sent, notes)


def report(request: ApiRequest, notes: Notes | None, directive: str, refuse: Any) -> None:
    """Reports what strict decoding found: as warnings, or (Strict) by raising what `refuse` makes of the text."""
    if notes is None or not notes.texts:
        return
    if directive == "Strict":
        raise refuse("strict decoding error: " + ", ".join(notes.texts))
    for text in notes.texts:
        request.warn(*text.removeprefix(_YAML_ERRORS).split("\n  "))


def repeated_keys(lines: list[str]) -> str:
    """The error of strict YAML decoding for repeated keys; as warnings, each line is one of its own."""
    return _YAML_ERRORS + "\n  ".join(lines)


def unhandled(api_version: str, kind: str, wanted: str, why: str) -> errors.ApiError:
    version = api_version.rpartition("/")[2]
    return errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {wanted}: {why}')


def _wrong_kind(actual_version: str, actual_kind: str, api_version: str, kind: str) -> errors.ApiError:
    if actual_kind == kind and type_for_kind(actual_version, actual_kind) is not None:
        return errors.bad_request(
            f"the API version in the data ({actual_version}) does not match the expected API version ({api_version})"
        )
    return unhandled(actual_version, actual_kind, kind, misfit((actual_version, actual_kind), api_version, kind))


def misfit(actual: tuple[str, str], api_version: str, kind: str) -> str:
    """Why an object of one kind (apiVersion, kind) cannot be read as another."""
    other = type_for_kind(*actual)
    if other is None:
        return f'no kind "{actual[1]}" is registered for version "{actual[0]}" in scheme "{SCHEME}"'
    group = api_version.rpartition("/")[0].partition(".")[0] or "core"
    return f"converting ({other.go}) to ({group}.{kind}): unknown conversion"
