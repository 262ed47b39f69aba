"""The types of server-side apply: which lists and maps are atomic, which are merged, and by which keys.

A `SchemaNode` is one type. It can be a scalar, a list or a map, and untyped ones are all three: the value then decides.
Built-in kinds get their nodes from the type table, custom resources from their structural schema. Nodes are made when a
walk first reaches them, because schemas are large and recursive and most of them are never walked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.decode import decode, zero
from jobrelay.apimachinery.types import Field, Type, type_for_kind, type_of

_NUMBERS: Final = frozenset({"i32", "i64", "u8", "u16", "u32", "u64", "f64"})
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class ListType:
    """A list: atomic, or with elements identified by keys (or by their values, when there are no keys)."""

    __slots__ = ("_elem", "atomic", "keys")

    def __init__(self, elem: Callable[[], SchemaNode], *, atomic: bool, keys: tuple[str, ...] = ()) -> None:
        self._elem, self.atomic, self.keys = elem, atomic, tuple(sorted(keys))

    @property
    def elem(self) -> SchemaNode:
        return self._elem()


class MapType:
    """A map or a struct: some keys are declared, `elem` is for all others, if others may be; `known` are those made."""

    __slots__ = ("_declared", "_elem", "atomic", "known")

    def __init__(
        self,
        declared: Mapping[str, Callable[[], SchemaNode]],
        elem: Callable[[], SchemaNode] | None,
        *,
        atomic: bool = False,
    ) -> None:
        self._declared, self._elem, self.atomic = declared, elem, atomic
        self.known: dict[str, SchemaNode] = {}

    def declares(self, name: str) -> bool:
        return name in self._declared

    def field(self, name: str) -> SchemaNode | None:
        """The node of a key, or None when the schema does not allow the key."""
        node = self.known.get(name)
        if node is None and name in self._declared:
            node = self.known[name] = self._declared[name]()
        if node is None and self._elem is not None:
            return self._elem()
        return node


class SchemaNode:
    """A type: any of a scalar ("string", "numeric", "boolean", "untyped"), a list and a map; `default` is for keys."""

    __slots__ = ("default", "list", "map", "scalar")

    def __init__(
        self, *, scalar: str = "", list: ListType | None = None, map: MapType | None = None, default: Any = None
    ) -> None:
        self.scalar, self.list, self.map, self.default = scalar, list, map, default

    def with_default(self, default: Any) -> SchemaNode:
        return (
            self if default is None else SchemaNode(scalar=self.scalar, list=self.list, map=self.map, default=default)
        )


@functools.cache
def atomic() -> SchemaNode:
    """The type of anything, all of it one value."""
    return SchemaNode(scalar="untyped", list=ListType(atomic, atomic=True), map=MapType({}, atomic, atomic=True))


@functools.cache
def deduced() -> SchemaNode:
    """The type of anything, of which objects merge."""
    return SchemaNode(scalar="untyped", list=ListType(atomic, atomic=True), map=MapType({}, deduced))


class Schema:
    """The schema of a kind in one version: its root node and the object that a new one is compared with."""

    __slots__ = ("custom", "empty", "kind", "root", "version")

    def __init__(self, root: SchemaNode, version: str, kind: str, empty: dict[str, Any], *, custom: bool) -> None:
        self.root, self.version, self.kind, self.empty, self.custom = root, version, kind, empty, custom


@functools.cache
def built_in_schema(api_version: str, kind: str) -> Schema | None:
    """The schema of a built-in kind."""
    type_ = type_for_kind(api_version, kind)
    if type_ is None:
        return None
    return Schema(_struct(type_.name), api_version, kind, decode({}, type_), custom=False)


def custom_schema(openapi: dict[str, Any] | None, api_version: str, kind: str) -> Schema:
    """The schema of a custom resource from the openAPIV3Schema of its version; keep it as long as that is valid."""
    root = deduced() if openapi is None else SchemaNode(map=_root_map(openapi))
    return Schema(root, api_version, kind, {"apiVersion": api_version, "kind": kind}, custom=True)


@functools.cache
def _struct(name: str, map_type: str = "") -> SchemaNode:
    type_ = type_of(name)
    declared = {key: functools.partial(_field, field) for key, field in type_.fields.items()}
    relation = map_type or type_.map_type
    return SchemaNode(map=MapType(declared, None if declared else deduced, atomic=relation == "atomic"))


def _field(field: Field) -> SchemaNode:
    return _of(field.type, field).with_default(_key_default(field))


def _key_default(field: Field) -> Any:
    """What a key field has when an element leaves it out: fields that Go always writes have their zero value."""
    if field.default is not None or field.omitempty or field.type.pointer:
        return field.default
    return zero(field.type) if field.type.kind in ("s", "b", *_NUMBERS) else None


def _of(type_: Type, field: Field | None = None) -> SchemaNode:
    kind = type_.kind
    if kind == "struct":
        return _struct(type_.name, field.map_type if field else "")
    if kind == "list":
        assert type_.elem is not None
        return SchemaNode(list=_list(type_.elem, field))
    if kind == "map":
        assert type_.elem is not None
        return SchemaNode(map=MapType({}, _cached(functools.partial(_of, type_.elem)), atomic=_is_atomic(field)))
    if kind == "union":
        return _UNION
    if kind == "Fields":
        return _FIELDS
    if kind == "Raw":
        return atomic()
    return _SCALARS.get(kind, _UNTYPED)


def _is_atomic(field: Field | None) -> bool:
    return field is not None and field.map_type == "atomic"


def _list(elem: Type, field: Field | None) -> ListType:
    make = _cached(functools.partial(_of, elem))
    if field is None or field.list_type == "atomic":
        return ListType(make, atomic=True)
    if field.list_type:
        return ListType(make, atomic=False, keys=field.list_map_keys if field.list_type == "map" else ())
    if "merge" in field.strategies:
        return ListType(make, atomic=False, keys=(field.merge_key,) if field.merge_key else ())
    return ListType(make, atomic=True)


def _cached(make: Callable[[], SchemaNode]) -> Callable[[], SchemaNode]:
    return functools.cache(make)


_SCALARS: Final = {
    "s": SchemaNode(scalar="string"),
    "bytes": SchemaNode(scalar="string"),
    "Duration": SchemaNode(scalar="string"),
    "b": SchemaNode(scalar="boolean"),
    **{kind: SchemaNode(scalar="numeric") for kind in _NUMBERS},
}
_UNTYPED: Final = SchemaNode(scalar="untyped")
_FIELDS: Final = SchemaNode(map=MapType({}, deduced))
_UNION: Final = SchemaNode(scalar="untyped", list=ListType(atomic, atomic=True), map=MapType({}, deduced))


def _root_map(openapi: dict[str, Any]) -> MapType:
    return _openapi_map(openapi, preserve=_preserves(openapi), embedded=True)


def _preserves(schema: dict[str, Any]) -> bool:
    return schema.get("x-kubernetes-preserve-unknown-fields") is True


def _openapi(schema: dict[str, Any], preserve: bool) -> SchemaNode:
    """A node of a structural schema. Below a node that preserves unknown fields all do."""
    preserve = preserve or _preserves(schema)
    match schema.get("type", ""):
        case "object":
            return SchemaNode(map=_openapi_map(schema, preserve=preserve))
        case "array":
            return SchemaNode(list=_openapi_list(schema, preserve))
        case "integer" | "number":
            return _SCALARS["i64"]
        case "boolean":
            return _SCALARS["b"]
        case "string":
            return _SCALARS["s"] if schema.get("format", "") in ("", "byte") else _UNTYPED
    return SchemaNode(
        scalar="untyped", list=_openapi_list(schema, preserve), map=_openapi_map(schema, preserve=preserve)
    )


def _openapi_field(schema: dict[str, Any], preserve: bool) -> SchemaNode:
    return _openapi(schema, preserve).with_default(schema.get("default"))


def _openapi_map(schema: dict[str, Any], *, preserve: bool, embedded: bool = False) -> MapType:
    properties = schema.get("properties") or {}
    declared: dict[str, Callable[[], SchemaNode]] = {
        name: functools.partial(_openapi_field, member, preserve) for name, member in properties.items()
    }
    if embedded or schema.get("x-kubernetes-embedded-resource") is True:
        declared |= _TYPE_META
    more = schema.get("additionalProperties")
    elem: Callable[[], SchemaNode] | None = None
    if isinstance(more, dict):
        elem = _cached(functools.partial(_openapi, more, preserve))
    elif more is True or (more is None and (preserve or not declared)):
        elem = deduced
    return MapType(declared, elem, atomic=schema.get("x-kubernetes-map-type") == "atomic")


def _openapi_list(schema: dict[str, Any], preserve: bool) -> ListType:
    items = schema.get("items")
    elem = _cached(functools.partial(_openapi, items, preserve)) if isinstance(items, dict) else atomic
    relation = schema.get("x-kubernetes-list-type")
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if relation == "map" else ()
    return ListType(elem, atomic=relation not in ("set", "map"), keys=keys)


_TYPE_META: Final[dict[str, Callable[[], SchemaNode]]] = {
    "apiVersion": lambda: _SCALARS["s"],
    "kind": lambda: _SCALARS["s"],
    "metadata": functools.partial(_struct, _OBJECT_META),
}
