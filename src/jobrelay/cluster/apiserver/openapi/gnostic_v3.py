"""The messages of OpenAPI version 3."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.cluster.apiserver.openapi.gnostic import Encoder, MessageType, boolean, double, text

MESSAGES: Final[dict[str, MessageType]] = {
    "Document": MessageType(
        {"openapi": (1, "string"), "info": (2, "Info"), "paths": (4, "{PathItem"), "components": (5, "Components")}, 9
    ),
    "Info": MessageType({"title": (1, "string"), "version": (6, "string")}, 7),
    "Components": MessageType({"schemas": (1, "{|Schema"), "securitySchemes": (7, "{|SecurityScheme")}, 10),
    "SecurityScheme": MessageType(
        {"type": (1, "string"), "description": (2, "string"), "name": (3, "string"), "in": (4, "string")}, 9
    ),
    "PathItem": MessageType(
        {
            "get": (4, "Operation"), "put": (5, "Operation"), "post": (6, "Operation"), "delete": (7, "Operation"),
            "options": (8, "Operation"), "head": (9, "Operation"), "patch": (10, "Operation"),
            "parameters": (13, "[|Parameter"),
        },
        14,
    ),
    "Operation": MessageType(
        {
            "tags": (1, "[string"), "description": (3, "string"), "operationId": (5, "string"),
            "parameters": (6, "[|Parameter"), "requestBody": (7, "|RequestBody"), "responses": (8, "{2|Response"),
        },
        13,
    ),
    "Parameter": MessageType(
        {
            "name": (1, "string"), "in": (2, "string"), "description": (3, "string"), "required": (4, "bool"),
            "schema": (10, "|Schema"),
        },
        14,
    ),
    "RequestBody": MessageType({"content": (2, "{MediaType"), "required": (3, "bool")}, 4),
    "Response": MessageType({"description": (1, "string"), "content": (3, "{MediaType")}, 5),
    "MediaType": MessageType({"schema": (1, "|Schema")}, 5),
    "Schema": MessageType(
        {
            "nullable": (1, "bool"), "title": (9, "string"), "multipleOf": (10, "double"), "maximum": (11, "double"),
            "exclusiveMaximum": (12, "bool"), "minimum": (13, "double"), "exclusiveMinimum": (14, "bool"),
            "maxLength": (15, "int64"), "minLength": (16, "int64"), "pattern": (17, "string"),
            "maxItems": (18, "int64"), "minItems": (19, "int64"), "uniqueItems": (20, "bool"),
            "maxProperties": (21, "int64"), "minProperties": (22, "int64"), "required": (23, "[string"),
            "enum": (24, "[Any"), "type": (25, "string"), "allOf": (26, "[|Schema"), "oneOf": (27, "[|Schema"),
            "anyOf": (28, "[|Schema"), "not": (29, "Schema"), "items": (30, "(|Schema"),
            "properties": (31, "{|Schema"), "additionalProperties": (32, "SchemaOrBool"), "default": (33, "Default"),
            "description": (34, "string"), "format": (35, "string"),
        },
        36,
    ),
}  # fmt: skip


def _default(value: Any) -> bytes:
    """Only scalar defaults can be encoded; others become an empty value."""
    if isinstance(value, bool):
        return boolean(2, value)
    if isinstance(value, int | float):
        return double(1, value)
    return text(3, value) if isinstance(value, str) else b""


encode = Encoder(MESSAGES, "|Schema", {"Default": _default}).document
