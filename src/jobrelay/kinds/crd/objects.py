"""From a request's JSON to a custom resource: what a Go struct would do for a built-in kind, done by the schema.

The way is: type and metadata must be decodable, unknown fields are pruned, nulls dropped, embedded objects decoded; the
defaults follow. Errors here are answered with 400, before anything is validated.
"""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.crd import embedded, pruning
from jobrelay.kinds.crd.paths import go_print
from jobrelay.kinds.crd.structural import Node
from jobrelay.kinds.decode import DecodeError
from jobrelay.kinds.field import Path

_SUMMARY = 30


class CustomDecodeError(ValueError):
    """A body that cannot become a custom resource; the text is what follows in the server's 400."""


def plain_numbers(value: Any) -> Any:
    """Numbers as Go keeps them: whole ones as integers when they fit in 64 bits, others as floats."""
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else float(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def decode_custom(value: Any, node: Node | None, *, group: str, kind: str) -> tuple[dict[str, Any], list[str]]:
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
        unknown += pruning.prune(obj, node or Node({}))
        pruning.prune_nulls(obj, node)
        inner: list[str] = []
        error = embedded.coerce(obj, node, Path(), inner)
        if error is not None:
            raise CustomDecodeError(error.text())
        unknown += sorted(inner)
    if metadata is not None:
        obj["metadata"] = metadata
    return obj, unknown


def _metadata(obj: dict[str, Any], unknown: list[str]) -> dict[str, Any] | None:
    if "metadata" not in obj:
        return None
    try:
        return embedded.decode_metadata(obj["metadata"], "metadata", unknown)
    except DecodeError as error:
        raise CustomDecodeError(str(error)) from None


def unrecognized(kind: str, reason: str, body: bytes) -> str:
    """The server's text for a body whose kind it cannot even read."""
    text = body.decode("utf-8", "replace")
    summary = text if len(text) <= _SUMMARY else text[:_SUMMARY] + " ..."
    return f"the object provided is unrecognized (must be of type {kind}): {reason} ({summary or '<empty>'})"


def type_missing(obj: Any, body: bytes) -> str:
    """Why the type of a body cannot be read: kind or apiVersion is missing; empty when both are there."""
    text = body.decode("utf-8", "replace").strip()
    if not isinstance(obj, dict) or not obj.get("kind"):
        return f"Object 'Kind' is missing in '{text}'"
    return "" if obj.get("apiVersion") else f"Object 'apiVersion' is missing in '{text}'"
