"""OpenAPI documents in protobuf, as gnostic's messages have them; some kubectl commands take version 2 in nothing else.

A message is a table from the names in JSON to field numbers and kinds. A kind is a scalar, the name of a message, or
one of these around another kind: `[X` repeated, `{X` a map (pairs of a name and an X), `(X` a message with X as its
only field, `|X` an X or a reference to one. Values of any shape, such as extensions, travel as text in YAML, of which
JSON is a part.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

Obj = dict[str, Any]
Encode = Callable[[Any], bytes]


class MessageType(NamedTuple):
    """The fields of a message, and the number of the field that holds extensions (0 where it has none)."""

    fields: dict[str, tuple[int, str]]
    extensions: int = 0


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def piece(number: int, data: bytes) -> bytes:
    """A field that has a length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def text(number: int, value: str) -> bytes:
    return piece(number, value.encode())


def boolean(number: int, value: object) -> bytes:
    return varint(number << 3) + (b"\1" if value else b"\0")


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def named(name: str, data: bytes) -> bytes:
    return text(1, name) + piece(2, data)


def anything(value: Any) -> bytes:
    return piece(2, msgspec.json.encode(value) + b"\n")


_SCALARS: Final[dict[str, Callable[[int, Any], bytes]]] = {
    "string": text,
    "bool": boolean,
    "double": double,
    "int64": lambda number, value: varint(number << 3) + varint(value),
}


class Encoder:
    """Encodes what its tables describe; `schema` is the kind of schemas, `special` are messages beyond tables."""

    def __init__(self, messages: dict[str, MessageType], schema: str, special: dict[str, Encode]) -> None:
        self._messages, self._schema = messages, schema
        self._encoders: dict[str, Encode] = {"Any": anything, "SchemaOrBool": self._schema_or_bool, **special}

    def document(self, value: Obj) -> bytes:
        """A whole document in protobuf."""
        return self.message("Document", value)

    def _schema_or_bool(self, value: Any) -> bytes:
        return boolean(2, value) if isinstance(value, bool) else piece(1, self.encoder(self._schema)(value))

    def message(self, kind: str, value: Obj) -> bytes:
        fields, extensions = self._messages[kind]
        made = [self._field(number, of, value[name]) for name, (number, of) in fields.items() if name in value]
        if extensions:
            made += [piece(extensions, named(key, anything(value[key]))) for key in value if key.startswith("x-")]
        return b"".join(made)

    def _field(self, number: int, kind: str, value: Any) -> bytes:
        if kind in _SCALARS:
            return _SCALARS[kind](number, value) if value else b""
        if kind == "[string":
            return b"".join(text(number, one) for one in value)
        if kind[0] == "[":
            encode = self.encoder(kind[1:])
            return b"".join(piece(number, encode(one)) for one in value)
        return piece(number, self.encoder(kind)(value))

    def encoder(self, kind: str) -> Encode:
        """What encodes the contents of a kind."""
        if kind not in self._encoders:
            self._encoders[kind] = self._make(kind)
        return self._encoders[kind]

    def _make(self, kind: str) -> Encode:
        if kind in self._messages:
            return lambda value: self.message(kind, value)
        number = 2 if kind[1] == "2" else 1
        inner = self.encoder(kind[number:])
        match kind[0]:
            case "{":
                return lambda value: b"".join(piece(number, named(name, inner(one))) for name, one in value.items())
            case "(":
                return lambda value: piece(1, inner(value))
            case _:
                return lambda value: piece(2, text(1, value["$ref"])) if "$ref" in value else piece(1, inner(value))
