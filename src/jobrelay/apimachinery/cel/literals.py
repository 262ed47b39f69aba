"""CEL's string and bytes literals, and the unsigned integer."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))",
    re.DOTALL,
)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LiteralError(ValueError):
    """A literal that cannot be read; the message is the engine's."""


class Uint(int):
    """CEL's unsigned integer, which never equals a signed one by type."""

    __slots__ = ()


def unquote(text: str) -> str | bytes:
    """The value of a string or bytes literal as written, prefix and quotes included."""
    body = text.lstrip("rRbB")
    prefix = text[: len(text) - len(body)].lower()
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    inner = body[width:-width].replace("\r\n", "\n")
    as_bytes = "b" in prefix
    if "r" not in prefix:
        inner = _ESCAPE.sub(lambda match: _unescape(match, as_bytes=as_bytes), inner)
    return inner.encode("utf-8", "surrogateescape") if as_bytes else inner


def _unescape(match: re.Match[str], *, as_bytes: bool) -> str:
    simple, hex_low, hex_up, short, long, octal, other = match.groups()
    if simple:
        return _SIMPLE.get(simple, simple)
    if other is not None:
        raise LiteralError("invalid string literal: unable to unescape string")
    code = int(octal, 8) if octal else int(hex_low or hex_up or short or long, 16)
    if as_bytes and not (short or long) and code > 0x7F:
        return bytes([code]).decode("utf-8", "surrogateescape")
    return chr(code)
