"""OpenAPI version 2 in protobuf, as gnostic's Document message has it; some kubectl commands take nothing else.

A message is a table from the names in JSON to field numbers and kinds; what the tables cannot say (maps, choices) are the
functions below them. Values of any shape, such as vendor extensions, travel as text in YAML, of which JSON is a part.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import msgspec

Obj = dict[str, Any]
Encode = Callable[[Any], bytes]


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _piece(number: int, data: bytes) -> bytes:
    """A field that has a length."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _text(number: int, value: str) -> bytes:
    return _piece(number, value.encode())


def _any(value: Any) -> bytes:
    return _piece(2, msgspec.json.encode(value) + b"\n")


def _scalar(number: int, kind: str, value: Any) -> bytes:
    if kind == "double":
        return _varint(number << 3 | 1) + struct.pack("<d", value) if value else b""
    return _varint(number << 3) + _varint(int(value)) if value else b""


def _field(number: int, kind: str, value: Any) -> bytes:
    if kind == "string":
        return _text(number, value) if value else b""
    if kind in ("bool", "int64", "double"):
        return _scalar(number, kind, value)
    if kind.startswith("["):
        return b"".join(_element(number, kind[1:], one) for one in value)
    return _element(number, kind, value)


def _element(number: int, kind: str, value: Any) -> bytes:
    if kind == "string":
        return _text(number, value)
    return _piece(number, ENCODERS[kind](value) if kind in ENCODERS else _message(kind, value))


def _message(kind: str, value: Obj) -> bytes:
    fields, extensions = MESSAGES[kind]
    made = [_field(number, of, value[name]) for name, (number, of) in fields.items() if name in value]
    if extensions:
        made += [_piece(extensions, _named(key, _any(value[key]))) for key in value if key.startswith("x-")]
    return b"".join(made)


def _named(name: str, data: bytes) -> bytes:
    return _text(1, name) + _piece(2, data)


def _map(kind: str, number: int = 1) -> Encode:
    """A map: pairs of a name and a message."""
    encode = ENCODERS.get(kind) or (lambda value: _message(kind, value))
    return lambda value: b"".join(_piece(number, _named(name, encode(one))) for name, one in value.items())


def _parameter(value: Obj) -> bytes:
    if value["in"] == "body":
        return _piece(1, _message("BodyParameter", value))
    if value["in"] == "path":
        return _piece(2, _piece(4, _message("PathParameter", value)))
    return _piece(2, _piece(3, _message("QueryParameter", value)))


def _parameters_item(value: Obj) -> bytes:
    return _piece(2, _text(1, value["$ref"])) if "$ref" in value else _piece(1, _parameter(value))


def _additional(value: Any) -> bytes:
    return _scalar(2, "bool", value) if isinstance(value, bool) else _piece(1, _message("Schema", value))


def _strings(value: list[str]) -> bytes:
    return b"".join(_text(1, one) for one in value)


_Table = tuple[dict[str, tuple[int, str]], int]
MESSAGES: Final[dict[str, _Table]] = {
    "Document": (
        {
            "swagger": (1, "string"), "info": (2, "Info"), "paths": (8, "Paths"), "definitions": (9, "Definitions"),
            "parameters": (10, "Parameters"), "security": (12, "[SecurityRequirement"),
            "securityDefinitions": (13, "SecurityDefinitions"),
        },
        16,
    ),
    "Info": ({"title": (1, "string"), "version": (2, "string")}, 7),
    "PathItem": (
        {
            "get": (2, "Operation"), "put": (3, "Operation"), "post": (4, "Operation"), "delete": (5, "Operation"),
            "options": (6, "Operation"), "head": (7, "Operation"), "patch": (8, "Operation"),
            "parameters": (9, "[ParametersItem"),
        },
        10,
    ),
    "Operation": (
        {
            "tags": (1, "[string"), "description": (3, "string"), "operationId": (5, "string"), "produces": (6, "[string"),
            "consumes": (7, "[string"), "parameters": (8, "[ParametersItem"), "responses": (9, "Responses"),
            "schemes": (10, "[string"),
        },
        13,
    ),
    "BodyParameter": (
        {
            "description": (1, "string"), "name": (2, "string"), "in": (3, "string"), "required": (4, "bool"),
            "schema": (5, "Schema"),
        },
        6,
    ),
    "QueryParameter": (
        {
            "required": (1, "bool"), "in": (2, "string"), "description": (3, "string"), "name": (4, "string"),
            "type": (6, "string"), "uniqueItems": (20, "bool"),
        },
        23,
    ),
    "PathParameter": (
        {
            "required": (1, "bool"), "in": (2, "string"), "description": (3, "string"), "name": (4, "string"),
            "type": (5, "string"), "uniqueItems": (19, "bool"),
        },
        22,
    ),
    "Response": ({"description": (1, "string"), "schema": (2, "SchemaItem")}, 5),
    "ApiKeySecurity": (
        {"type": (1, "string"), "name": (2, "string"), "in": (3, "string"), "description": (4, "string")},
        5,
    ),
    "Schema": (
        {
            "$ref": (1, "string"), "format": (2, "string"), "title": (3, "string"), "description": (4, "string"),
            "default": (5, "Any"), "multipleOf": (6, "double"), "maximum": (7, "double"), "exclusiveMaximum": (8, "bool"),
            "minimum": (9, "double"), "exclusiveMinimum": (10, "bool"), "maxLength": (11, "int64"),
            "minLength": (12, "int64"), "pattern": (13, "string"), "maxItems": (14, "int64"), "minItems": (15, "int64"),
            "uniqueItems": (16, "bool"), "maxProperties": (17, "int64"), "minProperties": (18, "int64"),
            "required": (19, "[string"), "enum": (20, "[Any"), "additionalProperties": (21, "AdditionalProperties"),
            "type": (22, "Type"), "items": (23, "Items"), "allOf": (24, "[Schema"), "properties": (25, "Definitions"),
        },
        31,
    ),
}  # fmt: skip
ENCODERS: dict[str, Encode] = {
    "Any": _any,
    "AdditionalProperties": _additional,
    "Items": lambda value: _piece(1, _message("Schema", value)),
    "Type": lambda value: _strings([value] if isinstance(value, str) else value),
    "SchemaItem": lambda value: _piece(1, _message("Schema", value)),
    "ResponseValue": lambda value: _piece(1, _message("Response", value)),
    "SecurityDefinition": lambda value: _piece(2, _message("ApiKeySecurity", value)),
    "StringArray": _strings,
    "Parameter": _parameter,
    "ParametersItem": _parameters_item,
}
ENCODERS |= {
    "Paths": _map("PathItem", 2),
    "Definitions": _map("Schema"),
    "Parameters": _map("Parameter"),
    "Responses": _map("ResponseValue"),
    "SecurityDefinitions": _map("SecurityDefinition"),
    "SecurityRequirement": _map("StringArray"),
}


def encode(document: Obj) -> bytes:
    """A document of version 2 in protobuf."""
    return _message("Document", document)
