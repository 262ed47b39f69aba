"""Texts that the cells of several kinds share: label sets, selectors, containers, shortened lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from jobrelay.apimachinery.selectors import SelectorError, selector_from_object

NONE: Final = "<none>"
UNSET: Final = "<unset>"
SHOWN: Final = 3


def labels_text(labels: dict[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: dict[str, Any] | None) -> str:
    """A LabelSelector in the form of a query; none and an empty one look the same."""
    if selector is None:
        return NONE
    try:
        return str(selector_from_object(selector)) or NONE
    except SelectorError:
        return "<error>"


def container_names(spec: dict[str, Any] | None) -> str:
    return ",".join(container.get("name", "") for container in (spec or {}).get("containers") or ())


def container_images(spec: dict[str, Any] | None) -> str:
    return ",".join(container.get("image", "") for container in (spec or {}).get("containers") or ())


def shortened(items: Sequence[str], shown: int = SHOWN, empty: str = UNSET) -> str:
    """The first items, and how many more there are."""
    text = ",".join(items[:shown])
    if len(items) > shown:
        return f"{text} + {len(items) - shown} more..."
    return text or empty


def true_or_false(value: bool | None) -> str:
    if value is None:
        return UNSET
    return "True" if value else "False"


def condition_of(conditions: Iterable[dict[str, Any]] | None, kind: str) -> dict[str, Any] | None:
    return next((found for found in conditions or () if found.get("type") == kind), None)


def is_true(conditions: Iterable[dict[str, Any]] | None, kind: str) -> bool:
    found = condition_of(conditions, kind)
    return found is not None and found.get("status") == "True"
