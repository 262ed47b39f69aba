"""CEL declarations of a schema: the CEL type of each node, and views of its values.

A property is visible to CEL only when its schema has a type that CEL knows; names that are no identifiers are escaped
(`a-b` is `a__dash__b`). A view converts on access: times to timestamps, whole numbers to doubles where the schema says
number, map-type lists compare by key. Objects show only what the schema declares.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.cel import standard, types
from jobrelay.apimachinery.cel.syntax import RESERVED
from jobrelay.apimachinery.cel.types import CelType
from jobrelay.apimachinery.cel.values import CelError, Duration, JoinedList, Timestamp, equal
from jobrelay.apimachinery.times import TimeError, parse_duration
from jobrelay.kinds.apiextensions.ratchet import item_key, keyed_items
from jobrelay.kinds.apiextensions.structural import StructuralSchema

MAX_REQUEST: Final = 3 * 1024 * 1024
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SPECIAL = re.compile(r"__|[-./]")
_NAME = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_FORMAT_SIZES: Final = {"duration": (32, 3), "date": (12, 12), "date-time": (32, 21)}
_META_ROOT: Final = {
    "kind": {"type": "string"},
    "apiVersion": {"type": "string"},
    "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}},
}


def escape(name: str) -> str | None:
    """A property's name as CEL spells it, or None when it cannot be spelled."""
    if name in RESERVED or name in ("true", "false", "null", "in"):
        return f"__{name}__"
    if _NAME.fullmatch(name) is None:
        return None
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], name)


def with_meta(node: StructuralSchema) -> StructuralSchema:
    """The node of a whole object, with apiVersion, kind and the names in metadata declared."""
    properties = node.schema.get("properties") or {}
    declared = {**properties, **_META_ROOT}
    names = (properties.get("metadata") or {}).get("properties") or {}
    if all(key in properties for key in _META_ROOT) and "name" in names and "generateName" in names:
        return node
    if node.resource is None:
        node.resource = StructuralSchema({**node.schema, "properties": declared})
    return node.resource


def decl_type(node: StructuralSchema, *, is_resource: bool = False) -> CelType | None:
    """The CEL type of a place; None when CEL does not see it."""
    schema = node.schema
    if schema.get("x-kubernetes-int-or-string"):
        longest = schema.get("maxLength")
        return CelType("dyn", size=max(longest, 0) * 4 if longest is not None else MAX_REQUEST - 2, min_bytes=1)
    if node.type == "array":
        return _array_type(node)
    if node.type == "object":
        return _object_type(with_meta(node) if is_resource else node)
    if node.type == "string":
        return _string_type(schema)
    return {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}.get(node.type)


def _array_type(node: StructuralSchema) -> CelType | None:
    items = node.items
    inner = decl_type(items, is_resource=items.embedded) if items is not None else None
    if inner is None:
        return None
    most = node.schema.get("maxItems")
    size = max(most, 0) if most is not None else (MAX_REQUEST - 2) // (inner.min_bytes + 1)
    return types.list_of(inner, size=size, min_bytes=2)


def _object_type(node: StructuralSchema) -> CelType | None:
    values = node.values
    if values is not None:
        inner = decl_type(values, is_resource=values.embedded)
        if inner is None:
            return None
        most = node.schema.get("maxProperties")
        size = max(most, 0) if most is not None else (MAX_REQUEST - 2) // (inner.min_bytes + 6)
        return types.map_of(types.STRING, inner, size=size, min_bytes=2)
    return CelType("object", fields=lambda: _fields(node), identity=node, min_bytes=_min_object_bytes(node))


def _fields(node: StructuralSchema) -> dict[str, CelType]:
    found = {}
    for name in node.schema.get("properties") or {}:
        child = node.named(name)
        spelled = escape(name)
        if child is None or spelled is None:
            continue
        type_ = decl_type(child, is_resource=child.embedded)
        if type_ is not None:
            found[spelled] = type_
            if name in RESERVED:
                found[name] = type_
    return found


def _min_object_bytes(node: StructuralSchema) -> int:
    """The fewest bytes of JSON: braces, and every required property without a default."""
    size = 2
    properties = node.schema.get("properties") or {}
    for name in set(node.schema.get("required") or ()):
        if name in properties and properties[name].get("default") is None:
            child = node.named(name)
            assert child is not None
            type_ = decl_type(child, is_resource=child.embedded)
            if type_ is not None:
                size += len(name.encode()) + type_.min_bytes + 4
    return size


def _string_type(schema: dict[str, Any]) -> CelType:
    longest, format_ = schema.get("maxLength"), schema.get("format", "")
    if format_ in _FORMAT_SIZES:
        size, least = _FORMAT_SIZES[format_]
        kind = "duration" if format_ == "duration" else "timestamp"
        return CelType(kind, size=size, min_bytes=least)
    if format_ == "byte":
        return CelType("bytes", size=max(longest, 0) if longest is not None else MAX_REQUEST - 2, min_bytes=2)
    if longest is not None:
        size = max(longest, 0) * 4
    elif schema.get("enum"):
        size = max((len(v.encode()) for v in schema["enum"] if isinstance(v, str)), default=0)
    else:
        size = MAX_REQUEST - 2
    return CelType("string", size=size, min_bytes=2)


def _spellings(node: StructuralSchema) -> dict[str, str]:
    """The properties of an object by their names in CEL; one that is a reserved word has two."""
    made: dict[str, str] = {}
    for name in node.schema.get("properties") or ():
        if (spelled := escape(name)) is not None:
            made[spelled] = name
        if name in RESERVED:
            made[name] = name
    node.spellings = made
    return made


class ObjectView(Mapping[str, Any]):
    """An object as CEL sees it: the declared properties, under their escaped names."""

    __slots__ = ("_names", "_node", "_spellings", "raw")

    def __init__(self, raw: dict[str, Any], node: StructuralSchema) -> None:
        self.raw, self._node = raw, node
        self._spellings: Mapping[Any, str] = node.spellings if node.spellings is not None else _spellings(node)
        self._names: dict[str, str] | None = None

    @property
    def names(self) -> dict[str, str]:
        """The properties that are there, by the first of their spellings."""
        if self._names is None:
            spelled = ((escape(name), name) for name in self.raw if name in (self._node.schema.get("properties") or {}))
            self._names = {key: name for key, name in spelled if key is not None and self.raw[name] is not None}
        return self._names

    def __contains__(self, key: object) -> bool:
        name = self._spellings.get(key)
        return name is not None and self.raw.get(name) is not None

    def __getitem__(self, key: str) -> Any:
        name = self._spellings[key]
        value = self.raw[name]
        if value is None:
            raise KeyError(key)
        child = self._node.named(name)
        assert child is not None
        return view(value, child)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.raw)

    def same(self, other: Any) -> bool:
        """Undeclared fields count too: they are compared as they are."""
        if len(self) != len(other) or any(
            key not in other or not equal(value, other[key]) for key, value in self.items()
        ):
            return False
        if not isinstance(other, ObjectView):
            return len(self.names) == len(self.raw)
        hidden = self.raw.keys() - set(self.names.values())
        return all(key in other.raw and self.raw[key] == other.raw[key] for key in hidden)


class MapView(Mapping[str, Any]):
    """A map with additionalProperties."""

    __slots__ = ("_node", "raw")

    def __init__(self, raw: dict[str, Any], node: StructuralSchema | None) -> None:
        self.raw, self._node = raw, node

    def __getitem__(self, key: str) -> Any:
        if self._node is None:
            raise KeyError(key)
        return view(self.raw[key], self._node)

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw if self._node is not None else ())

    def __len__(self) -> int:
        return len(self.raw)


class ListView(Sequence[Any]):
    """A list; sets and map-type lists have their own equality and concatenation."""

    __slots__ = ("_node", "raw")

    def __init__(self, raw: list[Any], node: StructuralSchema) -> None:
        self.raw, self._node = raw, node

    def __getitem__(self, index: Any) -> Any:
        items = self._node.items
        assert items is not None
        if isinstance(index, slice):
            return [view(item, items) for item in self.raw[index]]
        return view(self.raw[index], items)

    def __iter__(self) -> Iterator[Any]:
        items = self._node.items
        assert items is not None
        return (view(item, items) for item in self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def same(self, other: Any) -> bool:
        if len(self.raw) != len(other):
            return False
        if self._node.list_type == "set":
            mine = list(self)
            return all(any(equal(item, one) for one in mine) for item in other)
        if self._node.list_type == "map" and isinstance(other, ListView):
            keyed = keyed_items(self._node, self.raw)
            items = self._node.items
            assert items is not None
            pairs = ((keyed.get(item_key(self._node, item)), item) for item in other.raw)
            return all(a is not None and equal(view(a, items), view(b, items)) for a, b in pairs)
        return all(equal(a, b) for a, b in zip(self, other, strict=True))

    def joined(self, other: Any) -> Any:
        if not isinstance(other, ListView) or self._node.list_type not in ("set", "map"):
            return JoinedList(self, other)
        if self._node.list_type == "set":
            return ListView(self.raw + [item for item in other.raw if item not in self.raw], self._node)
        made = {item_key(self._node, item): item for item in [*self.raw, *other.raw]}
        return ListView(list(made.values()), self._node)


def view(value: Any, node: StructuralSchema) -> Any:
    """A value as CEL sees it at its place; raises CelError when it does not fit its schema."""
    if value is None:
        if node.nullable:
            return None
        raise CelError("invalid data, got null for schema with nullable=false")
    if node.schema.get("x-kubernetes-int-or-string"):
        return value
    if node.type == "object":
        if not isinstance(value, dict):
            raise CelError("invalid data, expected a map for the provided schema with type=object")
        if node.embedded:
            return ObjectView(value, with_meta(node))
        return ObjectView(value, node) if "properties" in node.schema else MapView(value, node.values)
    if node.type == "array":
        if not isinstance(value, list):
            raise CelError("invalid data, expected an array for the provided schema with type=array")
        return ListView(value, node)
    if node.type == "string":
        return _text(value, node.schema.get("format", ""))
    if node.type == "number":
        return float(value)
    return value


def _text(value: Any, format_: str) -> Any:
    if not isinstance(value, str):
        raise CelError(f"invalid data, expected string, got {type(value).__name__}")
    if format_ == "duration":
        return _duration(value)
    if format_ == "date":
        return standard.parse_timestamp(value + "T00:00:00Z")
    if format_ == "date-time":
        return standard.parse_timestamp(value.upper()) if value else Timestamp(0)
    if format_ == "byte":
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise CelError(f"Invalid byte formatted string {value}: illegal base64 data") from None
    return value


_UNIT_NANOSECONDS: Final = (
    (("ns", "nano"), 1), (("us", "µs", "micro"), 10**3), (("ms", "milli"), 10**6), (("s", "sec"), 10**9),
    (("m", "min"), 60 * 10**9),
    (("h", "hr", "hour"), 3600 * 10**9), (("d", "day"), 86400 * 10**9), (("w", "wk", "week"), 604800 * 10**9),
)  # fmt: skip


def _duration(text: str) -> Duration:
    try:
        return Duration(parse_duration(text))
    except TimeError:
        total = 0
    for count, unit in re.findall(r"(\d+)\s*([A-Za-zµ]+)", text):
        for names, factor in _UNIT_NANOSECONDS:
            if unit.lower() in names or unit.lower().startswith(names[-1]):
                total += int(count) * factor
    return Duration(total)
