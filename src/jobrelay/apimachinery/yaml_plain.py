"""Plain block YAML, as in kubeconfigs and most manifests: maps and lists by indentation, scalars of one word or in
quotes, lists of those in brackets on one line, and comments.

What is read here is what `yaml` would read; all else (anchors, other flow collections, texts of several lines, escapes,
repeated keys) is refused, also if it is not YAML at all. It exists because importing PyYAML takes about as long as all
that a command does otherwise.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.yaml_scalars import plain_scalar

__all__ = ["NotPlain", "read_plain"]

_LONGEST: Final = 256 * 1024
_DEEPEST: Final = 50
_KEY: Final = r"[A-Za-z][A-Za-z0-9_./-]*"
_WORD: Final = r"[A-Za-z0-9_./+=][A-Za-z0-9_./+=:@,~-]*(?<!:)"
_QUOTED: Final = r"\"[ !#-\[\]-~]*\"|'[ -&(-~]*'"
_ITEM: Final = rf"[A-Za-z0-9_./+=][A-Za-z0-9_./+=@~-]*|{_QUOTED}"
_VALUE: Final = rf"{_WORD}|{_QUOTED}|\{{\}}|\[(?:(?:{_ITEM})(?:, ?(?:{_ITEM}))*)?\]"
_COMMENT: Final = r" *#[ -~]*"
_LINE: Final = re.compile(rf"( *)(- )?(?:({_KEY}):(?: ({_VALUE}))?|({_VALUE}))(?: {_COMMENT})?")
_NO_LINE: Final = re.compile(rf"{_COMMENT}|")
_ITEMS: Final = re.compile(_ITEM)


class NotPlain(ValueError):
    """A text that has to be read by the whole of YAML."""


class _Token(NamedTuple):
    """The beginning of a list item, a key with or without a value, or an item that is a scalar."""

    column: int
    dash: bool = False
    key: str | None = None
    value: str | None = None


def read_plain(text: bytes) -> Any:
    """The values of a document; raises NotPlain."""
    if len(text) > _LONGEST:
        raise NotPlain("long")
    try:
        lines = text.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise NotPlain("not ASCII") from None
    tokens = [token for line in lines if not _NO_LINE.fullmatch(line) for token in _tokens(line)]
    if not tokens:
        raise NotPlain("empty")
    found, end = _Reader(tokens).block(0, tokens[0].column, 0)
    if end != len(tokens) or tokens[0].column:
        raise NotPlain("indentation")
    return found


def _tokens(line: str) -> list[_Token]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise NotPlain(line)
    spaces, dash, key, value, item = found.groups()
    if not dash and key is None:
        raise NotPlain(line)  # a scalar, which may be a part of the line before
    column = len(spaces)
    begun = [_Token(column, dash=True)] if dash else []
    return [*begun, _Token(column + 2 * bool(dash), key=key, value=value if key is not None else item)]


class _Reader:
    """Puts tokens together by their columns; each method returns a value and the index of what follows."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens

    def _at(self, index: int) -> _Token:
        return self._tokens[index] if index < len(self._tokens) else _Token(-1)

    def block(self, index: int, column: int, depth: int) -> tuple[Any, int]:
        token = self._at(index)
        if depth > _DEEPEST:
            raise NotPlain("deep")
        if token.dash:
            return self._list(index, column, depth)
        if token.key is None:
            return _scalar(token.value or ""), self._after(index, column)
        return self._map(index, column, depth)

    def _list(self, index: int, column: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while (token := self._at(index)).dash and token.column == column:
            value, index = self.block(index + 1, column + 2, depth + 1)
            found.append(value)
        if self._at(index).column > column:
            raise NotPlain("indentation")
        return found, index

    def _map(self, index: int, column: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while (token := self._at(index)).column == column:
            key = token.key
            if token.dash or key is None or key in found or not isinstance(plain_scalar(key), str):
                raise NotPlain("key")
            found[key], index = self._value(index, token, depth)
        if self._at(index).column > column:
            raise NotPlain("indentation")
        return found, index

    def _value(self, index: int, token: _Token, depth: int) -> tuple[Any, int]:
        if token.value is not None:
            return _scalar(token.value), self._after(index, token.column)
        below = self._at(index + 1)
        if below.column > token.column or (below.dash and below.column == token.column):
            return self.block(index + 1, below.column, depth + 1)
        return None, index + 1

    def _after(self, index: int, column: int) -> int:
        """The index after a scalar, which must not go on in the next line."""
        if self._at(index + 1).column > column:
            raise NotPlain("several lines")
        return index + 1


def _scalar(text: str) -> Any:
    if text == "{}":
        return {}
    if text[0] == "[":
        return [_scalar(item) for item in _ITEMS.findall(text)]
    return text[1:-1] if text[0] in "\"'" else plain_scalar(text)
