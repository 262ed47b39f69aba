"""Checks of the annotation by which other controllers hold an object back: gates can be removed, and never added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, too_long
from jobrelay.apimachinery.names import is_domain_prefixed_path
from jobrelay.queueing import names

_PATH: Final = Path("metadata").child("annotations").key(names.ADMISSION_GATED_BY)
_LONGEST: Final = 63


def check_gates(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[FieldError]:
    """The errors of the gates of an object."""
    text = _text(new)
    if old is not None:
        yield from _check_change(text, _text(old))
    seen: set[str] = set()
    for gate in _gates(text) if text else ():
        if not gate:
            yield invalid(_PATH, text, "cannot contain empty gate names")
        elif gate in seen:
            yield invalid(_PATH, text, f"duplicate gate name: {gate}")
        else:
            yield from is_domain_prefixed_path(_PATH, gate)
            if len(gate) > _LONGEST:
                yield too_long(_PATH, _LONGEST)
        seen.add(gate)


def _check_change(new: str, old: str) -> Iterator[FieldError]:
    if new and not old:
        yield forbidden(_PATH, "cannot add admission gate after creation")
    elif new and not set(_gates(new)) <= set(_gates(old)):
        yield forbidden(_PATH, "can only remove gates, not add new ones")


def _text(obj: Mapping[str, Any]) -> str:
    return str(((obj.get("metadata") or {}).get("annotations") or {}).get(names.ADMISSION_GATED_BY) or "")


def _gates(text: str) -> list[str]:
    return [gate.strip() for gate in text.split(",")] if text.strip() else []
