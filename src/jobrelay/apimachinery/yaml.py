"""YAML as Kubernetes reads it: YAML 1.1 turned into JSON values.

libyaml (through PyYAML) turns text into events; the rest is written here, because PyYAML's own composer recurses in C
for each level of a document, expands merge keys without bound, and reads other scalars than Go's converter: there dates
and base-60 numbers stay text, `0o14` is octal, `y` and `n` are booleans, and tags do not change what is a map or a
list. Keys become text as Go's converter prints them. A repeated key keeps its last value and is reported in
`duplicates` with its line, as the server's warning has it.

Most bodies that come as YAML are JSON; those are read as such, a hundred times faster, unless the two languages differ
on them.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from jobrelay.apimachinery import gojson

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NEWER = re.compile(rb"\s*%YAML\s+(?!1\.1\b)")
_TAG = "tag:yaml.org,2002:"
_MAX_DEPTH = 400  # a level takes two frames of the interpreter, whose own limit is 1,000 and never reached so
_MAX_ALIASED = 50_000  # values that a document may repeat by aliases
_UNLIKE_JSON = re.compile(rb"\\[u/]|\t|[\x7f-\xff]")  # escapes, blanks and characters on which they differ

_BOOL = re.compile(r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$")
_INT = re.compile(r"^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_DATE = re.compile(r"^\d{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01])(?:$|[Tt \t])")


class YamlError(ValueError):
    """Text that is not YAML; the message is Go's."""


def load(text: bytes | str, duplicates: list[str] | None = None) -> Any:
    """The first document of a YAML text as JSON values."""
    raw = text if isinstance(text, bytes) else text.encode()
    if raw[:1] == b"{" and not _UNLIKE_JSON.search(raw):
        try:
            value = gojson.loads(raw)
            if not gojson.may_repeat(raw, value):
                return _as_json(value)
        except (gojson.JsonError, RecursionError):
            pass  # the other way has the words for what is wrong
    if _NEWER.match(raw):
        raise YamlError("yaml: found incompatible YAML document")
    try:
        root = _compose(text)
        return _as_json(_Decoder(duplicates if duplicates is not None else []).value(root)) if root else None
    except YamlError:
        raise
    except yaml.MarkedYAMLError as error:
        raise YamlError(_go_text(error)) from None
    except RecursionError:
        raise _too_deep(0) from None
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(f"yaml: {error}") from None


@dataclass(slots=True, eq=False)
class _Node:
    """A value as it is written: a scalar's text, the items of a list, or the keys and values of a map in turns."""

    kind: str
    line: int
    text: str = ""
    tag: str | None = None
    plain: bool = False
    children: list[_Node] = field(default_factory=list)
    entered: bool = False
    """Whether an alias to it is being followed."""


def _compose(text: bytes | str) -> _Node | None:
    """The tree of the first document. Iterative, so that depth costs no stack."""
    parser = _Parser(text)
    anchors: dict[str, _Node] = {}
    root = _Node("document", 0)
    path = [root]
    try:
        parser.get_event()  # the start of the stream
        while not isinstance(event := parser.get_event(), yaml.DocumentEndEvent | yaml.StreamEndEvent):
            if isinstance(event, yaml.CollectionEndEvent):
                path.pop()
            elif not isinstance(event, yaml.DocumentStartEvent):
                node = _node(event, anchors)
                path[-1].children.append(node)
                if isinstance(event, yaml.CollectionStartEvent):
                    path.append(node)
                    if len(path) > _MAX_DEPTH:
                        raise _too_deep(node.line)
    finally:
        parser.dispose()
    return root.children[0] if root.children else None


def _node(event: Any, anchors: dict[str, _Node]) -> _Node:
    line: int = event.start_mark.line
    if isinstance(event, yaml.AliasEvent):
        name = str(event.anchor)
        if name not in anchors:
            raise YamlError(f"yaml: unknown anchor '{name}' referenced")
        return _Node("alias", line, name, children=[anchors[name]])
    if isinstance(event, yaml.ScalarEvent):
        node = _Node("scalar", line, event.value, event.tag, event.implicit[0])
    else:
        node = _Node("map" if isinstance(event, yaml.MappingStartEvent) else "list", line)
    if event.anchor:
        anchors[event.anchor] = node
    return node


class _Decoder:
    """Turns nodes into values and counts what aliases repeat."""

    def __init__(self, duplicates: list[str]) -> None:
        self._duplicates = duplicates
        self._aliases = 0
        self._repeated = 0

    def value(self, node: _Node) -> Any:
        if self._aliases:
            self._repeated += 1
            if self._repeated > _MAX_ALIASED:
                raise YamlError("yaml: document contains excessive aliasing")
        if node.kind == "scalar":
            return _scalar(node)
        if node.kind == "map":
            made: dict[str, Any] = {}
            self._fill(made, node)
            return made
        if node.kind == "list":
            return [self.value(child) for child in node.children]
        with self._following(node) as target:
            return self.value(target)

    @contextmanager
    def _following(self, alias: _Node) -> Iterator[_Node]:
        """What an alias stands for, or the node itself if it is none."""
        target = _target(alias)
        if target.entered:
            raise YamlError(f"yaml: anchor '{alias.text}' value contains itself")
        target.entered = True
        self._aliases += 1
        yield target
        self._aliases -= 1
        target.entered = False

    def _fill(self, made: dict[str, Any], node: _Node) -> None:
        for key_node, value_node in zip(node.children[::2], node.children[1::2], strict=True):
            if _is_merge(key_node):
                self._merge(made, value_node)
                continue
            if _target(key_node).kind != "scalar":
                raise YamlError("yaml: invalid map key")
            written = self.value(key_node)
            key, value = _key_text(written), self.value(value_node)
            if key in made:
                shown = f'"{key}"' if isinstance(written, str) else key
                self._duplicates.append(f"line {value_node.line + 1}: key {shown} already set in map")
            made[key] = value

    def _merge(self, made: dict[str, Any], node: _Node) -> None:
        """Adds what `<<` names. As in Go's converter a later merge wins over the keys before it."""
        sources = node.children[::-1] if node.kind == "list" else [node]
        for source in sources:
            if _target(source).kind != "map":
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            with self._following(source) as target:
                self._fill(made, target)


def _target(node: _Node) -> _Node:
    return node.children[0] if node.kind == "alias" else node


def _is_merge(node: _Node) -> bool:
    return node.kind == "scalar" and node.text == "<<" and (node.plain or node.tag == f"{_TAG}merge")


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return "null" if key is None else str(key)


def _scalar(node: _Node) -> Any:
    text = node.text
    if node.plain and node.tag is None:
        return _plain(text)
    match (node.tag or "").removeprefix(_TAG):
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


def _plain(text: str) -> Any:
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


def _too_deep(line: int) -> YamlError:
    return YamlError(f"yaml: {f'line {line + 1}: ' if line else ''}exceeded max depth of 10000")


def _go_text(error: yaml.MarkedYAMLError) -> str:
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + (1 if isinstance(error, yaml.scanner.ScannerError) else 0)
    elif error.context_mark is not None and error.context_mark.line:
        line = error.context_mark.line
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"


def _as_json(value: Any) -> Any:
    if type(value) is int and not -(2**63) <= value < 2**64:
        value = float(value) if abs(value) < 10**308 else str(value)
    if isinstance(value, gojson.Float):
        value = float(value) if math.isfinite(value) else value.text
    if isinstance(value, float) and not math.isfinite(value):
        raise YamlError(
            f"json: unsupported value: {'NaN' if math.isnan(value) else ('+' if value > 0 else '-') + 'Inf'}"
        )
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value
