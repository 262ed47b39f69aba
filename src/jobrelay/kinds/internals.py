"""How error texts show structs: as the server's internal Go types, not as the API's JSON.

The real server validates internal types, which have no JSON tags. When a field error prints such a struct, or a difference
of two, clients see Go's field names, in Go's order, with every zero value written out. The type table knows the names and
the order; types of the meta group keep their JSON form, because there the internal type is the API's.
"""

from __future__ import annotations

import difflib
from typing import Any, Final

import msgspec

from jobrelay.kinds.types import Field, Type, type_of

CORE: Final = "io.k8s.api.core.v1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_ZEROS: Final = {"s": "", "b": False, "IntOrString": 0, "Quantity": "0", "Duration": {"Duration": 0}}


def internal(value: Any, type_: Type) -> Any:
    """A canonical value as the internal type's JSON."""
    if value is None:
        return _zero(type_)
    if type_.kind == "struct" and not type_.name.startswith(_META):
        return {field.go: internal(value.get(field.name), field.type) for field in _fields(type_)}
    if type_.kind == "list" and type_.elem is not None:
        return [internal(item, type_.elem) for item in value]
    if type_.kind == "map" and type_.elem is not None:
        return {key: internal(value[key], type_.elem) for key in sorted(value)}
    return value


def _fields(type_: Type) -> list[Field]:
    found: list[Field] = []
    for field in type_.declared:
        found += _fields(field.type) if field.inline else [field]
    return found


def _zero(type_: Type) -> Any:
    if type_.pointer or type_.kind in ("list", "map", "bytes", "Time", "MicroTime", "Raw", "union"):
        return None
    if type_.kind == "struct":
        return internal({}, type_)
    return _ZEROS.get(type_.kind, 0)


def shown(value: Any, type_name: str) -> msgspec.Raw:
    """A struct (or, with a leading `[`, a list of them) as an error's value."""
    return ordered(internal(value, type_of(type_name)))


def ordered(value: Any) -> msgspec.Raw:
    """A value that an error shows with its fields in the order given."""
    return msgspec.Raw(msgspec.json.encode(value))


def difference(old: Any, new: Any, type_name: str) -> str:
    """The unified difference of two values of a type, pretty-printed, without file names."""
    type_ = type_of(type_name)
    return text_difference(internal(old, type_), internal(new, type_))


def text_difference(old: Any, new: Any) -> str:
    lines = list(difflib.unified_diff(_pretty(old), _pretty(new), n=3))
    return "".join(lines[2:])


def _pretty(value: Any) -> list[str]:
    text = msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return [line + "\n" for line in text.split("\n")]
