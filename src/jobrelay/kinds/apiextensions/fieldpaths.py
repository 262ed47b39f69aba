"""Field paths as schemas name them (`.spec.size`, `.labels['a/b']`): of CEL rules' `fieldPath`, of selectable fields."""

from __future__ import annotations

import re
from typing import Final

from jobrelay.apimachinery.field import Path
from jobrelay.kinds.apiextensions.structural import Node

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|'[^']*|[.\[\]]|[^.\[\]']+[^.\[\]]*", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """A path that leads nowhere; the message is the server's."""


def resolve(text: str, node: Node, *, arrays: bool = True) -> tuple[Path, Node, str]:
    """The path as errors print it, the schema that it leads to, and its first name; raises FieldPathError."""
    tokens, at = _TOKEN.findall(text), 0
    path, found, first = Path(), node, ""

    def take() -> str:
        nonlocal at
        if at >= len(tokens):
            raise FieldPathError("unexpected end of JSON path")
        at += 1
        return str(tokens[at - 1])

    while at < len(tokens):
        step = take()
        if step == "[":
            if not arrays:
                raise FieldPathError("array notation is not allowed")
            name = _quoted(take())
            path, found = _step(path, found, name)
            if (closing := take()) != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif step == ".":
            name = take()
            path, found = _step(path, found, name)
        else:
            raise FieldPathError(f"expected [ or . but got: {step}")
        first = first or name
    return path, found, first


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")

    def plain(match: re.Match[str]) -> str:
        if match.group(1) not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {match.group()}")
        return _ESCAPES[match.group(1)]

    return re.sub(r"\\(.)", plain, token[1:-1], flags=re.DOTALL)


def _step(path: Path, node: Node, name: str) -> tuple[Path, Node]:
    if node.schema.get("properties"):
        child = node.named(name)
        if child is None:
            raise FieldPathError("does not refer to a valid field")
        return path.child(name), child
    if node.has_additional:
        return path.key(name), node.values or Node({})
    raise FieldPathError("does not refer to a valid field")
