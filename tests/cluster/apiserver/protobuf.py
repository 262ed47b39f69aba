"""Objects as protobuf, written by the type table: what a client would send if it did not check what it sends."""

from __future__ import annotations

import base64
import datetime as dt
import struct
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import times
from jobrelay.apimachinery.types import Field, Type
from tests.oracle.scenarios._protobuf import envelope, varint

from .serving import Obj

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def encoded(obj: Obj, type_: Type) -> bytes:
    """The whole body; values that a field cannot hold are left out."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return envelope(
        version if isinstance(version, str) else "", kind if isinstance(kind, str) else "", _struct(obj, type_)
    )


def _struct(value: Any, type_: Type) -> bytes:
    if not isinstance(value, dict):
        return b""
    return b"".join(_field(field, value) for field in type_.declared if field.number)


def _field(field: Field, parent: Obj) -> bytes:
    if field.inline:
        return _message(field.number, _struct(parent, field.type))
    value = parent.get(field.name)
    if value is None:
        return b""
    type_ = field.type
    if type_.kind == "list" and type_.elem is not None:
        return b"".join(_single(field.number, item, type_.elem) for item in (value if isinstance(value, list) else []))
    if type_.kind == "map" and type_.elem is not None:
        entries = value.items() if isinstance(value, dict) else ()
        return b"".join(_message(field.number, _text(1, key) + _single(2, item, type_.elem)) for key, item in entries)
    return _single(field.number, value, type_)


def _message(number: int, raw: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def _text(number: int, value: Any) -> bytes:
    return _message(number, str(value).encode("utf-8", "surrogatepass"))


def _single(number: int, value: Any, type_: Type) -> bytes:
    kind = type_.kind
    if kind == "struct":
        return _message(number, _struct(value, type_))
    if kind in ("b", "i32", "i64") or (kind[0] == "u" and kind[1:].isdigit()):
        return varint(number << 3) + varint(value) if isinstance(value, int) else b""
    if kind == "f64":
        return varint(number << 3 | 1) + struct.pack("<d", value) if isinstance(value, float) else b""
    if kind == "IntOrString":
        whole = isinstance(value, int)
        inner = (
            varint(1 << 3)
            + varint(0 if whole else 1)
            + (varint(2 << 3) + varint(int(value)) if whole else _text(3, value))
        )
        return _message(number, inner)
    if kind in ("Raw", "Fields"):
        return _message(number, _message(1, msgspec.json.encode(value)))
    if kind in ("Quantity", "union"):
        return _message(number, _text(1, value))
    if kind in ("Time", "MicroTime"):
        return _message(number, _timestamp(str(value)))
    if kind == "Duration":
        return _message(number, varint(1 << 3) + varint(1))
    if kind == "bytes":
        return _message(number, _bytes(value))
    return _text(number, value)


def _timestamp(text: str) -> bytes:
    """Seconds and nanoseconds; a text that is no time is some time all the same."""
    try:
        moment = times.parse_time(text)
    except times.TimeError:
        moment = times.parse_time("2024-01-01T00:00:00Z")
    seconds, microseconds = divmod(round((moment - _EPOCH) / dt.timedelta(microseconds=1)), 10**6)
    return varint(1 << 3) + varint(seconds) + varint(2 << 3) + varint(microseconds * 1000)


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(str(value))
    except ValueError:
        return b""
