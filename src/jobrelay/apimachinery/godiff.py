"""The difference of two structs as error texts show it: unified, of the pretty-printed internal Go structs."""

from __future__ import annotations

import difflib
from typing import Any

import msgspec

from jobrelay.apimachinery.gostruct import struct_value


def difference(old: Any, new: Any, type_name: str) -> str:
    """Lines without file names; a list type is named with a leading `[`."""
    lines = list(difflib.unified_diff(_pretty(old, type_name), _pretty(new, type_name), n=3))
    return "".join(lines[2:])


def _pretty(value: Any, type_name: str) -> list[str]:
    raw = struct_value(value, type_name)
    text = msgspec.json.format(bytes(raw) if raw is not None else b"null", indent=1).decode()
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return [line + "\n" for line in text.split("\n")]
