"""The server's internal form of a CustomResourceDefinition's spec.

There, what is equal in all versions (schema, subresources, columns, selectable fields) is a field of the spec.
Validation works on that form, so it decides what error paths look like: with a single version they say
`spec.validation.openAPIV3Schema`, never `spec.versions[0].schema`. `go_*` functions print parts of it as Go prints
structs without JSON tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jobrelay.kinds.strategy import Obj

_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_SCHEMA_FIELDS: Final = (
    ("ID", "id", ""), ("Schema", "$schema", ""), ("Ref", "$ref", None), ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False), ("Format", "format", ""), ("Title", "title", ""), ("Default", "default", None),
    ("Maximum", "maximum", None), ("ExclusiveMaximum", "exclusiveMaximum", False), ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False), ("MaxLength", "maxLength", None), ("MinLength", "minLength", None),
    ("Pattern", "pattern", ""), ("MaxItems", "maxItems", None), ("MinItems", "minItems", None),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None), ("Enum", "enum", None), ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None), ("Required", "required", None), ("Items", "items", None),
    ("AllOf", "allOf", None),
    ("OneOf", "oneOf", None), ("AnyOf", "anyOf", None), ("Not", "not", None), ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None), ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None), ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None), ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None), ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None), ("XValidations", "x-kubernetes-validations", None),
)  # fmt: skip
FIELD_NAMES: Final = {json: go for go, json, _ in _SCHEMA_FIELDS}
FIELD_ORDER: Final = tuple(json for _, json, _ in _SCHEMA_FIELDS)


@dataclass(slots=True)
class HoistedSpec:
    """The shared parts, and the versions without them. A shared part is None when it is not set, or not shared."""

    versions: list[Obj]
    schema: Obj | None = None
    subresources: Obj | None = None
    columns: list[Obj] | None = None
    selectable: list[Obj] | None = None


def hoist(spec: Obj) -> HoistedSpec:
    versions = [dict(version) for version in spec.get("versions") or ()]
    shared: dict[str, Any] = {}
    for name in _SHARED if versions else ():
        first = versions[0].get(name)
        if all((version.get(name) or None) == (first or None) for version in versions):
            shared[name] = first
            for version in versions:
                version.pop(name, None)
    return HoistedSpec(
        versions,
        shared.get("schema"),
        shared.get("subresources"),
        shared.get("additionalPrinterColumns"),
        shared.get("selectableFields"),
    )


def schemas(spec: Obj) -> list[Obj]:
    """All schemas of a spec, one for each version that has one."""
    found = ((version.get("schema") or {}).get("openAPIV3Schema") for version in spec.get("versions") or ())
    return [schema for schema in found if schema is not None]


def go_json(value: Any) -> msgspec.Raw:
    """A value as Go's field errors print one that is not a plain string or number."""
    text = msgspec.json.encode(value).decode()
    return msgspec.Raw(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").encode())


def go_rule(rule: Obj) -> msgspec.Raw:
    names = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
    zeros: dict[str, Any] = {"reason": None, "optionalOldSelf": None}
    return go_json({name[0].upper() + name[1:]: rule.get(name, zeros.get(name, "")) for name in names})


def go_versions(versions: list[Obj]) -> msgspec.Raw:
    return go_json([_go_version(version) for version in versions])


def go_schema(schema: Obj) -> msgspec.Raw:
    return go_json(_go_schema(schema))


def _go_version(version: Obj) -> Obj:
    schema, subresources = version.get("schema"), version.get("subresources")
    return {
        "Name": version.get("name", ""),
        "Served": version.get("served", False),
        "Storage": version.get("storage", False),
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if schema is None else {"OpenAPIV3Schema": _go_schema(schema.get("openAPIV3Schema"))},
        "Subresources": None if subresources is None else _go_subresources(subresources),
        "AdditionalPrinterColumns": _go_columns(version.get("additionalPrinterColumns")),
        "SelectableFields": [{"JSONPath": f["jsonPath"]} for f in version.get("selectableFields") or ()] or None,
    }


def _go_subresources(subresources: Obj) -> Obj:
    scale = subresources.get("scale")
    names = {
        "SpecReplicasPath": "specReplicasPath",
        "StatusReplicasPath": "statusReplicasPath",
        "LabelSelectorPath": "labelSelectorPath",
    }
    return {
        "Status": {} if subresources.get("status") is not None else None,
        "Scale": None if scale is None else {go: scale.get(json) for go, json in names.items()},
    }


def _go_columns(columns: list[Obj] | None) -> list[Obj] | None:
    names = {
        "Name": "name",
        "Type": "type",
        "Format": "format",
        "Description": "description",
        "Priority": "priority",
        "JSONPath": "jsonPath",
    }
    made = [
        {go: column.get(json, 0 if json == "priority" else "") for go, json in names.items()}
        for column in columns or ()
    ]
    return made or None


def _go_schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {go: _go_part(json, schema[json]) if json in schema else zero for go, json, zero in _SCHEMA_FIELDS}


def _go_part(name: str, value: Any) -> Any:
    if name in ("allOf", "oneOf", "anyOf"):
        return [_go_schema(item) for item in value]
    if name == "not":
        return _go_schema(value)
    if name in ("properties", "patternProperties", "definitions"):
        return {key: _go_schema(value[key]) for key in sorted(value)}
    if name == "items":
        many = isinstance(value, list)
        return {
            "Schema": None if many else _go_schema(value),
            "JSONSchemas": [_go_schema(v) for v in value] if many else None,
        }
    if name in ("additionalProperties", "additionalItems"):
        plain = isinstance(value, bool)
        return {"Allows": value if plain else True, "Schema": None if plain else _go_schema(value)}
    if name == "x-kubernetes-validations":
        return [go_rule(rule) for rule in value]
    return value
