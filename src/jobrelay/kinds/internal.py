"""Values as the server's internal Go types print them.

The server keeps objects in internal types without JSON names. Where an error shows such a value, or a difference between
two of them, it prints every field under its Go name, in the order of the struct, unset ones as null or zero. The table
data/internal.json (made by tools/internaltypes.py) has these structs; our objects are in v1 form, so the JSON name of a Go
field comes from the v1 type of the same name.
"""

from __future__ import annotations

import difflib
import functools
import json
from importlib import resources
from typing import Any, Final

import msgspec

from jobrelay.kinds.types import Type, type_of

_PACKAGES: Final = {
    "core": "io.k8s.api.core.v1.", "batch": "io.k8s.api.batch.v1.", "apps": "io.k8s.api.apps.v1.",
    "meta": "io.k8s.apimachinery.pkg.apis.meta.v1.",
}  # fmt: skip
_ZEROS: Final = {"s": "", "b": False, "i": 0, "Quantity": "0", "Time": None, "IntOrString": 0}
_MOVED: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


@functools.cache
def _table() -> dict[str, list[tuple[str, str]]]:
    raw = resources.files("jobrelay.kinds").joinpath("data/internal.json").read_bytes()
    table: dict[str, list[tuple[str, str]]] = msgspec.json.decode(raw)
    return table


def internal_value(value: Any, struct: str) -> msgspec.Raw:
    """The value for a field error, printed as the internal struct (such as `core.SecurityContext`) or a list of it."""
    kind = f"[{struct}" if isinstance(value, list) else struct
    return msgspec.Raw(msgspec.json.encode(_shown(value, kind)))


def internal_diff(old: Any, new: Any, struct: str) -> str:
    """The unified difference of two values as the server puts it into an error."""
    before, after = (_pretty(value, struct) for value in (old, new))
    return "".join(_unified(before, after))


def _unified(before: list[str], after: list[str]) -> list[str]:
    return list(difflib.unified_diff(before, after, lineterm="\n"))[2:]


def _pretty(value: Any, struct: str) -> list[str]:
    text = json.dumps(_shown(value, struct), indent=1, ensure_ascii=False)
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return [line + "\n" for line in text.split("\n")]


def _shown(value: Any, kind: str) -> Any:
    if kind[0] == "*":
        return None if value is None else _shown(value, kind[1:])
    if kind[0] == "[":
        return None if not value else [_shown(item, kind[1:]) for item in value]
    if kind == "{":
        return dict(sorted(value.items())) if value else None
    if kind in _ZEROS:
        return _ZEROS[kind] if value is None else value
    if kind.startswith("meta."):
        return _declared(value or {}, type_of(_PACKAGES["meta"] + kind[5:]))
    return _struct(value or {}, kind)


def _struct(value: dict[str, Any], kind: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if kind == "core.PodSpec":
        moved = {name: value[name] for name in _MOVED if name in value}
        value = value | {"securityContext": (value.get("securityContext") or {}) | moved}
    names = _json_names(kind)
    for go, field_kind in _table()[kind]:
        if go:
            out[go] = _shown(value.get(names.get(go, go[:1].lower() + go[1:])), field_kind)
        elif field_kind == "+meta.ObjectMeta":
            out |= _shown(value.get("metadata"), field_kind[1:])
        else:
            out |= _shown(value, field_kind[1:])
    return out


@functools.cache
def _json_names(kind: str) -> dict[str, str]:
    """JSON names by Go names, of the v1 struct of the same name where there is one."""
    package, _, name = kind.partition(".")
    try:
        return {field.go: field.name for field in type_of(_PACKAGES[package] + name).fields.values()}
    except KeyError:
        return {}


def _declared(value: dict[str, Any], type_: Type) -> dict[str, Any]:
    """A value whose type has JSON names, with its fields in the order of the struct."""
    out = {}
    for name, field in type_.fields.items():
        if name not in value:
            continue
        item = value[name]
        if field.type.kind == "struct" and isinstance(item, dict):
            item = _declared(item, field.type)
        elif field.type.kind == "list" and field.type.elem is not None and field.type.elem.kind == "struct" and item:
            elem = field.type.elem
            item = [_declared(entry, elem) for entry in item]
        elif isinstance(item, dict):
            item = dict(sorted(item.items()))
        out[name] = item
    return out
