"""The schemas of the built-in kinds, as OpenAPI version 2 and 3 publish them.

The texts come from the kubernetes-validate package, which carries Kubernetes' published definitions in JSON Schema's form.
That form is undone here: types lose their "null", references point to where the documents have them, the enumerations of
apiVersion and kind go. The type table adds what the package has not: defaults (only version 3 shows them) and the values of
enumerations.
"""

from __future__ import annotations

import functools
import importlib.util
import pathlib
from collections.abc import Iterable
from importlib import resources
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import types
from jobrelay.apimachinery.types import Type

Obj = dict[str, Any]

_FILE: Final = "kubernetes-json-schema/v1.35.0-local/_definitions.json"
_FROM: Final = "#/$defs/"
V2: Final = "#/definitions/"
V3: Final = "#/components/schemas/"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CORE: Final = "io.k8s.api.core.v1."
_ZEROS: Final[dict[str, Any]] = {"s": "", "b": False, "i32": 0, "i64": 0, "f64": 0}
_ABSENT: Final = object()

_PACKAGED_AS_UNIONS: Final[dict[str, Obj]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "description": "IntOrString is a whole number or a string; JSON and YAML show it as what it is.",
        "type": "string",
        "format": "int-or-string",
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "description": "Quantity is a fixed-point number with an optional suffix: binary (Ki, Mi, Gi, Ti, Pi, Ei), decimal "
        '(n, u, m, "", k, M, G, T, P, E) or an exponent such as e3. It is written in its shortest form and keeps the kind '
        "of suffix that it was given.",
        "type": "string",
    },
}
_UNIONS: Final[dict[str, list[Obj]]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": [{"type": "integer"}, {"type": "string"}],
    "io.k8s.apimachinery.pkg.api.resource.Quantity": [{"type": "string"}, {"type": "number"}],
}
_ZERO_DEFAULTS: Final = frozenset(
    {
        ("io.k8s.api.autoscaling.v1.ScaleSpec", "replicas"),
        *(
            (_CORE + name, "name")
            for name in (
                "ConfigMapEnvSource", "ConfigMapKeySelector", "ConfigMapProjection", "ConfigMapVolumeSource",
                "LocalObjectReference", "SecretEnvSource", "SecretKeySelector", "SecretProjection",
            )
        ),
        (_CORE + "AzureDiskVolumeSource", "readOnly"),
        (_CORE + "FileKeySelector", "optional"),
        (_CORE + "GRPCAction", "service"),
        (_CORE + "ReplicationControllerSpec", "minReadySeconds"),
    }
)  # fmt: skip
_NOT_FOR_CUSTOM: Final = frozenset(
    {"admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"}
)


@functools.cache
def enums() -> dict[str, list[str]]:
    """The values of enumerations, by the Go name of their type."""
    table: dict[str, list[str]] = msgspec.json.decode(resources.files(__package__).joinpath("enums.json").read_bytes())
    return table


def _packaged() -> dict[str, Obj]:
    spec = importlib.util.find_spec("kubernetes_validate")
    assert spec is not None, "the package kubernetes-validate is missing"
    assert spec.submodule_search_locations
    path = pathlib.Path(spec.submodule_search_locations[0], _FILE)
    found: dict[str, Obj] = msgspec.json.decode(path.read_bytes())["$defs"]
    return found


class Definitions:
    """All definitions, decoded. It is large: made for the building of one document, and dropped after it."""

    def __init__(self) -> None:
        self._packaged = _packaged() | _PACKAGED_AS_UNIONS

    def __contains__(self, name: str) -> bool:
        return name in self._packaged

    def text(self, name: str, field: str) -> str:
        """The description of a field."""
        found: str = self._packaged[name]["properties"][field].get("description", "")
        return found

    def v2(self, name: str) -> Obj:
        return _Converter(name, V2).definition(self._packaged[name])

    def v3(self, name: str, *, custom: bool = False) -> Obj:
        """A definition in the form of version 3; `custom` is true for documents of custom resources."""
        made = _Converter(name, V3).definition(self._packaged[name])
        if name in _UNIONS:
            del made["type"]
            made["oneOf"] = _UNIONS[name]
        if custom and name == META + "DeleteOptions":
            kinds = made["x-kubernetes-group-version-kind"]
            made["x-kubernetes-group-version-kind"] = [k for k in kinds if k["group"] not in _NOT_FOR_CUSTOM]
        return made


class _Converter:
    """Turns one packaged definition into a published one; `prefix` tells the version."""

    def __init__(self, name: str, prefix: str) -> None:
        self._name, self._prefix = name, prefix
        type_ = types.type_named(name)
        self._fields = type_.fields if type_ is not None and type_.kind == "struct" else {}

    def definition(self, packaged: Obj) -> Obj:
        made = self._schema(packaged, None)
        if "properties" in packaged:
            required = packaged.get("required") or ()
            made["properties"] = {
                key: self._property(key, value, required=key in required)
                for key, value in packaged["properties"].items()
            }
        return made

    def _property(self, key: str, packaged: Obj, *, required: bool) -> Obj:
        field = self._fields.get(key)
        made = self._schema(packaged, field.type if field else None)
        if field is None:
            default = "" if required and made.get("type") == "string" else _ABSENT
        elif field.default is not None:
            default = field.default
        elif (self._name, key) in _ZERO_DEFAULTS:
            default = _ZEROS[field.type.kind]
        elif field.type.kind == "struct" or not (field.omitempty or field.omitzero):
            default = _zero(field.type)
        else:
            default = _ABSENT
        if field is not None and "enum" in made:
            made["description"] = _with_values(made.get("description", ""), made["enum"])
        return self._finish(made, default)

    def _schema(self, packaged: Obj, type_: Type | None) -> Obj:
        made: Obj = {}
        for key, value in packaged.items():
            if key == "type":
                made[key] = value[0] if isinstance(value, list) else value
            elif key == "$ref":
                made[key] = self._prefix + value.removeprefix(_FROM)
            elif key in ("items", "additionalProperties") and isinstance(value, dict):
                elem = type_.elem if type_ else None
                made[key] = self._finish(self._schema(value, elem), _zero(elem) if elem else _ABSENT)
            elif key not in ("properties", "enum"):
                made[key] = value
        if type_ is not None and type_.go in enums():
            made["enum"] = enums()[type_.go]
        return made

    def _finish(self, made: Obj, default: Any) -> Obj:
        if self._prefix == V2:
            return made
        if default is not _ABSENT:
            made["default"] = default
        if "$ref" in made and len(made) > 1:
            made["allOf"] = [{"$ref": made.pop("$ref")}]
        return made


def _zero(type_: Type) -> Any:
    """The value that Go starts a variable with, where documents show one."""
    if type_.pointer:
        return _ABSENT
    if type_.kind == "struct":
        return {}
    return 0 if type_.kind[0] == "u" and type_.kind[1:].isdigit() else _ZEROS.get(type_.kind, _ABSENT)


def _with_values(text: str, values: Iterable[str]) -> str:
    return text + "\n\nPossible enum values:\n" + "\n".join(f' - `"{value}"`' for value in values)


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
