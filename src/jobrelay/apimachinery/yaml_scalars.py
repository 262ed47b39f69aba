"""Scalars of YAML 1.1 as Go's converter reads them: by their looks, or by a tag."""

from __future__ import annotations

import base64
import math
import re
from typing import Any

__all__ = ["TAG", "YamlError", "plain_scalar", "tagged_scalar", "too_deep"]

TAG = "tag:yaml.org,2002:"

_BOOL = re.compile(r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$")
_INT = re.compile(r"^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_DATE = re.compile(r"^\d{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01])(?:$|[Tt \t])")


class YamlError(ValueError):
    """Text that is not YAML; the message is Go's."""


def too_deep(line: int) -> YamlError:
    """What Go says about a document that is nested too deeply."""
    return YamlError(f"yaml: {f'line {line + 1}: ' if line else ''}exceeded max depth of 10000")


def tagged_scalar(text: str, tag: str | None) -> Any:
    """A scalar that is quoted or has a tag."""
    match (tag or "").removeprefix(TAG):
        case "int":
            return _int(_checked(text, _INT, "int"))
        case "float":
            return _float(_checked(text, _FLOAT, "float"))
        case "bool":
            return _bool(_checked(text, _BOOL, "bool"))
        case "null":
            _checked(text, _NULL, "null")
            return None
        case "timestamp":
            return _checked(text, _DATE, "timestamp")
        case "binary":
            return _binary(text)
        case _:
            return text


def plain_scalar(text: str) -> Any:
    """An unquoted scalar, by its looks."""
    if _NULL.match(text):
        return None
    if text[0] in "yYnNtTfFoO" and _BOOL.match(text):
        return _bool(text)
    if text[0] in "-+.0123456789":
        if _INT.match(text):
            return _int(text)
        if _FLOAT.match(text):
            return _float(text)
    return text


def _checked(text: str, pattern: re.Pattern[str], tag: str) -> str:
    """A text that is what its tag says; raises YamlError."""
    if not pattern.match(text):
        raise YamlError(f"yaml: cannot decode !!str `{text}` as a !!{tag}")
    return text


def _int(written: str) -> int | float | str:
    text = written.replace("_", "")
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    base = {"0b": 2, "0x": 16, "0o": 8}.get(digits[:2])
    if base is not None:
        value = sign * int(digits[2:], base) if digits[2:] else 2**64
        return value if -(2**63) <= value < 2**64 else written
    try:
        value = sign * int(digits, 8 if digits[0] == "0" and len(digits) > 1 else 10)
    except ValueError:
        return _number(written, text)
    return value if -(2**63) <= value < 2**64 else _number(written, text)


def _float(written: str) -> float | str:
    if written.lstrip("+-").lower() in (".inf", ".nan"):
        return float(written.replace(".", ""))
    return _number(written, written.replace("_", ""))


def _number(written: str, text: str) -> float | str:
    """A number as Go's float64; one that does not fit stays text."""
    value = float(text)
    return value if math.isfinite(value) else written


def _bool(text: str) -> bool:
    return text.lower() in ("y", "yes", "true", "on")


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.splitlines()), validate=True).decode("utf-8", "replace")
    except ValueError:
        raise YamlError("yaml: !!binary value contains invalid base64 data") from None
