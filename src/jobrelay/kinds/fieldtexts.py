"""The API's own documentation of its types and fields, as the lightkube-models package carries it.

That package is generated from the published API of one Kubernetes release: the docstring of each class holds the text of
the type and of every field, wrapped. `data/linebreaks.json` restores what wrapping loses: after which words of a text
stands something other than one space. The source is read, not imported.
"""

from __future__ import annotations

import functools
import re
from importlib import metadata, resources
from typing import Any, Final

import msgspec

_CLASS: Final = re.compile(r'^class (\w+)\(DictMixin\):\n    r"""(.*?)"""', re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^      \* \*\*(\w+?)_?\*\* ``.*?`` -(.*?)(?=^      \* \*\*|\Z)", re.MULTILINE | re.DOTALL)
_FIELDS: Final = "**parameters**\n"


@functools.cache
def _line_breaks() -> dict[str, dict[str, list[Any]]]:
    raw = resources.files("jobrelay.kinds").joinpath("data/linebreaks.json").read_bytes()
    found: dict[str, dict[str, list[Any]]] = msgspec.json.decode(raw)
    return found


class FieldTexts:
    """Reads the modules of the package as they are asked for, and keeps them."""

    def __init__(self) -> None:
        self._modules: dict[str, dict[str, str]] = {}

    def of_type(self, name: str) -> str:
        """The text of a type, by its OpenAPI name; empty when there is none."""
        return _restored(self._docstring(name).partition(_FIELDS)[0], name, "")

    def of_fields(self, name: str) -> dict[str, str]:
        """The texts of a type's fields. JSON names that are no Python names are spelled as the package spells them."""
        found = _FIELD.findall(self._docstring(name).partition(_FIELDS)[2])
        return {field: _restored(text, name, field) for field, text in found}

    def of_field(self, name: str, field: str) -> str:
        return self.of_fields(name).get(spelled(field), "")

    def _docstring(self, name: str) -> str:
        *_, group, version, kind = name.split(".")
        module = f"{group}_{version}" if re.match(r"v\d", version) else version
        if module not in self._modules:
            self._modules[module] = dict(_CLASS.findall(_source(module)))
        return self._modules[module].get(kind, "")


def spelled(field: str) -> str:
    """A JSON name as the package writes it: `$ref` is d_ref, `x-kubernetes-map-type` is x_kubernetes_map_type."""
    return field.replace("-", "_").replace("$", "d_")


def _source(module: str) -> str:
    path = metadata.distribution("lightkube-models").locate_file(f"lightkube/models/{module}.py")
    try:
        with open(str(path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _restored(text: str, name: str, field: str) -> str:
    """A text without its wrapping, with the line breaks of the original."""
    breaks = _line_breaks().get(name, {}).get(field, ())
    if not breaks:
        return " ".join(text.split())
    separators = dict(zip(breaks[::2], breaks[1::2], strict=True))
    return "".join(word + separators.get(at, " ") for at, word in enumerate(text.split())).rstrip()
