"""YAML as Kubernetes reads it: YAML 1.1 turned into JSON values.

libyaml (through PyYAML) turns text into events; the rest is written here, because PyYAML's own composer recurses in C
for each level of a document, expands merge keys without bound, and reads other scalars than Go's converter: there dates
and base-60 numbers stay text, `0o14` is octal, `y` and `n` are booleans, and tags do not change what is a map or a
list. Keys become text as Go's converter prints them. A repeated key keeps its last value and is reported in
`duplicates` with its line, as the server's warning has it.

Most bodies that come as YAML are JSON; those are read as such, a hundred times faster, unless the two languages differ
on them. Kubeconfigs and most manifests are plain block YAML, which `yaml_plain` reads, so that commands need not import
PyYAML.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jobrelay.apimachinery import gojson
from jobrelay.apimachinery.yaml_plain import NotPlain, read_plain
from jobrelay.apimachinery.yaml_scalars import TAG, YamlError, plain_scalar, tagged_scalar, too_deep

if TYPE_CHECKING:
    from jobrelay.apimachinery.yaml_events import YamlNode

__all__ = ["YamlError", "load"]

_NEWER = re.compile(rb"\s*%YAML\s+(?!1\.1\b)")
_MAX_ALIASED = 50_000  # values that a document may repeat by aliases
_UNLIKE_JSON = re.compile(rb"\\[u/]|\t|[\x7f-\xff]")  # escapes, blanks and characters on which they differ


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
    try:
        return _as_json(read_plain(raw))
    except NotPlain:
        pass
    if _NEWER.match(raw):
        raise YamlError("yaml: found incompatible YAML document")
    from jobrelay.apimachinery.yaml_events import compose

    try:
        root = compose(text)
        return _as_json(_Decoder(duplicates if duplicates is not None else []).value(root)) if root else None
    except YamlError:
        raise
    except RecursionError:
        raise too_deep(0) from None
    except ValueError as error:
        raise YamlError(f"yaml: {error}") from None


class _Decoder:
    """Turns nodes into values and counts what aliases repeat."""

    def __init__(self, duplicates: list[str]) -> None:
        self._duplicates = duplicates
        self._aliases = 0
        self._repeated = 0

    def value(self, node: YamlNode) -> Any:
        if self._aliases:
            self._repeated += 1
            if self._repeated > _MAX_ALIASED:
                raise YamlError("yaml: document contains excessive aliasing")
        if node.kind == "scalar":
            return plain_scalar(node.text) if node.plain and node.tag is None else tagged_scalar(node.text, node.tag)
        if node.kind == "map":
            made: dict[str, Any] = {}
            self._fill(made, node)
            return made
        if node.kind == "list":
            return [self.value(child) for child in node.children]
        with self._following(node) as target:
            return self.value(target)

    @contextmanager
    def _following(self, alias: YamlNode) -> Iterator[YamlNode]:
        """What an alias stands for, or the node itself if it is none."""
        target = _target(alias)
        if target.entered:
            raise YamlError(f"yaml: anchor '{alias.text}' value contains itself")
        target.entered = True
        self._aliases += 1
        yield target
        self._aliases -= 1
        target.entered = False

    def _fill(self, made: dict[str, Any], node: YamlNode) -> None:
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

    def _merge(self, made: dict[str, Any], node: YamlNode) -> None:
        """Adds what `<<` names. As in Go's converter a later merge wins over the keys before it."""
        sources = node.children[::-1] if node.kind == "list" else [node]
        for source in sources:
            if _target(source).kind != "map":
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            with self._following(source) as target:
                self._fill(made, target)


def _target(node: YamlNode) -> YamlNode:
    return node.children[0] if node.kind == "alias" else node


def _is_merge(node: YamlNode) -> bool:
    return node.kind == "scalar" and node.text == "<<" and (node.plain or node.tag == f"{TAG}merge")


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return "null" if key is None else str(key)


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
