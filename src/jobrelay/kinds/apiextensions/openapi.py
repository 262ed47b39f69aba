"""The OpenAPI schemas of a CustomResourceDefinition's version, as `kubectl explain` reads them.

OpenAPI v3 shows the schema nearly as it was written, with metadata as a reference and embedded objects completed.
Version 2 is less expressive: logic, defaults, nullability, and schemas below unknown fields are left out.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.kinds.strategy import Obj

_CONVENTIONS: Final = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
API_VERSION_TEXT: Final = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    f"schemas to the latest internal value, and may reject unrecognized values. {_CONVENTIONS}#resources"
)
KIND_TEXT: Final = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    f"endpoint the client submits requests to. Cannot be updated. In CamelCase. {_CONVENTIONS}#types-kinds"
)
_EMBEDDED_API_VERSION: Final = (
    f"apiVersion defines the versioned schema of this representation of an object. {_CONVENTIONS}#resources"
)
_EMBEDDED_KIND: Final = (
    f"kind is a string value representing the type of this object. In CamelCase. {_CONVENTIONS}#types-kinds"
)
_DROPPED: Final = frozenset({
    "$schema", "$ref", "id", "example", "externalDocs", "definitions", "dependencies", "patternProperties",
    "additionalItems",
})  # fmt: skip
_LOGIC: Final = frozenset({"allOf", "anyOf", "oneOf", "not"})
_EITHER: Final = ({"type": "integer"}, {"type": "string"})


def model_name(group: str, version: str, kind: str) -> str:
    """`com.example.v1.Widget` for Widgets of example.com/v1."""
    return ".".join([*reversed(group.split(".")), version, kind])


def openapi_schema(crd: Obj, version: str, *, v2: bool = False) -> Obj:
    """The schema of the kind."""
    spec = crd["spec"]
    found: Obj = next(v for v in spec["versions"] if v["name"] == version)
    schema = (found.get("schema") or {}).get("openAPIV3Schema")
    preserves = spec.get("preserveUnknownFields") or (schema or {}).get("x-kubernetes-preserve-unknown-fields")
    if schema is None or (v2 and preserves):
        made: Obj = {"type": "object"}
    else:
        made = _published(schema, v2=v2)
        properties = made.setdefault("properties", {})
        properties["metadata"] = _reference("ObjectMeta", f"Standard object's metadata. {_CONVENTIONS}#metadata", v2=v2)
        properties["apiVersion"] = {"description": API_VERSION_TEXT, "type": "string"}
        properties["kind"] = {"description": KIND_TEXT, "type": "string"}
    return {**made, **_identity(spec["group"], version, spec["names"]["kind"], found)}


def openapi_list_schema(crd: Obj, version: str, *, v2: bool = False) -> Obj:
    """The schema of the kind's list."""
    spec = crd["spec"]
    names, group = spec["names"], spec["group"]
    found: Obj = next(v for v in spec["versions"] if v["name"] == version)
    item = {"$ref": _prefix(v2=v2) + model_name(group, version, names["kind"])}
    made: Obj = {
        "description": f"{names['listKind']} is a list of {names['kind']}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": API_VERSION_TEXT, "type": "string"},
            "items": {"description": f"List of {names['plural']}. {_CONVENTIONS}", "type": "array", "items": item},
            "kind": {"description": KIND_TEXT, "type": "string"},
            "metadata": _reference("ListMeta", f"Standard list metadata. {_CONVENTIONS}#types-kinds", v2=v2),
        },
    }
    return {**made, **_identity(group, version, names["listKind"], found)}


def _prefix(*, v2: bool) -> str:
    return "#/definitions/" if v2 else "#/components/schemas/"


def _reference(name: str, description: str, *, v2: bool) -> Obj:
    reference = {"$ref": f"{_prefix(v2=v2)}{_META}{name}"}
    return {"description": description, **reference} if v2 else {"description": description, "allOf": [reference]}


def _identity(group: str, version: str, kind: str, found: Obj) -> Obj:
    made: Obj = {"x-kubernetes-group-version-kind": [{"group": group, "kind": kind, "version": version}]}
    if selectable := found.get("selectableFields"):
        made["x-kubernetes-selectable-fields"] = [{"fieldPath": f["jsonPath"].removeprefix(".")} for f in selectable]
    return made


def _published(schema: Obj, *, v2: bool) -> Obj:
    made = {key: value for key, value in schema.items() if key not in _DROPPED}
    if not v2:
        _unfold(made)
    hidden = _reduce(made) if v2 else False
    if "properties" in made:
        made["properties"] = {name: _published(child, v2=v2) for name, child in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _published(made[key], v2=v2)
    if schema.get("x-kubernetes-embedded-resource") and not hidden:
        _complete(made, v2=v2)
    return made


def _unfold(made: Obj) -> None:
    """The published form of an int-or-string, which every client understands."""
    if not made.get("x-kubernetes-int-or-string"):
        return
    all_of = made.get("allOf") or []
    if made.get("anyOf") == list(_EITHER) or (all_of and all_of[0].get("anyOf") == list(_EITHER)):
        return
    if made.get("anyOf"):
        made["allOf"] = [{"anyOf": list(_EITHER)}, *all_of]
    else:
        made["anyOf"] = list(_EITHER)


def _reduce(made: Obj) -> bool:
    """Removes what version 2 cannot express; returns whether the node preserves unknown fields."""
    for key in [*_LOGIC, "default"]:
        made.pop(key, None)
    preserves = bool(made.get("x-kubernetes-preserve-unknown-fields"))
    nullable = made.pop("nullable", False)
    optional = {name for name, child in (made.get("properties") or {}).items() if child.get("nullable")}
    _require(made, [name for name in made.get("required") or () if name not in optional])
    extra: Any = made.get("additionalProperties")
    if isinstance(extra, dict) and extra.get("nullable"):
        _require(made, [])
    if nullable or preserves:
        made.pop("items", None)
        made.pop("properties", None)
    if (
        nullable
        or (preserves and made.get("type") == "object")
        or (made.get("type") == "array" and "items" not in made)
    ):
        made.pop("type", None)
    return preserves


def _require(made: Obj, names: list[str]) -> None:
    if names:
        made["required"] = names
    else:
        made.pop("required", None)


def _complete(made: Obj, *, v2: bool) -> None:
    made["properties"] = {
        **made.get("properties", {}),
        "apiVersion": {"description": _EMBEDDED_API_VERSION, "type": "string"},
        "kind": {"description": _EMBEDDED_KIND, "type": "string"},
        "metadata": _reference("ObjectMeta", f"Standard object's metadata. {_CONVENTIONS}#metadata", v2=v2),
    }
    required = list(made.get("required") or ())
    made["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
