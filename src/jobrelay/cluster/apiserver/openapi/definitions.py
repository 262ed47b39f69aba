"""The schemas of the built-in kinds, as OpenAPI version 2 and 3 publish them.

schemas.json holds the published schemas of version 3 without their texts, which come from `kinds.fieldtexts`, and
without the values of enumerations, which are in enums.json by the Go type of a field. Version 2 shows no defaults and
writes references plainly.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import resources
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import types
from jobrelay.apimachinery.types import Type
from jobrelay.kinds.fieldtexts import FieldTexts, spelled

Obj = dict[str, Any]

V2: Final = "#/definitions/"
V3: Final = "#/components/schemas/"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_APIEXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_TEXTS: Final = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (
        "IntOrString is a whole number or a string; JSON and YAML show it as what it is."
    ),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": (
        "Quantity is a fixed-point number with an optional suffix: binary (Ki, Mi, Gi, Ti, Pi, Ei), decimal "
        '(n, u, m, "", k, M, G, T, P, E) or an exponent such as e3. It is written in its shortest form and keeps the '
        "kind of suffix that it was given."
    ),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "RawExtension is an object of any kind.",
    META + "FieldsV1": "FieldsV1 is a set of fields, as a tree: `f:<name>`, `k:<keys>`, `v:<value>`, `i:<index>`.",
    META + "MicroTime": "MicroTime is a time with microseconds, in the form of RFC 3339.",
    META + "Patch": "Patch is the body of a PATCH request; its form depends on the content type.",
    META + "Time": "Time is a time in whole seconds, in the form of RFC 3339.",
    _APIEXTENSIONS
    + "CustomResourceSubresourceStatus": "CustomResourceSubresourceStatus turns on the status subresource.",
    _APIEXTENSIONS + "JSON": "JSON is any JSON value.",
    _APIEXTENSIONS + "JSONSchemaPropsOrArray": "JSONSchemaPropsOrArray is a schema or a list of schemas.",
    _APIEXTENSIONS + "JSONSchemaPropsOrBool": "JSONSchemaPropsOrBool is a schema or a boolean.",
    _APIEXTENSIONS + "JSONSchemaPropsOrStringArray": "JSONSchemaPropsOrStringArray is a schema or a list of strings.",
}
"""Texts of types that are no classes in Python, in our own words."""
_UNIONS_V2: Final[dict[str, Obj]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
}
_NOT_FOR_CUSTOM: Final = frozenset(
    {"admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"}
)


def _table(name: str) -> Any:
    return msgspec.json.decode(resources.files(__package__).joinpath(name).read_bytes())


@functools.cache
def enums() -> dict[str, list[str]]:
    """The values of enumerations, by the Go name of their type."""
    table: dict[str, list[str]] = _table("enums.json")
    return table


class Definitions:
    """All definitions, decoded. It is large: made for the building of one document, and dropped after it."""

    def __init__(self) -> None:
        self._schemas: dict[str, Obj] = _table("schemas.json")
        self._texts = FieldTexts()

    def __contains__(self, name: str) -> bool:
        return name in self._schemas

    def text(self, name: str, field: str) -> str:
        return self._texts.of_field(name, field)

    def v2(self, name: str) -> Obj:
        made = _UNIONS_V2.get(name) or _as_v2(self.v3(name))
        return {"description": _TEXTS[name], **made} if name in _UNIONS_V2 else made

    def v3(self, name: str, *, custom: bool = False) -> Obj:
        """A definition in the form of version 3; `custom` is true for documents of custom resources."""
        made = _described(self._schemas[name], _TEXTS.get(name) or self._texts.of_type(name))
        if "properties" in made:
            type_, texts = types.type_named(name), self._texts.of_fields(name)
            fields = type_.fields if type_ is not None and type_.kind == "struct" else {}
            made["properties"] = {
                key: _property(schema, texts.get(spelled(key), ""), fields[key].type if key in fields else None)
                for key, schema in made["properties"].items()
            }
        if custom and name == META + "DeleteOptions":
            kinds = made["x-kubernetes-group-version-kind"]
            made["x-kubernetes-group-version-kind"] = [k for k in kinds if k["group"] not in _NOT_FOR_CUSTOM]
        return made


def _described(schema: Obj, text: str) -> Obj:
    return {"description": text, **schema} if text else dict(schema)


def _property(schema: Obj, text: str, type_: Type | None) -> Obj:
    made = _described(schema, text)
    if type_ is None:
        return made
    for key in ("items", "additionalProperties"):
        if key in made and type_.elem is not None:
            made[key] = _property(made[key], "", type_.elem)
    if type_.go in enums():
        made["enum"] = enums()[type_.go]
        if text:
            values = "\n".join(f' - `"{value}"`' for value in made["enum"])
            made["description"] = f"{text}\n\nPossible enum values:\n{values}"
    return made


def _as_v2(schema: Obj) -> Obj:
    """A schema of version 3 in the form of version 2."""
    made = {key: value for key, value in schema.items() if key not in ("default", "allOf")}
    reference = schema["allOf"][0]["$ref"] if "allOf" in schema else schema.get("$ref")
    if reference is not None:
        made["$ref"] = V2 + reference.removeprefix(V3)
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _as_v2(made[key])
    if "properties" in made:
        made["properties"] = {key: _as_v2(each) for key, each in made["properties"].items()}
    return made


def references(schema: Any, prefix: str) -> Iterable[str]:
    """The names of all definitions that a piece of a document refers to."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(prefix)
            else:
                yield from references(value, prefix)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value, prefix)
