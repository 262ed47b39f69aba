"""The tree of a YAML document from libyaml's events, through PyYAML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from jobrelay.apimachinery.yaml_scalars import YamlError, too_deep

__all__ = ["YamlNode", "compose"]

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 400  # a level takes two frames of the interpreter, whose own limit is 1,000 and never reached so


@dataclass(slots=True, eq=False)
class YamlNode:
    """A value as it is written: a scalar's text, the items of a list, or the keys and values of a map in turns."""

    kind: str
    line: int
    text: str = ""
    tag: str | None = None
    plain: bool = False
    children: list[YamlNode] = field(default_factory=list)
    entered: bool = False
    """Whether an alias to it is being followed."""


def compose(text: bytes | str) -> YamlNode | None:
    """The tree of the first document; raises YamlError."""
    try:
        return _compose(text)
    except yaml.MarkedYAMLError as error:
        raise YamlError(_go_text(error)) from None
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {error}") from None


def _compose(text: bytes | str) -> YamlNode | None:
    """The tree of the first document. Iterative, so that depth costs no stack."""
    parser = _Parser(text)
    anchors: dict[str, YamlNode] = {}
    root = YamlNode("document", 0)
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
                        raise too_deep(node.line)
    finally:
        parser.dispose()
    return root.children[0] if root.children else None


def _node(event: Any, anchors: dict[str, YamlNode]) -> YamlNode:
    line: int = event.start_mark.line
    if isinstance(event, yaml.AliasEvent):
        name = str(event.anchor)
        if name not in anchors:
            raise YamlError(f"yaml: unknown anchor '{name}' referenced")
        return YamlNode("alias", line, name, children=[anchors[name]])
    if isinstance(event, yaml.ScalarEvent):
        node = YamlNode("scalar", line, event.value, event.tag, event.implicit[0])
    else:
        node = YamlNode("map" if isinstance(event, yaml.MappingStartEvent) else "list", line)
    if event.anchor:
        anchors[event.anchor] = node
    return node


def _go_text(error: yaml.MarkedYAMLError) -> str:
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + (1 if isinstance(error, yaml.scanner.ScannerError) else 0)
    elif error.context_mark is not None and error.context_mark.line:
        line = error.context_mark.line
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"
