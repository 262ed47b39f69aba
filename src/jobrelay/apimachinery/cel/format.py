"""`'%s is %d'.format([...])`: CEL's formatting, and quoting."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from jobrelay.apimachinery.cel.values import CelError, Duration, Timestamp, TypeValue, is_number, kind_of, type_name
from jobrelay.apimachinery.goint import read_int

_CLAUSE = re.compile(r"%(?:\.([0-9]*))?(.)?", re.DOTALL)
_MAX_PRECISION: Final = 1000  # digits; a double has no more than that many
_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
    '"': '\\"',
}  # fmt: skip


def quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def format_text(template: str, args: Any) -> str:
    taken = 0

    def clause(match: re.Match[str]) -> str:
        nonlocal taken
        precision, verb = match.groups()
        if verb is None:
            raise CelError("unexpected end of string")
        if verb == "%" and precision is None:
            return "%"
        if taken >= len(args):
            raise CelError(f"index {taken} out of range")
        value = args[taken]
        taken += 1
        return _one(verb, value, _precision(precision) if precision else 6)

    return _CLAUSE.sub(clause, template)


def _precision(digits: str) -> int:
    if (precision := read_int(digits)) > _MAX_PRECISION:
        raise CelError(f"error during formatting: precision {digits[:20]} is too large")
    return precision


def clause_count(template: str) -> int:
    """How many arguments a template takes."""
    return sum(match.group(2) not in ("%", None) for match in _CLAUSE.finditer(template))


def _one(verb: str, value: Any, precision: int) -> str:
    if verb == "s":
        return as_text(value)
    if verb == "d":
        return _decimal(value)
    if verb in "fe":
        return _float(verb, value, precision)
    if verb in "bxXo":
        return _base(verb, value)
    raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')


def as_text(value: Any, *, nested: bool = False) -> str:
    kind = kind_of(value)
    if kind == "string":
        return quoted(value) if nested else str(value)
    if kind == "list":
        return f"[{', '.join(as_text(item, nested=True) for item in value)}]"
    if kind == "map":
        pairs = sorted((as_text(key, nested=True), as_text(item, nested=True)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return _scalar_text(value, nested=nested)


def _scalar_text(value: Any, *, nested: bool) -> str:
    from jobrelay.apimachinery.cel.standard import double_text, duration_text

    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6f}" if nested else double_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Duration):
        return f'duration("{duration_text(value)}")' if nested else duration_text(value)
    if isinstance(value, Timestamp):
        return f'timestamp("{value}")' if nested else str(value)
    if isinstance(value, TypeValue):
        return value.name
    if is_number(value):
        return str(int(value))
    raise CelError(f"no formatting function for {type_name(value)}")


def _decimal(value: Any) -> str:
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    if kind_of(value) in ("int", "uint"):
        return str(int(value))
    raise CelError(
        f"error during formatting: decimal clause can only be used on integers, was given {type_name(value)}"
    )


def _float(verb: str, value: Any, precision: int) -> str:
    if not is_number(value):
        what = "scientific" if verb == "e" else "fixed-point"
        raise CelError(
            f"error during formatting: {what} clause can only be used on doubles, was given {type_name(value)}"
        )
    if verb == "f":
        return f"{float(value):.{precision}f}"
    mantissa, _, exponent = f"{float(value):.{precision}e}".partition("e")
    return f"{mantissa} × 10{exponent.translate(str.maketrans('0123456789-', '⁰¹²³⁴⁵⁶⁷⁸⁹⁻', '+'))}"


def _base(verb: str, value: Any) -> str:
    kind = kind_of(value)
    if verb == "b" and kind == "bool":
        return "1" if value else "0"
    if kind in ("int", "uint"):
        return format(int(value), verb)
    if verb in "xX" and kind in ("string", "bytes"):
        text: str = (value.encode() if kind == "string" else value).hex()
        return text.upper() if verb == "X" else text
    names = {"b": "integers and bools", "o": "integers"}
    wanted = names.get(verb, "integers, byte buffers, and strings")
    what = {"b": "binary", "o": "octal"}.get(verb, "hex")
    raise CelError(f"error during formatting: only {wanted} can be formatted as {what}, was given {type_name(value)}")
