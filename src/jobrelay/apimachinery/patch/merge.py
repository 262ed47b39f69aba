"""RFC 7386 merge patches: null removes, objects merge, everything else replaces."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.decode import json_kind
from jobrelay.apimachinery.patch.errors import bad_request

_CONTAINERS: Final = frozenset({dict, list})


def check_merge_patch(body: Any, *, strict: bool) -> Any:
    """The patch of a decoded body; strict is whether fieldValidation is Strict or Warn, as is the default."""
    if body is None or (not strict and not isinstance(body, (dict, list))):
        raise bad_request("Invalid JSON Patch")
    if strict and not isinstance(body, dict):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_kind(body)} into Go value of type map[string]interface {{}}"
        )
    return body


def apply_merge_patch(document: dict[str, Any], patch: Any) -> Any:
    """The patched document. Nulls deep in new values vanish too, but lists that replace lists are taken as they are."""
    if not isinstance(patch, dict):
        return prune(patch)
    merged = dict(document)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        current = merged.get(key)
        if not isinstance(current, dict):
            merged[key] = prune(value)
        else:
            merged[key] = apply_merge_patch(current, value) if isinstance(value, dict) else value
    return merged


def prune(value: Any) -> Any:
    """The value without the members of its objects that are null."""
    if isinstance(value, dict):
        return {
            key: prune(item) if type(item) in _CONTAINERS else item for key, item in value.items() if item is not None
        }
    return [prune(item) for item in value] if isinstance(value, list) else value
