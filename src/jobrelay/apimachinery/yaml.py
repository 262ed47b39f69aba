"""YAML as Kubernetes reads it: YAML 1.1 turned into JSON values.

PyYAML's C loader does the work; some rules differ from its defaults and are changed here: dates and base-60 numbers
stay text, `0o14` is octal, `y` and `n` are booleans, tags do not change what is a map or a list. Keys become text the
way Go's converter prints them. A repeated key keeps its last value and is added to `duplicates` with its line, for the
server's warning.

Most bodies that come as YAML are JSON; those are read as such, a hundred times faster, unless the two languages differ
on them. The C code recurses for each level of a document and slows down with each open bracket, so depth is bounded
before it runs.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from jobrelay.apimachinery import gojson

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_NEWER = re.compile(rb"\s*%YAML\s+(?!1\.1\b)")
_MAP, _LIST = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"
_SCALARS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "binary", "timestamp", "merge", "value")
)
_MAX_BRACKETS = 900
_MAX_INDENT = 4000
_BRACKETS = re.compile(rb"[\[{]|[\]}]")
_INDENT = re.compile(rb"^(?:[ ]|[-?:][ \t]+)+", re.MULTILINE)
_TOO_DEEP = "yaml: exceeded max depth of 10000"
_UNLIKE_JSON = re.compile(rb"\\[u/]|\t|[\x7f-\xff]")  # escapes, blanks and characters on which they differ
_MAX_VALUES = 400_000  # of a document that uses aliases


class YamlError(ValueError):
    """Text that is not YAML; the message is Go's."""


class _KubernetesLoader(_Loader):  # type: ignore[misc]
    duplicates: list[str]

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if isinstance(node, yaml.MappingNode):
            node.tag = _MAP
        elif isinstance(node, yaml.SequenceNode):
            node.tag = _LIST
        elif node.tag not in _SCALARS:
            node.tag = "tag:yaml.org,2002:str"
        return super().construct_object(node, deep)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        self.flatten_mapping(node)
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise YamlError("yaml: invalid map key")
            key = _key_text(self.construct_object(key_node, deep=True))
            if key in made:
                self.duplicates.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
            made[key] = self.construct_object(value_node, deep=True)
        return made


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return "null" if key is None else str(key)


_KubernetesLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag
        not in (
            "tag:yaml.org,2002:timestamp",
            "tag:yaml.org,2002:int",
            "tag:yaml.org,2002:float",
            "tag:yaml.org,2002:bool",
        )
    ]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
_BOOL = re.compile(r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$")
_INT = re.compile(r"^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_DATE = re.compile(r"^\d{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01])(?:$|[Tt \t])")
_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOL, list("yYnNtTfFoO"))
_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def _scalar(loader: Any, node: yaml.ScalarNode, pattern: re.Pattern[str], tag: str) -> str:
    """The text of a value that is what its tag says; raises YamlError."""
    text: str = loader.construct_scalar(node)
    if not pattern.match(text):
        raise YamlError(f"yaml: cannot decode !!str `{text}` as a !!{tag}")
    return text


def _construct_int(loader: Any, node: yaml.ScalarNode) -> int | float | str:
    written = _scalar(loader, node, _INT, "int")
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


def _construct_float(loader: Any, node: yaml.ScalarNode) -> float | str:
    written = _scalar(loader, node, _FLOAT, "float")
    if written.lstrip("+-").lower() in (".inf", ".nan"):
        return float(written.replace(".", ""))
    return _number(written, written.replace("_", ""))


def _number(written: str, text: str) -> float | str:
    """A number as Go's float64; one that does not fit stays text."""
    value = float(text)
    return value if math.isfinite(value) else written


def _construct_bool(loader: Any, node: yaml.ScalarNode) -> bool:
    return _scalar(loader, node, _BOOL, "bool").lower() in ("y", "yes", "true", "on")


def _construct_null(loader: Any, node: yaml.ScalarNode) -> None:
    _scalar(loader, node, re.compile(r"^(?:~|null|Null|NULL|)$"), "null")


def _construct_date(loader: Any, node: yaml.ScalarNode) -> str:
    return _scalar(loader, node, _DATE, "timestamp")


_KubernetesLoader.add_constructor(
    "tag:yaml.org,2002:binary", lambda loader, node: loader.construct_yaml_binary(node).decode("utf-8", "replace")
)
for _name, _constructor in (
    ("int", _construct_int), ("float", _construct_float), ("bool", _construct_bool), ("null", _construct_null),
    ("timestamp", _construct_date),
):  # fmt: skip
    _KubernetesLoader.add_constructor(f"tag:yaml.org,2002:{_name}", _constructor)


def load(text: bytes | str, duplicates: list[str] | None = None) -> Any:
    """The first document of a YAML text as JSON values."""
    found: list[str] = duplicates if duplicates is not None else []
    raw = text if isinstance(text, bytes) else text.encode()
    if raw[:1] == b"{" and not _UNLIKE_JSON.search(raw):
        try:
            value = gojson.loads(raw)
            if not gojson.may_repeat(raw, value):
                return _as_json(value)
        except (gojson.JsonError, RecursionError):
            pass  # the slow path has the error text
    if _NEWER.match(raw):
        raise YamlError("yaml: found incompatible YAML document")
    _check_depth(raw)
    try:
        loader = _KubernetesLoader(text)
        loader.duplicates = found
        try:
            value = loader.get_data() if loader.check_data() else None
        finally:
            loader.dispose()
        if b"*" in raw and b"&" in raw:
            _check_size(value)
        return _as_json(value)
    except YamlError:
        raise
    except yaml.MarkedYAMLError as error:
        raise YamlError(_go_text(error)) from None
    except RecursionError:
        raise YamlError(_TOO_DEEP) from None
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(f"yaml: {error}") from None


def _check_depth(raw: bytes) -> None:
    """Refuses what is nested too deeply, by brackets or by indentation; brackets in texts count too."""
    if raw.count(b"[") + raw.count(b"{") > _MAX_BRACKETS:
        depth = 0
        for match in _BRACKETS.finditer(raw):
            depth += 1 if match.group() in b"[{" else -1
            if depth > _MAX_BRACKETS:
                raise YamlError(_TOO_DEEP)
    if any(match.end() - match.start() > _MAX_INDENT for match in _INDENT.finditer(raw)):
        raise YamlError(_TOO_DEEP)


def _check_size(value: Any) -> None:
    """Refuses a document that a few aliases blow up."""
    waiting, count = [value], 0
    while waiting:
        value = waiting.pop()
        count += 1
        if count > _MAX_VALUES:
            raise YamlError("yaml: document contains excessive aliasing")
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _go_text(error: yaml.MarkedYAMLError) -> str:
    if error.problem and "for merging" in error.problem:
        return "yaml: map merge requires map or sequence of maps as the value"
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
