"""The messages of OpenAPI version 2."""

from __future__ import annotations

from typing import Final

from jobrelay.cluster.apiserver.openapi.gnostic import Encoder, MessageType, Obj, piece, text

_PARAMETER: Final = {"required": (1, "bool"), "in": (2, "string"), "description": (3, "string"), "name": (4, "string")}
MESSAGES: Final[dict[str, MessageType]] = {
    "Document": MessageType(
        {
            "swagger": (1, "string"), "info": (2, "Info"), "paths": (8, "{2PathItem"), "definitions": (9, "{Schema"),
            "parameters": (10, "{Parameter"), "security": (12, "[{Strings"), "securityDefinitions": (13, "{ApiKey"),
        },
        16,
    ),
    "Info": MessageType({"title": (1, "string"), "version": (2, "string")}, 7),
    "PathItem": MessageType(
        {
            "get": (2, "Operation"), "put": (3, "Operation"), "post": (4, "Operation"), "delete": (5, "Operation"),
            "options": (6, "Operation"), "head": (7, "Operation"), "patch": (8, "Operation"),
            "parameters": (9, "[|Parameter"),
        },
        10,
    ),
    "Operation": MessageType(
        {
            "tags": (1, "[string"), "description": (3, "string"), "operationId": (5, "string"),
            "produces": (6, "[string"), "consumes": (7, "[string"), "parameters": (8, "[|Parameter"),
            "responses": (9, "{(Response"), "schemes": (10, "[string"),
        },
        13,
    ),
    "BodyParameter": MessageType(
        {
            "description": (1, "string"), "name": (2, "string"), "in": (3, "string"), "required": (4, "bool"),
            "schema": (5, "Schema"),
        },
        6,
    ),
    "QueryParameter": MessageType({**_PARAMETER, "type": (6, "string"), "uniqueItems": (20, "bool")}, 23),
    "PathParameter": MessageType({**_PARAMETER, "type": (5, "string"), "uniqueItems": (19, "bool")}, 22),
    "Response": MessageType({"description": (1, "string"), "schema": (2, "(Schema")}, 5),
    "ApiKeySecurity": MessageType(
        {"type": (1, "string"), "name": (2, "string"), "in": (3, "string"), "description": (4, "string")}, 5
    ),
    "Schema": MessageType(
        {
            "$ref": (1, "string"), "format": (2, "string"), "title": (3, "string"), "description": (4, "string"),
            "default": (5, "Any"), "multipleOf": (6, "double"), "maximum": (7, "double"),
            "exclusiveMaximum": (8, "bool"), "minimum": (9, "double"), "exclusiveMinimum": (10, "bool"),
            "maxLength": (11, "int64"), "minLength": (12, "int64"), "pattern": (13, "string"),
            "maxItems": (14, "int64"), "minItems": (15, "int64"), "uniqueItems": (16, "bool"),
            "maxProperties": (17, "int64"), "minProperties": (18, "int64"), "required": (19, "[string"),
            "enum": (20, "[Any"), "additionalProperties": (21, "SchemaOrBool"), "type": (22, "Strings"),
            "items": (23, "(Schema"), "allOf": (24, "[Schema"), "properties": (25, "{Schema"),
        },
        31,
    ),
}  # fmt: skip


def _strings(value: list[str] | str) -> bytes:
    return b"".join(text(1, one) for one in ([value] if isinstance(value, str) else value))


def _parameter(value: Obj) -> bytes:
    match value["in"]:
        case "body":
            return piece(1, _ENCODER.message("BodyParameter", value))
        case "path":
            return piece(2, piece(4, _ENCODER.message("PathParameter", value)))
        case _:
            return piece(2, piece(3, _ENCODER.message("QueryParameter", value)))


_ENCODER: Final[Encoder] = Encoder(
    MESSAGES,
    "Schema",
    {
        "Strings": _strings,
        "Parameter": _parameter,
        "ApiKey": lambda value: piece(2, _ENCODER.message("ApiKeySecurity", value)),
    },
)
encode = _ENCODER.document
