"""A patched document as the real server shows it in errors: the JSON text that its patch library is left with.

The order of the members depends on what the library has changed. What no patch has reached is as Go wrote it, in the
order of the struct's fields; objects that were opened have sorted members; values of a JSON patch stand as the client
sent them, those of a merge patch are sorted.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.apimachinery.types import Type

_ESCAPES: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def patched_text(original: Any, patched: Any, type_: Type | None, *, sort_new: bool) -> str:
    """The text of a patched document; type_ is None for custom resources, sort_new is for merge patches."""
    return go_json(_arranged(original, patched, type_, sort_new=sort_new))


def go_json(value: Any) -> str:
    """A value as Go writes it, members in the given order."""
    return msgspec.json.encode(value, enc_hook=_number).decode().translate(_ESCAPES)


def _number(value: Any) -> Any:
    """Numbers that remember their spelling are shown so."""
    text = getattr(value, "text", None)
    return msgspec.Raw(text.encode()) if isinstance(text, str) else str(value)


def _arranged(original: Any, patched: Any, type_: Type | None, *, sort_new: bool) -> Any:
    if patched is original:
        return go_ordered(patched, type_)
    if isinstance(patched, dict):
        known = original if isinstance(original, dict) else {}
        keys = sorted(patched) if isinstance(original, dict) or sort_new else list(patched)
        return {key: _arranged(known.get(key), patched[key], _member(type_, key), sort_new=sort_new) for key in keys}
    if isinstance(patched, list):
        elem = type_.elem if type_ is not None and type_.kind == "list" else None
        known_items = original if isinstance(original, list) else []
        return [
            _arranged(_same_item(known_items, item), item, elem, sort_new=sort_new and not known_items)
            for item in patched
        ]
    return patched


def _same_item(items: list[Any], wanted: Any) -> Any:
    return next((item for item in items if item is wanted), None)


def _member(type_: Type | None, key: str) -> Type | None:
    if type_ is None:
        return None
    if type_.kind == "struct":
        field = type_.fields.get(key)
        return field.type if field is not None else None
    return type_.elem if type_.kind == "map" else None


def go_ordered(value: Any, type_: Type | None) -> Any:
    """The value with its members in the order in which Go writes them."""
    if isinstance(value, dict):
        if type_ is not None and type_.kind in ("Fields", "Raw", "union"):
            return value
        if type_ is not None and type_.kind == "struct":
            return {name: go_ordered(value[name], field.type) for name, field in type_.fields.items() if name in value}
        elem = type_.elem if type_ is not None else None
        return {key: go_ordered(value[key], elem) for key in sorted(value)}
    if isinstance(value, list):
        elem = type_.elem if type_ is not None else None
        return [go_ordered(item, elem) for item in value]
    return value
