"""Protobuf request bodies: from the bytes that client-go sends to the JSON form of the object.

client-go and controller-runtime write built-in kinds as protobuf and never fall back to JSON, so a server has to read
it; answers are always JSON. A body is the magic `k8s\\0` and a message `Unknown` that names apiVersion and kind and
holds the object as bytes. The type table says what every field number means. Two things differ from JSON and are undone
here: structs that JSON inlines are messages of their own on the wire, and fields that are not pointers are always on
the wire, so their zero values are dropped while those of pointers are kept.

The result is plain JSON, not yet canonical: it still goes through `jobrelay.apimachinery.decode`. Malformed bytes raise
ProtobufError with Go's words.
"""

from __future__ import annotations

import base64
import datetime as dt
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import times
from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.types import Field, Type, type_of

MAGIC: Final = b"k8s\x00"
MAX_DEPTH: Final = 120
_EOF: Final = "unexpected EOF"
_SCALARS: Final = frozenset({"b", "i32", "i64", "u8", "u16", "u32", "u64"})
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Wire = tuple[int, int, Any]  # field number, wire type, an int or the bytes of a length-delimited value


class ProtobufError(ValueError):
    """Bytes that are not the message that was expected; the message is Go's."""


def decode_envelope(body: bytes) -> tuple[str, str, bytes]:
    """The apiVersion, the kind and the object's own bytes."""
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    if len(body) == len(MAGIC):
        raise ProtobufError("empty body")
    api_version, kind, raw = "", "", b""
    for number, wire, value in _fields(body[len(MAGIC) :], "Unknown"):
        if number == 1:
            for inner, inner_wire, text in _fields(_delimited(wire, value, "TypeMeta"), "TypeMeta"):
                if inner == 1:
                    api_version = _text(_delimited(inner_wire, text, "APIVersion"))
                elif inner == 2:
                    kind = _text(_delimited(inner_wire, text, "Kind"))
        elif number == 2:
            raw = _delimited(wire, value, "Raw")
    return api_version, kind, raw


def decode_message(raw: bytes, type_: Type) -> dict[str, Any]:
    """The JSON form of a message of the given struct type."""
    out: dict[str, Any] = {}
    _read_struct(raw, type_, out, 0)
    return out


def _varint(data: bytes, position: int) -> tuple[int, int]:
    if position < len(data) and data[position] < 0x80:
        return data[position], position + 1
    value = shift = 0
    while True:
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")
        if position >= len(data):
            raise ProtobufError(_EOF)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7


def _fields(data: bytes, message: str) -> Iterator[Wire]:
    """The fields of a message as they stand on the wire; groups, which Kubernetes never uses, are skipped."""
    position = depth = 0
    size = len(data)
    while position < size:
        tag, position = (data[position], position + 1) if data[position] < 0x80 else _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 2**31 or wire in (3, 4):
            depth += _unusual(number & 0xFFFFFFFF, wire, tag, message, depth)
            if wire in (3, 4):
                continue
        if wire == 2 and position < size and data[position] < 0x80 and position + 1 + data[position] <= size:
            end = position + 1 + data[position]
            value: Any = data[position + 1 : end]
            position = end
        else:
            value, position = _value(data, position, wire)
        if not depth:
            yield number, wire, value
    if depth:
        raise ProtobufError(_EOF)


def _unusual(number: int, wire: int, tag: int, message: str, depth: int) -> int:
    """How much deeper into groups a tag leads; raises for tags that are wrong."""
    if wire == 4 and not depth:
        raise ProtobufError(f"proto: {message}: wiretype end group for non-group")
    if not 0 < number < 2**31 and not depth:
        signed = number - 2**32 if number >= 2**31 else number
        raise ProtobufError(f"proto: {message}: illegal tag {signed} (wire type {tag})")
    return {3: 1, 4: -1}.get(wire, 0)


def _value(data: bytes, position: int, wire: int) -> tuple[Any, int]:
    if wire == 0:
        return _varint(data, position)
    if wire == 2:
        size, start = _varint(data, position)
        if size >= 2**63:
            raise ProtobufError("proto: negative length found during unmarshaling")
    elif wire in (1, 5):
        size, start = (8 if wire == 1 else 4), position
    else:
        raise ProtobufError(f"proto: illegal wireType {wire}")
    end = start + size
    if end > len(data):
        raise ProtobufError(_EOF)
    return data[start:end], end


def _wrong(wire: int, name: str) -> ProtobufError:
    return ProtobufError(f"proto: wrong wireType = {wire} for field {name}")


def _delimited(wire: int, value: Any, name: str) -> bytes:
    if wire != 2:
        raise _wrong(wire, name)
    data: bytes = value
    return data


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _read_struct(raw: bytes, type_: Type, out: dict[str, Any], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ProtobufError("proto: message is nested too deeply")
    numbers = type_.numbers
    for number, wire, value in _fields(raw, type_.go.rpartition(".")[2]):
        field = numbers.get(number)
        if field is None:
            continue
        if field.inline:
            _read_struct(_delimited(wire, value, field.go), field.type, out, depth + 1)
        else:
            _read_field(field, wire, value, out, depth)


def _read_field(field: Field, wire: int, value: Any, out: dict[str, Any], depth: int) -> None:
    type_ = field.type
    if type_.kind == "s" and wire == 2:
        if value or type_.pointer:
            out[field.name] = _text(value)
        else:
            out.pop(field.name, None)
    elif type_.kind == "struct":
        _read_struct(_delimited(wire, value, field.go), type_, out.setdefault(field.name, {}), depth + 1)
    elif type_.kind == "list":
        assert type_.elem is not None
        out.setdefault(field.name, []).extend(_elements(type_.elem, wire, value, field.go, depth))
    elif type_.kind == "map":
        assert type_.elem is not None
        key, item = _entry(type_.elem, _delimited(wire, value, field.go), depth)
        out.setdefault(field.name, {})[key] = item
    else:
        made = _single(type_, wire, value, field.go, depth)
        if made is None or (not made and not type_.pointer and type_.kind not in ("union", "IntOrString")):
            out.pop(field.name, None)
        else:
            out[field.name] = made


def _elements(elem: Type, wire: int, value: Any, name: str, depth: int) -> Iterator[Any]:
    if wire != 2 or elem.kind not in _SCALARS:
        yield _single(elem, wire, value, name, depth)
        return
    position = 0
    while position < len(value):
        item, position = _varint(value, position)
        yield _scalar(elem.kind, item)


def _entry(elem: Type, raw: bytes, depth: int) -> tuple[str, Any]:
    """One entry of a map; a value that is a list (as in UserInfo.extra) is a message with the items as field 1."""
    key, item = "", _EMPTY.get(elem.kind, dict)()
    for number, wire, value in _fields(raw, "Entry"):
        if number == 1:
            key = _text(_delimited(wire, value, "Key"))
        elif number == 2 and elem.kind == "list":
            assert elem.elem is not None
            inner = elem.elem
            message = _fields(_delimited(wire, value, "Value"), "Value")
            item = [_single(inner, w, v, "Items", depth) for n, w, v in message if n == 1]
        elif number == 2:
            item = _single(elem, wire, value, "Value", depth)
    return key, item


_EMPTY: Final[dict[str, Callable[[], Any]]] = {
    "s": str, "bytes": str, "list": list, "Quantity": lambda: "0", "Time": lambda: None,
}  # fmt: skip


def _single(type_: Type, wire: int, value: Any, name: str, depth: int) -> Any:
    """One value that is neither a list nor a map."""
    kind = type_.kind
    if kind in _SCALARS:
        if wire != 0:
            raise _wrong(wire, name)
        return _scalar(kind, value)
    if kind == "f64":
        if wire != 1:
            raise _wrong(wire, name)
        return struct.unpack("<d", value)[0]
    data = _delimited(wire, value, name)
    if kind == "struct":
        out: dict[str, Any] = {}
        _read_struct(data, type_, out, depth + 1)
        return out
    if kind == "union":
        return _union(type_.name, data, depth + 1)
    return _SPECIALS[kind](data)


def _scalar(kind: str, value: int) -> Any:
    if kind == "b":
        return value != 0
    bits = int(kind[1:])
    value &= 2**bits - 1
    return value - 2**bits if kind[0] == "i" and value >= 2 ** (bits - 1) else value


def _numbers(data: bytes, message: str) -> tuple[int, int]:
    """The two integers of a Timestamp or the single one of a Duration."""
    found = {1: 0, 2: 0}
    for number, wire, value in _fields(data, message):
        if number in found:
            if wire != 0:
                raise _wrong(wire, "Seconds" if number == 1 else "Nanos")
            found[number] = _scalar("i64" if number == 1 else "i32", value)
    return found[1], found[2]


def _moment(data: bytes, *, micro: bool) -> str | None:
    if not data:
        return None
    seconds, nanos = _numbers(data, "Timestamp")
    try:
        moment = _EPOCH + dt.timedelta(seconds=seconds, microseconds=nanos // 1000 if micro else 0)
    except OverflowError:
        raise ProtobufError("timestamp is out of range") from None
    return times.format_micro_time(moment) if micro else times.format_time(moment)


def _first_text(data: bytes) -> str:
    text = ""
    for number, wire, value in _fields(data, "Quantity"):
        if number == 1:
            text = _text(_delimited(wire, value, "String_"))
    return text


def _int_or_string(data: bytes) -> int | str:
    is_text, number, text = False, 0, ""
    for key, wire, value in _fields(data, "IntOrString"):
        if key == 3:
            text = _text(_delimited(wire, value, "StrVal"))
        elif key in (1, 2):
            if wire != 0:
                raise _wrong(wire, "Type" if key == 1 else "IntVal")
            if key == 1:
                is_text = value == 1
            else:
                number = _scalar("i32", value)
    return text if is_text else number


def _json(data: bytes) -> Any:
    """A message whose field 1 is JSON text: RawExtension, FieldsV1 and apiextensions' JSON."""
    raw = b""
    for number, wire, value in _fields(data, "RawExtension"):
        if number == 1:
            raw = _delimited(wire, value, "Raw")
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise ProtobufError(f"invalid JSON in raw bytes: {error}") from None


def _union(name: str, data: bytes, depth: int) -> Any:
    """The three either-or types of a CRD's schema and its JSON values."""
    base, _, short = name.rpartition(".")
    if short == "JSON":
        return _json(data)
    allowed, items = False, []
    schema: dict[str, Any] | None = None
    of_bool = short == "JSONSchemaPropsOrBool"
    for number, wire, value in _fields(data, short):
        if number == 1 and of_bool:
            allowed = bool(value)
        elif number == (2 if of_bool else 1):
            schema = {} if schema is None else schema
            _read_struct(_delimited(wire, value, "Schema"), type_of(f"{base}.JSONSchemaProps"), schema, depth)
        elif number == 2:
            elem = type_of("s" if short == "JSONSchemaPropsOrStringArray" else f"{base}.JSONSchemaProps")
            items.append(_single(elem, wire, value, "JSONSchemas", depth))
    if of_bool:
        return allowed if schema is None else schema
    return items or schema


_SPECIALS: Final[dict[str, Callable[[bytes], Any]]] = {
    "s": _text,
    "bytes": lambda data: base64.b64encode(data).decode(),
    "Time": lambda data: _moment(data, micro=False),
    "MicroTime": lambda data: _moment(data, micro=True),
    "Duration": lambda data: times.format_duration(_numbers(data, "Duration")[0]),
    "Quantity": lambda data: _first_text(data) or "0",
    "IntOrString": _int_or_string,
    "Raw": _json,
    "Fields": _json,
}
