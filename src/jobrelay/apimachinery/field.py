"""Field errors: the path of a value in an object and what is wrong with it, with Kubernetes' texts.

A check is a function that returns a list of `FieldError`. `FieldError.text()` is the line that users see and
`FieldError.cause()` the entry in `Status.details.causes`. The texts are part of the API: clients and tests match on
them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

ERROR_TEXTS: Final = {
    "FieldValueNotFound": "Not found", "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value", "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value", "FieldValueForbidden": "Forbidden", "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many", "InternalError": "Internal error", "FieldValueTypeInvalid": "Invalid value",
}  # fmt: skip
_WITHOUT_VALUE: Final = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError"}
NO_VALUE: Final = object()


class Path:
    """The path of a value, such as `spec.template.spec.containers[0].name`. Immutable and cheap to extend."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def child(self, *names: str) -> Path:
        path = self
        for name in names:
            path = (_child if len(path._text) < 256 else _new_child)(path._text, name)
        return path

    def index(self, index: int) -> Path:
        return Path(f"{self._text}[{index}]")

    def key(self, key: str) -> Path:
        return Path(f"{self._text}[{key}]")

    def __str__(self) -> str:
        return self._text or "<nil>"

    def __repr__(self) -> str:
        return f"Path({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def _new_child(parent: str, name: str) -> Path:
    return Path(f"{parent}.{name}" if parent else name)


_child: Final = functools.lru_cache(8192)(
    _new_child
)  # checks build the same few hundred paths, and nearly always find no error


class FieldError(msgspec.Struct, frozen=True):
    """One thing that is wrong: the cause's reason, the field, its value and the explanation."""

    reason: str
    field: str
    value: Any = NO_VALUE
    detail: str = ""

    def body(self) -> str:
        """The text without the field's name."""
        kind = ERROR_TEXTS[self.reason]
        if self.reason in _WITHOUT_VALUE or self.value is NO_VALUE:
            text = kind
        else:
            text = f"{kind}: {go_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def text(self) -> str:
        return f"{self.field}: {self.body()}"

    def cause(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.body(), "field": self.field}


def go_value(value: Any) -> str:
    """A value as Go's field errors print it: strings quoted, the rest as JSON."""
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    text = msgspec.json.encode(value, order="deterministic").decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


_GO_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip
_NEEDS_ESCAPE = re.compile(r"[^\x20-\x7e]")


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char in _GO_ESCAPES:
        return _GO_ESCAPES[char]
    if ord(char) >= 0x80 and char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def go_quote(text: str) -> str:
    """A text as Go's %q prints it."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _NEEDS_ESCAPE.sub(_escape, plain) + '"'


def required(path: Path, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", str(path), "", detail)


def invalid(path: Path, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", str(path), value, detail)


def type_invalid(path: Path, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", str(path), value, detail)


def duplicate(path: Path, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", str(path), value)


def forbidden(path: Path, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", str(path), "", detail)


def not_found(path: Path, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", str(path), value)


def internal(path: Path, detail: str) -> FieldError:
    return FieldError("InternalError", str(path), "", detail)


def not_supported(path: Path, value: Any, supported: Sequence[str]) -> FieldError:
    """`supported` is printed in the order given; pass it sorted where Kubernetes sorts."""
    detail = "supported values: " + ", ".join(go_quote(v) for v in supported) if supported else ""
    return FieldError("FieldValueNotSupported", str(path), value, detail)


def one_of(path: Path, value: Any, options: Sequence[str]) -> list[FieldError]:
    """The error of a value that is none of the options."""
    return [] if value in options else [not_supported(path, value, options)]


def too_long(path: Path, limit: int) -> FieldError:
    return FieldError(
        "FieldValueTooLong", str(path), "", f"may not be more than {limit} byte{'' if limit == 1 else 's'}"
    )


def too_many(path: Path, actual: int, limit: int) -> FieldError:
    return FieldError(
        "FieldValueTooMany", str(path), actual, f"must have at most {limit} item{'' if limit == 1 else 's'}"
    )


def aggregate(errors: Iterable[FieldError]) -> str:
    """Several errors as one text: a single one as it is, more in brackets, repeated ones once."""
    texts = list(dict.fromkeys(error.text() for error in errors))
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
