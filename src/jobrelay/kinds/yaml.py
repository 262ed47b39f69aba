"""YAML as Kubernetes reads it: YAML 1.1 turned into JSON values.

PyYAML's C loader does the work; four rules differ from its defaults and are changed here: dates and base-60 numbers stay
text, `0o14` is octal, `y` and `n` are booleans. Keys become text the way Go's converter prints them. A repeated key keeps its
last value and is told to `duplicates` with its line, as the server's warning has it.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_NEWER = re.compile(rb"\s*%YAML\s+(?!1\.1\b)")


class YamlError(ValueError):
    """Text that is not YAML; the message is Go's."""


class _KubernetesLoader(_Loader):  # type: ignore[misc]
    duplicates: list[str]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        self.flatten_mapping(node)
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
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
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool")]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
_KubernetesLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    re.compile(r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$"),
    list("yYnNtTfFoO"),
)
_KubernetesLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$"),
    list("-+0123456789"),
)
_KubernetesLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
    list("-+0123456789."),
)


def _construct_int(loader: Any, node: yaml.ScalarNode) -> int | float:
    text = loader.construct_scalar(node).replace("_", "")
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    if digits[:2] in ("0b", "0x", "0o"):
        return sign * int(digits, 0)
    try:
        value = sign * int(digits, 8 if digits[0] == "0" and len(digits) > 1 else 10)
    except ValueError:
        return sign * float(digits)
    return value if -(2**63) <= value < 2**64 else float(value)


def _construct_bool(loader: Any, node: yaml.ScalarNode) -> bool:
    return loader.construct_scalar(node).lower() in ("y", "yes", "true", "on")


def _construct_unknown(loader: Any, suffix: str, node: yaml.Node) -> Any:
    """A tag of the document's own says nothing here: the value is read as if it had none."""
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_KubernetesLoader.add_multi_constructor("!", _construct_unknown)
_KubernetesLoader.add_constructor(
    "tag:yaml.org,2002:binary", lambda loader, node: loader.construct_yaml_binary(node).decode("utf-8", "replace")
)
_KubernetesLoader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_KubernetesLoader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)


def load(text: bytes | str, duplicates: list[str] | None = None) -> Any:
    """The first document of a YAML text as JSON values."""
    found: list[str] = duplicates if duplicates is not None else []
    if _NEWER.match(text if isinstance(text, bytes) else text.encode()):
        raise YamlError("yaml: found incompatible YAML document")
    try:
        loader = _KubernetesLoader(text)
        loader.duplicates = found
        try:
            value = loader.get_data() if loader.check_data() else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise YamlError(_go_text(error)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"yaml: {error}") from None
    return _as_json(value)


def load_all(text: bytes | str) -> list[Any]:
    """Every document of a YAML text, empty ones left out."""
    documents = []
    loader = _KubernetesLoader(text)
    loader.duplicates = []
    try:
        while loader.check_data():
            documents.append(loader.get_data())
    except yaml.MarkedYAMLError as error:
        raise YamlError(_go_text(error)) from None
    finally:
        loader.dispose()
    return [document for document in documents if document is not None]


def _go_text(error: yaml.MarkedYAMLError) -> str:
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + (1 if isinstance(error, yaml.scanner.ScannerError) else 0)
    elif error.context_mark is not None and error.context_mark.line:
        line = error.context_mark.line
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"


def _as_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise YamlError(f"json: unsupported value: {'NaN' if math.isnan(value) else ('+' if value > 0 else '-') + 'Inf'}")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value
