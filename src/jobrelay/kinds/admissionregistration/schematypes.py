"""The CEL types of whole objects, for checking the expressions of policies against the kinds that they are about.

Each place of a schema has a type of its own, named by its path: two lists of containers do not have the same type.
What has no single type in OpenAPI (quantities, free JSON) is not declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jobrelay.apimachinery.cel.syntax import RESERVED
from jobrelay.apimachinery.cel.types import BOOL, BYTES, DOUBLE, DYN, INT, STRING, TIMESTAMP, CelType, list_of, map_of
from jobrelay.apimachinery.types import Type, type_for_kind, type_of
from jobrelay.kinds.apiextensions.decls import decl_type, escape
from jobrelay.kinds.apiextensions.strategy import CustomKind

_SCALARS: Final = {
    "s": STRING, "b": BOOL, "f64": DOUBLE, "bytes": BYTES, "Time": TIMESTAMP, "MicroTime": TIMESTAMP,
    "Duration": STRING, "IntOrString": DYN,
}  # fmt: skip
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def built_in_type(api_version: str, kind: str) -> CelType | None:
    """The type of a built-in kind; None for others."""
    found = type_for_kind(api_version, kind)
    return _declared(found, kind) if found is not None else None


def custom_type(kind: CustomKind, name: str) -> CelType | None:
    """The type of a custom kind in one version, whose objects have the metadata of all objects."""
    declared = decl_type(kind.node, is_resource=True)
    if declared is None or declared.kind != "object":
        return declared
    metadata = _declared(type_of(_METADATA), f"{name}.metadata")
    assert metadata is not None
    return CelType("object", name, fields=lambda: {**declared.fields, "metadata": metadata}, identity=name)


def _declared(type_: Type, path: str) -> CelType | None:
    """The type of a place; None where it is not declared."""
    if type_.kind in ("list", "map"):
        assert type_.elem is not None
        inner = _declared(type_.elem, f"{path}.@{'idx' if type_.kind == 'list' else 'elem'}")
        if inner is None:
            return None
        return list_of(inner) if type_.kind == "list" else map_of(STRING, inner)
    if type_.kind == "struct":
        return CelType("object", path, fields=lambda: _fields(type_, path), identity=path)
    if type_.kind in ("Raw", "Fields"):
        return CelType("object", path, identity=path)
    return INT if type_.kind[0] in "iu" and type_.kind[1:].isdigit() else _SCALARS.get(type_.kind)


def _fields(type_: Type, path: str) -> Mapping[str, CelType]:
    found = {}
    for name, field in type_.fields.items():
        declared, spelled = _declared(field.type, f"{path}.{name}"), escape(name)
        if declared is None or spelled is None:
            continue
        found[spelled] = declared
        if name in RESERVED:
            found[name] = declared
    return found
