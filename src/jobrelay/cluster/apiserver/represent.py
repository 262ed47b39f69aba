"""Objects as answers: whole, as metadata only, or as rows of a table; in JSON or YAML."""

from __future__ import annotations

import copy
import datetime as dt
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import yaml

from jobrelay.apimachinery.field import go_quote
from jobrelay.cluster.apiserver import errors, negotiate
from jobrelay.cluster.apiserver.negotiate import Output
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.store import Item
from jobrelay.kinds import tables
from jobrelay.kinds.hidden import bare_metadata

Obj = dict[str, Any]


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value)


def stored(raw: bytes) -> Obj:
    """Stored JSON as an object (without apiVersion and kind)."""
    obj: Obj = msgspec.json.decode(raw)
    return obj


_LONG: Final = 256 * 1024  # bytes of objects that are decoded for an answer
_CACHED_SIZE: Final = 16 * 1024
_cached = functools.lru_cache(512)(stored)


def cached(raw: bytes) -> Mapping[str, Any]:
    """As `stored`, cached for objects that many writes read (namespaces, service accounts): not to be changed."""
    return _cached(raw) if len(raw) <= _CACHED_SIZE else stored(raw)


def versioned(served: ServedResource, obj: Mapping[str, Any]) -> Obj:
    """A stored object as the whole object of a version; parts are shared with the stored one."""
    found: Obj = served.from_storage(dict(obj)) if served.from_storage is not None else dict(obj)
    return {"kind": served.kind, "apiVersion": served.api_version, **found}


def converted(obj: Obj, served: ServedResource, other: ServedResource) -> Obj:
    """An object of one version as that of another version of the same resource."""
    if served.in_version is not None and other.in_version is not None:
        convert = served.in_version if served.conversions is not None else other.in_version
        return convert(copy.deepcopy(obj), other.api_version)
    stored_one = served.to_storage(copy.deepcopy(obj)) if served.to_storage is not None else obj
    made = other.from_storage(stored_one) if other.from_storage is not None else stored_one
    return {**made, "kind": other.kind, "apiVersion": other.api_version}


def outgoing(served: ServedResource, raw: bytes) -> bytes:
    """Stored JSON as the JSON of a version, without apiVersion and kind."""
    if served.from_storage is None:
        return raw
    obj = served.from_storage(stored(raw))
    return encode({key: value for key, value in obj.items() if key not in ("kind", "apiVersion")})


def whole(served: ServedResource, raw: bytes) -> bytes:
    """Stored JSON as the whole object of a version."""
    return served.complete(outgoing(served, raw))


def finish(body: bytes, out: Output, code: int = 200) -> ApiResponse:
    """JSON bytes in the representation that was negotiated."""
    if out.media == negotiate.YAML:
        dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text = yaml.dump(msgspec.json.decode(body), Dumper=dumper, default_flow_style=False, allow_unicode=True)
        return ApiResponse(code, text.encode(), negotiate.YAML)
    if out.pretty:
        body = msgspec.json.format(body, indent=2)
    return ApiResponse(code, body + b"\n")


def answer_object(
    served: ServedResource, raw: bytes, out: Output, now: dt.datetime, include: str, code: int = 200
) -> ApiResponse:
    """One stored object as an answer."""
    if _is_long(out, len(raw)):
        return ApiResponse(code, pending=lambda: _object(served, raw, out, now, include, code))
    return _object(served, raw, out, now, include, code)


def _object(served: ServedResource, raw: bytes, out: Output, now: dt.datetime, include: str, code: int) -> ApiResponse:
    if out.transform == "Table":
        version = stored(raw)["metadata"].get("resourceVersion")
        metadata = {"resourceVersion": version} if version else {}
        return finish(encode(table(served, [raw], out, now, include, metadata)), out, code)
    if out.transform == "PartialObjectMetadata":
        return finish(encode(metadata_only(partial_object(served, raw), out)), out, code)
    if out.transform:
        raise _wrong_form(served, out, "")
    return finish(whole(served, raw), out, code)


def answer_unstored(served: ServedResource, obj: Obj, out: Output) -> ApiResponse:
    """A whole object that is made for this answer and never stored."""
    if out.transform == "PartialObjectMetadata":
        obj = metadata_only(obj, out)
    elif out.transform:
        raise _wrong_form(served, out, "")
    return finish(encode(obj), out, 201)


def partial_object(served: ServedResource, raw: bytes) -> Obj:
    """An object of which only the metadata matters; that of built-in kinds is the same in all versions."""
    return stored(raw if served.custom is None else outgoing(served, raw))


def metadata_only(obj: Obj, out: Output) -> Obj:
    version = f"meta.k8s.io/{out.meta_version}"
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": bare_metadata(obj["metadata"])}


def _wrong_form(served: ServedResource, out: Output, suffix: str) -> errors.ApiError:
    """The error for a list form of a single object, or the other way round."""
    group = served.group.partition(".")[0] or "core"
    name = f"*unstructured.Unstructured{suffix}" if served.custom else f"*{group}.{served.kind}{suffix}"
    is_list = "is a list" if suffix else "is not a list"
    text = f"you requested {out.transform}, but the requested object {is_list} ({name})"
    return errors.ApiError(406, "NotAcceptable", text)


def list_metadata(version: int, continue_: str = "", remaining: int | None = None) -> Obj:
    metadata: Obj = {"resourceVersion": str(version)}
    if continue_:
        metadata["continue"] = continue_
    if remaining:
        metadata["remainingItemCount"] = remaining
    return metadata


def answer_list(
    served: ServedResource, items: Sequence[Item], metadata: Obj, out: Output, now: dt.datetime, include: str
) -> ApiResponse:
    """A list of stored objects as an answer; the plain form joins bytes and decodes nothing."""
    if _is_long(out, sum(len(item.raw) for item in items)):
        return ApiResponse(200, pending=lambda: _list(served, items, metadata, out, now, include))
    return _list(served, items, metadata, out, now, include)


def _is_long(out: Output, size: int) -> bool:
    """Whether a representation takes longer than other requests can wait."""
    return size >= _LONG and (out.media == negotiate.YAML or bool(out.transform))


def _list(
    served: ServedResource, items: Sequence[Item], metadata: Obj, out: Output, now: dt.datetime, include: str
) -> ApiResponse:
    if out.transform == "Table":
        return finish(encode(table(served, [item.raw for item in items], out, now, include, metadata)), out)
    if out.transform == "PartialObjectMetadataList":
        rows = [metadata_only(partial_object(served, item.raw), out) for item in items]
        version = f"meta.k8s.io/{out.meta_version}"
        listed = ([{"metadata": row["metadata"]} for row in rows] if out.untyped else rows) or None
        body = {"kind": "PartialObjectMetadataList", "apiVersion": version, "metadata": metadata, "items": listed}
        return finish(encode(body), out)
    if out.transform:
        raise _wrong_form(served, out, "List")
    if served.custom is not None:
        metadata = {"continue": "", **metadata}
    head = f'{{"kind":"{served.list_kind}","apiVersion":"{served.api_version}","metadata":'.encode()
    make = whole if served.custom is not None else outgoing
    return finish(head + encode(metadata) + b',"items":[' + b",".join(make(served, i.raw) for i in items) + b"]}", out)


def table(
    served: ServedResource,
    raws: Iterable[bytes],
    out: Output,
    now: dt.datetime,
    include: str,
    metadata: Obj,
    *,
    columns: bool = True,
) -> Obj:
    """Stored objects as a Table. `include` is the includeObject parameter; a watch sends the columns only once."""
    if include not in ("", "Metadata", "Object", "None"):
        why = f"includeObject: Invalid value: {go_quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
        raise errors.bad_request(f"Unable to convert to Table as requested: {why}")
    spec = served.custom.table if served.custom is not None else tables.table_for(served.group, served.plural)
    objects = spec.order([stored(outgoing(served, raw)) for raw in raws])
    rows = [_row(spec, obj, now, served, out, include) for obj in objects]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{out.meta_version}",
        "metadata": metadata,
        "columnDefinitions": spec.columns if columns else None,
        "rows": None if spec.plain and not rows else rows,
    }


def _row(spec: tables.TableSpec, obj: Obj, now: dt.datetime, served: ServedResource, out: Output, include: str) -> Obj:
    row: Obj = {"cells": spec.cells(obj, now)}
    if conditions := spec.conditions(obj):
        row["conditions"] = conditions
    if include == "None":
        return {**row, "object": None}
    if include == "Object":
        return {**row, "object": {"kind": served.kind, "apiVersion": served.api_version, **obj}}
    return {**row, "object": metadata_only(obj, out)}
