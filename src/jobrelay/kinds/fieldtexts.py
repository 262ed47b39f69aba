"""The API's own documentation of its types and fields, as the lightkube-models package carries it.

That package is generated from the published API of one Kubernetes release: the docstring of each class holds the text
of the type and of every field, wrapped. `data/linebreaks.json` restores what wrapping loses: the words of a text that
are followed by something other than one space. The source is read, not imported.
"""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import re
from importlib import resources
from typing import Any, Final

import msgspec

_FIELD: Final = r"^      \* \*\*({})_?\*\* ``.*?`` -(.*?)(?=^      \* \*\*|\Z)"
_ANY_FIELD: Final = re.compile(_FIELD.format(r"\w+?"), re.MULTILINE | re.DOTALL)
_FIELDS: Final = "**parameters**\n"


@functools.cache
def _line_breaks() -> dict[str, dict[str, list[Any]]]:
    raw = resources.files("jobrelay.kinds").joinpath("data/linebreaks.json").read_bytes()
    found: dict[str, dict[str, list[Any]]] = msgspec.json.decode(raw)
    return found


class FieldTexts:
    """Reads the modules of the package on first use, and keeps them."""

    def __init__(self) -> None:
        self._classes: dict[str, dict[str, str]] = {}

    def of_type(self, name: str) -> str:
        """The text of a type, by its OpenAPI name; empty when there is none."""
        return _restored(self._docstring(name).partition(_FIELDS)[0], name, "")

    def of_fields(self, name: str) -> dict[str, str]:
        """The texts of a type's fields, by their names as `spelled`."""
        return {field: _restored(text, name, field) for field, text in _ANY_FIELD.findall(self._docstring(name))}

    def of_field(self, name: str, field: str) -> str:
        pattern = _FIELD.format(re.escape(spelled(field)))
        found = re.search(pattern, self._docstring(name), re.MULTILINE | re.DOTALL)
        return _restored(found[2], name, spelled(field)) if found else ""

    def _docstring(self, name: str) -> str:
        *_, group, version, kind = name.split(".")
        module = f"{group}_{version}" if re.match(r"v\d", version) else version
        if module not in self._classes:
            classes = _source(module).split("\nclass ")
            self._classes[module] = {each.partition("(")[0]: each.split('"""', 2)[1] for each in classes[1:]}
        return self._classes[module].get(kind, "")


def spelled(field: str) -> str:
    """A JSON name as the package writes it: `$ref` is d_ref, `x-kubernetes-map-type` is x_kubernetes_map_type."""
    return field.replace("-", "_").replace("$", "d_")


def _source(module: str) -> str:
    spec = importlib.util.find_spec("lightkube")
    assert spec is not None, "the package lightkube-models is missing"
    for place in spec.submodule_search_locations or ():
        path = pathlib.Path(place, "models", f"{module}.py")
        if path.exists():
            return path.read_text(encoding="utf-8")
    return ""


def _restored(text: str, name: str, field: str) -> str:
    """A text without its wrapping, with the line breaks of the original."""
    breaks = _line_breaks().get(name, {}).get(field, ())
    if not breaks:
        return " ".join(text.split())
    separators = dict(zip(breaks[::2], breaks[1::2], strict=True))
    return "".join(word + separators.get(at, " ") for at, word in enumerate(text.split())).rstrip()
