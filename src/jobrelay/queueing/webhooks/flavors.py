"""Checks of ResourceFlavors beyond their schema: labels, taints and tolerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid
from jobrelay.apimachinery.meta import validate_label_name, validate_labels
from jobrelay.apimachinery.names import is_valid_label_value

_SPEC: Final = Path("spec")
_TWICE: Final = "taints must be unique by key and effect pair"


def check_resource_flavor(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[FieldError]:
    """The errors of a ResourceFlavor."""
    spec = new.get("spec") or {}
    return [
        *validate_labels(spec.get("nodeLabels"), _SPEC.child("nodeLabels")),
        *_check_taints(spec.get("nodeTaints") or [], _SPEC.child("nodeTaints")),
        *check_toleration_keys(spec.get("tolerations") or [], _SPEC.child("tolerations")),
    ]


def check_toleration_keys(tolerations: Sequence[Mapping[str, Any]], path: Path) -> Iterator[FieldError]:
    """Keys are label names; the schema says the rest."""
    for index, each in enumerate(tolerations):
        if each.get("key"):
            yield from validate_label_name(each["key"], path.index(index).child("key"))


def _check_taints(taints: Sequence[Mapping[str, Any]], path: Path) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        where, key, value = path.index(index), taint.get("key", ""), taint.get("value", "")
        yield from validate_label_name(key, where.child("key"))
        if texts := is_valid_label_value(value):
            yield invalid(where.child("value"), value, ";".join(texts))
        if (key, taint.get("effect", "")) in seen:
            yield FieldError("FieldValueDuplicate", str(where), dict(taint), _TWICE)
        seen.add((key, taint.get("effect", "")))
