"""The four kinds of patches that Kubernetes has.

Each is a function that returns a `Patch` value for `Client.patch`:

- `merge_patch` sends what changes; `None` removes a key. Lists are replaced whole. Works on every kind.
- `json_patch` sends operations, and can `test` before it acts. Works on every kind.
- `strategic_patch` merges lists by their key. Built-in kinds only.
- `apply_patch` is server-side apply: it states the fields that the field manager owns.

A `resourceVersion` inside a merge, strategic or apply patch makes it conditional on that version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from .objects import Body, encode

__all__ = ["Patch", "apply_patch", "json_patch", "merge_patch", "strategic_patch"]


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch for `Client.patch`."""

    content_type: str
    body: bytes
    query: Mapping[str, str] = field(default_factory=dict)


def merge_patch(change: Body) -> Patch:
    """RFC 7386: merge `change` into the object."""
    return Patch("application/merge-patch+json", encode(change))


def json_patch(operations: Sequence[Mapping[str, Any]]) -> Patch:
    """RFC 6902: apply operations in order, all or none."""
    return Patch("application/json-patch+json", msgspec.json.encode(operations))


def strategic_patch(change: Body) -> Patch:
    """Kubernetes' own merge, which knows the keys of lists."""
    return Patch("application/strategic-merge-patch+json", encode(change))


def apply_patch(intent: Body, *, field_manager: str, force: bool = False) -> Patch:
    """Server-side apply; `force` takes fields over from other managers."""
    query = {"fieldManager": field_manager} | ({"force": "true"} if force else {})
    return Patch("application/apply-patch+yaml", encode(intent), query)
