"""The options of requests: parsed from query or body, checked in the real server's order, with its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import field, protobuf
from jobrelay.apimachinery.decode import DecodeError, decode
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.types import type_of
from jobrelay.cluster.apiserver import body, errors, negotiate
from jobrelay.cluster.apiserver.request import ApiRequest, flag

_META: Final = "meta.k8s.io"
_DELETE_OPTIONS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
APPLY: Final = "application/apply-patch+yaml"


class WriteOptions(msgspec.Struct, frozen=True):
    """Of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None


@dataclass(frozen=True, slots=True)
class ListOptions:
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    version: str = ""
    version_match: str = ""
    timeout_seconds: int | None = None
    watch: bool = False
    bookmarks: bool = False
    send_initial_events: bool | None = None


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    dry_run: bool = False
    grace_period: int | None = None
    propagation: str | None = None
    orphan: bool | None = None
    uid: str | None = None
    version: str | None = None

    def fields(self) -> dict[str, Any]:
        """The options as the fields of an object."""
        preconditions = {"uid": self.uid, "resourceVersion": self.version}
        given = {
            "gracePeriodSeconds": self.grace_period,
            "preconditions": {name: value for name, value in preconditions.items() if value is not None} or None,
            "orphanDependents": self.orphan,
            "propagationPolicy": self.propagation,
            "dryRun": ["All"] if self.dry_run else None,
        }
        return {name: value for name, value in given.items() if value is not None}


def integer(request: ApiRequest, name: str, bits: int = 64) -> int | None:
    """A number in the query, or None; raises 400 with Go's message."""
    if name not in request.query:
        return None
    text = request.first(name)
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise errors.bad_request(f"strconv.ParseInt: parsing {field.go_quote(text)}: invalid syntax")
    value = read_int(text)
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise errors.bad_request(f"strconv.ParseInt: parsing {field.go_quote(text)}: value out of range")
    return value


def _check_common(manager: str, dry_run: list[str], validation: str) -> list[FieldError]:
    found = []
    if len(manager.encode()) > 128:
        found.append(field.too_long(Path("fieldManager"), 128))
    for position, char in enumerate(manager):
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            found.append(field.invalid(Path("fieldManager"), manager, detail))
    found += _check_dry_run(dry_run)
    if validation not in ("", "Ignore", "Strict", "Warn"):
        found.append(field.not_supported(Path("fieldValidation"), validation, ("", "Ignore", "Strict", "Warn")))
    return found


def _check_dry_run(dry_run: list[str]) -> list[FieldError]:
    return [] if all(v == "All" for v in dry_run) else [field.not_supported(Path("dryRun"), dry_run, ("All",))]


def write_options(request: ApiRequest, kind: str, *, patch_type: str = "") -> WriteOptions:
    """The options of a create ("CreateOptions"), update or patch; raises 422."""
    manager, validation = request.first("fieldManager"), request.first("fieldValidation")
    dry_run = request.query.get("dryRun", [])
    force = flag(request.query, "force") if "force" in request.query else None
    found: list[FieldError] = []
    if patch_type == APPLY:
        if not manager:
            found.append(field.required(Path("fieldManager"), "is required for apply patch"))
    elif patch_type and force is not None:
        found.append(field.forbidden(Path("force"), "may not be specified for non-apply patch"))
    found += _check_common(manager, dry_run, validation)
    if found:
        raise errors.invalid(_META, kind, "", found)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", force)


def list_options(request: ApiRequest) -> ListOptions:
    """The options of a list or watch; raises 400 and 422."""
    options = ListOptions(
        label_selector=request.first("labelSelector"),
        field_selector=request.first("fieldSelector"),
        limit=integer(request, "limit") or 0,
        continue_=request.first("continue"),
        version=request.first("resourceVersion"),
        version_match=request.first("resourceVersionMatch"),
        timeout_seconds=integer(request, "timeoutSeconds"),
        watch=flag(request.query, "watch") or request.info.verb == "watch",
        bookmarks=flag(request.query, "allowWatchBookmarks"),
        send_initial_events=flag(request.query, "sendInitialEvents") if "sendInitialEvents" in request.query else None,
    )
    found = _check_watch(options) if options.watch else _check_list(options)
    if found:
        raise errors.invalid(_META, "ListOptions", "", found)
    return options


def _check_list(options: ListOptions) -> list[FieldError]:
    found, path, match = [], Path("resourceVersionMatch"), options.version_match
    if match:
        if not options.version:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            found.append(field.not_supported(path, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.version == "0":
            found.append(field.forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        found.append(field.forbidden(Path("sendInitialEvents"), "sendInitialEvents is forbidden for list"))
    return found


def _check_watch(options: ListOptions) -> list[FieldError]:
    found, path, match = [], Path("resourceVersionMatch"), options.version_match
    if options.send_initial_events is not None and match != "NotOlderThan":
        found.append(field.forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if options.continue_ and not match and options.send_initial_events is None and options.version in ("", "0"):
        found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    if match:
        if options.send_initial_events is None:
            detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            found.append(field.forbidden(path, detail))
        if match != "NotOlderThan":
            found.append(field.not_supported(path, match, ("NotOlderThan",)))
        if options.continue_:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return found


def delete_options(request: ApiRequest) -> DeleteOptions:
    """The options of a delete: those of the body if there is one, else those of the query."""
    return checked_delete_options(_delete_body(request) if request.body else _delete_query(request))


def checked_delete_options(given: Mapping[str, Any]) -> DeleteOptions:
    """The options in a DeleteOptions object; raises 422."""
    found: list[FieldError] = []
    propagation, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    dry_run = given.get("dryRun") or []
    path = Path("propagationPolicy")
    if orphan is not None and propagation is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        found.append(field.invalid(path, propagation, detail))
    if propagation is not None and propagation not in ("Foreground", "Background", "Orphan"):
        found.append(field.not_supported(path, propagation, ("Foreground", "Background", "Orphan", "nil")))
    found += _check_dry_run(dry_run)
    if found:
        raise errors.invalid(_META, "DeleteOptions", "", found)
    preconditions = given.get("preconditions") or {}
    grace = given.get("gracePeriodSeconds")
    return DeleteOptions(
        dry_run=bool(dry_run),
        grace_period=None if grace is None else (1 if grace < 0 else grace),
        propagation=propagation,
        orphan=orphan,
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
    )


def _delete_query(request: ApiRequest) -> dict[str, Any]:
    given: dict[str, Any] = {"gracePeriodSeconds": integer(request, "gracePeriodSeconds")}
    if "propagationPolicy" in request.query:
        given["propagationPolicy"] = request.first("propagationPolicy")
    if "orphanDependents" in request.query:
        given["orphanDependents"] = flag(request.query, "orphanDependents")
    given["dryRun"] = request.query.get("dryRun", [])
    return given


def _delete_body(request: ApiRequest) -> dict[str, Any]:
    media = negotiate.input_media(request.header("content-type"))
    try:
        value, api_version, kind = body.parse(request.body, media, None)
        if kind not in ("", "DeleteOptions"):
            version = api_version or "meta.k8s.io/v1"
            text = f'no kind "{kind}" is registered for version "{version}" in scheme "{body.SCHEME}"'
            raise errors.bad_request(text)
        if isinstance(value, body.ProtobufObject):
            value = protobuf.decode_message(value.raw, type_of(_DELETE_OPTIONS))
        given: dict[str, Any] = decode(value if value is not None else {}, type_of(_DELETE_OPTIONS))
    except (body.Unreadable, DecodeError, protobuf.ProtobufError) as error:
        raise errors.bad_request(str(error)) from None
    return given
