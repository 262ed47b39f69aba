"""The type table: what every built-in Kubernetes struct looks like in Go, JSON and protobuf.

One table (data/types.json, made by tools/typetable from the public Go modules) drives everything that has to know the
types: decoding and canonical JSON, protobuf request bodies, strategic merge patches, server-side apply. A type is
written in the table as an expression: `*T` pointer, `[T` list, `{T` map with string keys, a scalar (`s`, `b`, `i32`,
`i64`, `u8`.., `f64`, `bytes`; `s:v1.PodPhase` where Go has a name for it), a special (`Time`, `MicroTime`, `Duration`,
`Quantity`, `IntOrString`, `Raw`, `Fields`) or the OpenAPI name of a struct. Types are built on first use.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, Final

import msgspec

SCALARS: Final = {"s": "string", "b": "bool", "i32": "int32", "i64": "int64", "f64": "float64", "bytes": "[]uint8"}
SPECIALS: Final = {
    "Time": "v1.Time", "MicroTime": "v1.MicroTime", "Duration": "v1.Duration", "Quantity": "resource.Quantity",
    "IntOrString": "intstr.IntOrString", "Raw": "runtime.RawExtension", "Fields": "v1.FieldsV1",
}  # fmt: skip
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
UNIONS: Final = {
    _APIEXTENSIONS + name
    for name in ("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
}


class Field:
    """One field of a struct; `inline` fields have no name in JSON, but a message of their own in protobuf."""

    __slots__ = (
        "default", "go", "inline", "list_map_keys", "list_type", "map_type", "merge_key", "name", "number",
        "omitempty", "omitzero", "strategies", "type",
    )  # fmt: skip

    def __init__(self, raw: dict[str, Any]) -> None:
        self.name: str = raw.get("n", "")
        self.go: str = raw.get("g") or self.name[:1].upper() + self.name[1:]
        self.inline = not self.name
        self.type = type_of(raw["t"])
        self.number: int = raw.get("p", 0)
        omit = raw.get("o", "")
        self.omitempty = "e" in omit
        self.omitzero = "z" in omit
        self.merge_key: str = raw.get("k", "")
        self.strategies = frozenset(filter(None, raw.get("s", "").split(",")))
        self.list_type: str = raw.get("l", "")
        self.list_map_keys: tuple[str, ...] = tuple(raw.get("lk", ()))
        self.map_type: str = raw.get("m", "")
        self.default: Any = raw.get("d")


class Type:
    """A Go type. `kind` is struct, list, map, union, one of the scalars' codes (s b i32 ...) or a special's name."""

    __slots__ = ("__dict__", "elem", "go", "kind", "name", "pointer")

    def __init__(self, kind: str, go: str, *, name: str = "", elem: Type | None = None, pointer: bool = False) -> None:
        self.kind, self.go, self.name, self.elem, self.pointer = kind, go, name, elem, pointer

    @functools.cached_property
    def declared(self) -> tuple[Field, ...]:
        """The fields as Go declares them, inlined structs as one field."""
        return tuple(Field(raw) for raw in _table()["types"][self.name]["f"])

    @functools.cached_property
    def fields(self) -> dict[str, Field]:
        """The fields as JSON shows them, by JSON name."""
        found: dict[str, Field] = {}
        for field in self.declared:
            if field.inline:
                found |= field.type.fields
            else:
                found[field.name] = field
        return found

    @functools.cached_property
    def numbers(self) -> dict[int, Field]:
        """The fields as protobuf numbers them."""
        return {field.number: field for field in self.declared if field.number}

    @functools.cached_property
    def map_type(self) -> str:
        """`atomic` where server-side apply treats the struct as one value."""
        value: str = _table()["types"][self.name].get("m", "") if self.kind == "struct" else ""
        return value


@functools.cache
def _table() -> dict[str, Any]:
    raw = resources.files("jobrelay.apimachinery").joinpath("data/types.json").read_bytes()
    table: dict[str, Any] = msgspec.json.decode(raw)
    return table


@functools.cache
def type_of(expression: str) -> Type:
    """The type of an expression of the table."""
    if expression[0] == "*":
        base = type_of(expression[1:])
        return Type(base.kind, base.go, name=base.name, elem=base.elem, pointer=True)
    if expression[0] == "[":
        elem = type_of(expression[1:])
        return Type("list", "[]" + ("*" if elem.pointer else "") + elem.go, elem=elem)
    if expression[0] == "{":
        elem = type_of(expression[1:])
        return Type("map", "v1.ResourceList" if elem.kind == "Quantity" else "map[string]" + elem.go, elem=elem)
    code, _, go = expression.partition(":")
    if code in SPECIALS:
        return Type(code, SPECIALS[code])
    if code in SCALARS or (code[0] == "u" and code[1:].isdigit()):
        return Type(code, go or SCALARS.get(code, "uint" + code[1:]))
    short = ".".join(expression.rsplit(".", 2)[-2:])
    return Type("union" if expression in UNIONS else "struct", short, name=expression)


def type_for_kind(api_version: str, kind: str) -> Type | None:
    """The struct of a kind, such as ("batch/v1", "Job"), or None when it is not a built-in kind."""
    name = _table()["kinds"].get(f"{api_version}/{kind}")
    return type_of(name) if name else None


def type_named(name: str) -> Type | None:
    """The type that OpenAPI documents call by a name, or None when the table has none."""
    return type_of(name) if name in _table()["types"] else None
