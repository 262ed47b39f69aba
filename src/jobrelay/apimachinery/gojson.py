"""JSON as Go reads it: its syntax errors, numbers with their original text, repeated keys kept.

msgspec reads the body. Only when it fails, a small scanner finds the error text of Go; only when the body may hold a
repeated key (more `":` than keys), it is read again into `Pairs`, which keep every pair in order. So the common case
pays for neither.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, Self

import msgspec

from jobrelay.apimachinery.field import go_quote

MAX_DEPTH: Final = 10_000  # as in Go; what Python cannot hold, which is less, is refused with the same words
_LONGEST_INT: Final = 400  # digits; the largest number of Go has 309
_BLANKS: Final = b" \t\r\n"
_ESCAPED_BACKSLASH: Final = b'\\\\"'


_TOO_DEEP: Final = "invalid character '[' exceeded max depth"


UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no JSON, not of the type that was asked for, or nested too deeply."""


class JsonError(ValueError):
    """Text that is not JSON; the message is Go's."""


class Float(float):
    """A number with a fraction or exponent that remembers how it was written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made


def as_float(value: float) -> float:
    """A number as Go's float64, infinite if it does not fit in one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number_text(value: float) -> str:
    """A number as it was written."""
    return value.text if isinstance(value, Float) else str(value)


class Pairs:
    """An object in which some key is repeated: all its pairs, in order."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


_DECODER = msgspec.json.Decoder(float_hook=Float)


def loads(raw: bytes) -> Any:
    """The value of a JSON text; raises JsonError."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError, ValueError):
        pass
    complaint = syntax_error(raw)
    if complaint:
        raise JsonError(complaint)
    try:
        return _without_surrogates(json.loads(raw.decode("utf-8", errors="replace"), parse_float=Float, parse_int=_int))
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None


def _int(text: str) -> int | Float:
    """An integer; one that no number of Go can hold is not read digit by digit."""
    return int(text) if len(text) <= _LONGEST_INT else Float(text)


def _without_surrogates(value: Any) -> Any:
    """Half of a surrogate pair is no character: Go shows a replacement instead."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, Pairs):
        return Pairs([(_without_surrogates(key), _without_surrogates(item)) for key, item in value.pairs])
    return value


def loads_keeping_repeats(raw: bytes) -> Any:
    """As `loads`, but objects with a repeated key come as Pairs."""
    value = loads(raw)
    try:
        if not may_repeat(raw, value):
            return value
        text = raw.decode("utf-8", errors="replace")
        return _without_surrogates(json.loads(text, parse_float=Float, parse_int=_int, object_pairs_hook=_object))
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None


def may_repeat(raw: bytes, value: Any) -> bool:
    """Whether some key may be repeated in the text of a value.

    A text that is what the value would be written as repeats nothing. In others keys are counted in the text by what
    follows them. A quote inside of a string is escaped and does not count, unless the backslash before it is escaped
    itself: such a text may repeat anything.
    """
    if _written(value) == raw.rstrip():
        return False
    if _ESCAPED_BACKSLASH in raw:
        return True
    dense = raw.translate(None, _BLANKS)
    return dense.count(b'":') - dense.count(b'\\":') != _keys_below(value)


def _written(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return b""


def plain(value: Any) -> Any:
    """The value with repeated keys resolved: the last one wins, objects are merged."""
    if isinstance(value, Pairs):
        made: dict[str, Any] = {}
        for key, item in value.pairs:
            item = plain(item)
            before = made.get(key)
            made[key] = {**before, **item} if isinstance(before, dict) and isinstance(item, dict) else item
        return made
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def repeated(value: Any, trail: str = "") -> list[str]:
    """The paths of repeated keys, in document order."""
    found: list[str] = []
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value.pairs:
            path = f"{trail}.{key}" if trail else key
            if key in seen:
                found.append(path)
            seen.add(key)
            found += repeated(item, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            found += repeated(item, f"{trail}.{key}" if trail else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += repeated(item, f"{trail}[{index}]")
    return found


def _object(pairs: list[tuple[str, Any]]) -> Any:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Pairs(pairs)


def _keys_below(value: Any) -> int:
    """How many keys all objects in a value have together."""
    if type(value) is not dict and type(value) is not list:
        return 0
    count = len(value) if type(value) is dict else 0
    for item in value.values() if type(value) is dict else value:
        if type(item) is dict or type(item) is list:
            count += _keys_below(item)
    return count


_END: Final = "unexpected end of JSON input"
_DIGITS = re.compile(r"[0-9]+")
_SPACE = " \t\r\n"


class _Stop(Exception):
    pass


def _quoted(char: str) -> str:
    return "'\\''" if char == "'" else "'\"'" if char == '"' else f"'{go_quote(char)[1:-1]}'"


class _Scanner:
    """Finds the first place where Go's scanner stops, and its error text. Each byte is a character, as it is there."""

    def __init__(self, raw: bytes) -> None:
        self.text, self.at = raw.decode("latin-1"), 0

    def stop(self, context: str) -> _Stop:
        if self.at >= len(self.text):
            return _Stop(_END)
        return _Stop(f"invalid character {_quoted(self.text[self.at])} {context}")

    def stop_inside(self, context: str) -> _Stop:
        """Within a number, word or escape, Go sees the end of the text as a space."""
        char = self.text[self.at] if self.at < len(self.text) else " "
        return _Stop(f"invalid character {_quoted(char)} {context}")

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1

    def peek(self) -> str:
        self.space()
        return self.text[self.at] if self.at < len(self.text) else ""

    def run(self) -> None:
        """Reads a whole text. Iterative, so that depth costs no stack."""
        closing: list[str] = []
        while self.enters(closing) or self.goes_on(closing):
            if closing[-1] == "}":
                self.key()
        if self.peek():
            raise self.stop("after top-level value")

    def enters(self, closing: list[str]) -> bool:
        """Read a value; only the start of a collection that is not empty. Returns whether it was such a collection."""
        char = self.peek()
        if not char or char not in "{[":
            self.scalar(char)
            return False
        if len(closing) >= MAX_DEPTH:
            raise self.stop("exceeded max depth")
        self.at += 1
        close = "}" if char == "{" else "]"
        if self.peek() == close:
            self.at += 1
            return False
        closing.append(close)
        return True

    def goes_on(self, closing: list[str]) -> bool:
        """Reads what follows a value up to the next one; whether there is one."""
        while closing:
            char = self.peek()
            if char == ",":
                self.at += 1
                return True
            if char != closing[-1]:
                raise self.stop("after object key:value pair" if closing[-1] == "}" else "after array element")
            self.at += 1
            closing.pop()
        return False

    def key(self) -> None:
        if self.peek() != '"':
            raise self.stop("looking for beginning of object key string")
        self.string()
        if self.peek() != ":":
            raise self.stop("after object key")
        self.at += 1

    def scalar(self, char: str) -> None:
        if char == '"':
            self.string()
        elif char and char in "-0123456789":
            self.number()
        elif char in ("t", "f", "n"):
            self.word({"t": "true", "f": "false", "n": "null"}[char])
        else:
            raise self.stop("looking for beginning of value")

    def string(self) -> None:
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char < " ":
                raise self.stop("in string literal")
            if char == "\\":
                self.escape()
            self.at += 1
        raise _Stop(_END)

    def escape(self) -> None:
        self.at += 1
        if self.at >= len(self.text) or self.text[self.at] not in 'bfnrt\\/"u':
            raise self.stop_inside("in string escape code")
        if self.text[self.at] == "u":
            for _ in range(4):
                self.at += 1
                if self.at >= len(self.text) or self.text[self.at] not in "0123456789abcdefABCDEF":
                    raise self.stop_inside("in \\u hexadecimal character escape")

    def number(self) -> None:
        if self.text[self.at] == "-":
            self.at += 1
        if self.text[self.at : self.at + 1] == "0":
            self.at += 1
        else:
            self.digits("in numeric literal")
        if self.text[self.at : self.at + 1] == ".":
            self.at += 1
            self.digits("after decimal point in numeric literal")
        if self.text[self.at : self.at + 1] in ("e", "E"):
            self.at += 1
            if self.text[self.at : self.at + 1] in ("+", "-"):
                self.at += 1
            self.digits("in exponent of numeric literal")

    def digits(self, where: str) -> None:
        match = _DIGITS.match(self.text, self.at)
        if match is None:
            raise self.stop_inside(where)
        self.at = match.end()

    def word(self, word: str) -> None:
        for position, wanted in enumerate(word):
            if self.text[self.at : self.at + 1] != wanted:
                raise self.stop_inside(f"in literal {word} (expecting {_quoted(word[position])})")
            self.at += 1


def syntax_error(raw: bytes) -> str:
    """The error of Go's decoder for a text; "" when it is valid JSON after all."""
    try:
        _Scanner(raw).run()
    except _Stop as stop:
        return str(stop)
    return ""
