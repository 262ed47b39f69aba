"""From a request's JSON to a custom resource: what a Go struct would do for a built-in kind, done by the schema.

The way is: type and metadata must be decodable, unknown fields are pruned, nulls dropped, embedded objects decoded; the
defaults follow. Errors here are answered with 400, before anything is validated.
"""

from __future__ import annotations

import math
from typing import Any, Final

from jobrelay.apimachinery.decode import DecodeError, json_kind
from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.gojson import as_float, number_text
from jobrelay.kinds.apiextensions import embedded, pruning
from jobrelay.kinds.apiextensions.paths import go_print
from jobrelay.kinds.apiextensions.structural import StructuralSchema

_SUMMARY: Final = 30
_TYPE_STRUCT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


class CustomDecodeError(ValueError):
    """A body that cannot become a custom resource; the text is what follows in the server's 400."""


def plain_numbers(value: Any) -> Any:
    """Numbers as Go keeps them: whole ones as integers when they fit in 64 bits, others as floats.

    Raises CustomDecodeError for a number that is neither.
    """
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    if isinstance(value, float) or (type(value) is int and not -(2**63) <= value < 2**63):
        number = as_float(value)
        if math.isinf(number):
            raise CustomDecodeError(f"json: cannot unmarshal number {number_text(value)} into Go value of type float64")
        return int(number) if number.is_integer() and abs(number) < 2**63 else number
    return value


def decode_custom(
    value: Any, node: StructuralSchema | None, *, group: str, kind: str
) -> tuple[dict[str, Any], list[str]]:
    """The decoded object (a new one) and the paths of fields that a strict reader refuses; raises CustomDecodeError."""
    obj = plain_numbers(value)
    for name in ("kind", "apiVersion"):
        if name in obj and not isinstance(obj[name], str):
            shown, what = go_print(obj[name])
            raise CustomDecodeError(f".{name} accessor error: {shown} is of the type {what}, expected string")
    unknown: list[str] = []
    metadata = _metadata(obj, unknown)
    api_group, slash, _ = obj.get("apiVersion", "").partition("/")
    if (api_group if slash else "") == group and obj.get("kind") == kind:
        unknown += pruning.prune(obj, node or StructuralSchema({}))
        pruning.prune_nulls(obj, node)
        if node is not None and node.mentions(embedded.KEYWORD):
            unknown += _decode_embedded(obj, node)
    obj["metadata"] = metadata
    return obj, unknown


def _decode_embedded(obj: dict[str, Any], node: StructuralSchema) -> list[str]:
    unknown: list[str] = []
    error = embedded.coerce(obj, node, Path(), unknown)
    if error is not None:
        raise CustomDecodeError(error.text())
    return sorted(unknown)


def _metadata(obj: dict[str, Any], unknown: list[str]) -> dict[str, Any]:
    try:
        return embedded.decode_metadata(obj.get("metadata"), "metadata", unknown)
    except DecodeError as error:
        raise CustomDecodeError(str(error)) from None


def unrecognized(kind: str, reason: str, body: bytes) -> str:
    """The server's text for a body whose kind it cannot even read."""
    text = body.decode("utf-8", "replace")
    if body.startswith(b"{"):
        summary = text if len(text) <= _SUMMARY else text[:_SUMMARY] + " ..."
    else:
        summary = body[:_SUMMARY].hex() + (" ..." if len(body) > _SUMMARY else "") or "<empty>"
    return f"the object provided is unrecognized (must be of type {kind}): {reason} ({summary})"


def type_problem(value: Any, body: bytes) -> str:
    """Why the kind of a body cannot be read; empty when it can. `value` is the parsed body."""
    if value is not None and not isinstance(value, dict):
        what = f"{json_kind(value)} into Go value of type {_TYPE_STRUCT}"
        return f"couldn't get version/kind; json parse error: json: cannot unmarshal {what}"
    for name in ("apiVersion", "kind"):
        found = (value or {}).get(name)
        if found is not None and not isinstance(found, str):
            what = f"{json_kind(found)} into Go struct field .{name} of type string"
            return f"couldn't get version/kind; json parse error: json: cannot unmarshal {what}"
    if not (value or {}).get("kind"):
        return f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'"
    return ""


def version_problem(obj: dict[str, Any], api_version: str) -> str:
    """The server's 400 for an object of another version or group than the URL's; empty when they agree."""
    given = obj.get("apiVersion", "")
    if given == api_version:
        return ""
    return f"the API version in the data ({given}) does not match the expected API version ({api_version})"
