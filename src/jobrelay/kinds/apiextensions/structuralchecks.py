"""Is a schema structural? Every place has a type, and logic (allOf, anyOf, oneOf, not) only restricts values.

The errors are sorted by their text, as the server does.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.regex import RegexError, compile_go
from jobrelay.kinds.apiextensions.structural import Schema

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_UNSUPPORTED: Final = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_NAMES: Final = {"$schema": "schema"}
_NO_TYPE: Final = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
_NESTED_EMPTY: Final = (
    ("default", "undefined"), ("title", "empty"), ("description", "empty"), ("nullable", "false"),
    ("x-kubernetes-preserve-unknown-fields", "false"), ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"), ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"), ("x-kubernetes-validations", "empty"),
)  # fmt: skip
_PLAIN: Final = frozenset({
    "description", "type", "format", "title", "properties", "items", "required", "enum", "minimum", "maximum",
    "minLength", "maxLength", "default", "nullable", "additionalProperties", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
})  # fmt: skip


def unsupported(schema: Any) -> str:
    """Why no structural schema can be made at all; empty when one can."""
    if not isinstance(schema, dict):
        return ""
    for name in _UNSUPPORTED:
        if schema.get(name) or (name == "additionalItems" and name in schema):
            return f"OpenAPIV3Schema '{_NAMES.get(name, name)}' is not supported"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array" if schema["items"] else ""
    return next((problem for child in _children(schema) if (problem := unsupported(child))), "")


def _children(schema: Schema) -> list[Any]:
    found: list[Any] = list((schema.get("properties") or {}).values())
    found += [schema[key] for key in ("items", "additionalProperties", "not") if isinstance(schema.get(key), dict)]
    for key in ("allOf", "anyOf", "oneOf"):
        found += schema.get(key) or ()
    return found


def validate_structural(schema: Schema, path: Path) -> list[FieldError]:
    """All violations of structurality, sorted."""
    errors: list[FieldError] = []
    _place(schema, "root", path, errors)
    _complete_values(schema, schema, path, path, errors)
    return sorted(errors, key=lambda error: error.text())


def _place(schema: Schema, level: str, path: Path, errors: list[FieldError]) -> None:
    items = schema.get("items")
    if items == []:
        items = None  # a list of schemas without any
    if schema.get("type") == "array" and items is None:
        errors.append(field.required(path.child("items"), "must be specified"))
    if items is not None:
        _place(items, "item", path.child("items"), errors)
    if properties := schema.get("properties"):
        inside = path.child("properties")
        for name, child in properties.items():
            _place(child, "field", inside.key(name), errors)
    if "additionalProperties" in schema:
        if level == "root":
            errors.append(field.forbidden(path.child("additionalProperties"), "must not be used at the root"))
        if isinstance(schema["additionalProperties"], dict):
            _place(schema["additionalProperties"], "field", path.child("additionalProperties"), errors)
    if not _PLAIN.issuperset(schema):
        _unusual(schema, level, path, errors)
    _type_errors(schema, level, path, errors)
    if properties and (level == "root" or schema.get("x-kubernetes-embedded-resource")):
        _meta_errors(schema, level, path, errors)


def _unusual(schema: Schema, level: str, path: Path, errors: list[FieldError]) -> None:
    either = schema.get("x-kubernetes-int-or-string")
    errors.extend(
        field.invalid(path.child(name), True, "must be false if x-kubernetes-int-or-string is true")
        for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
        if either and schema.get(name)
    )
    all_of = schema.get("allOf") or []
    _values(
        schema,
        schema.get("anyOf") == _INT_OR_STRING,
        bool(all_of) and all_of[0].get("anyOf") == _INT_OR_STRING,
        path,
        errors,
    )


def _type_errors(schema: Schema, level: str, path: Path, errors: list[FieldError]) -> None:
    type_ = schema.get("type", "")
    embedded = schema.get("x-kubernetes-embedded-resource")
    if embedded and type_ != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(
            field.invalid(path.child("type"), type_, detail) if type_ else field.required(path.child("type"), detail)
        )
    elif (
        not type_
        and not schema.get("x-kubernetes-int-or-string")
        and not schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        errors.append(field.required(path.child("type"), f"must not be empty {_NO_TYPE[level]}"))
    if embedded and "additionalProperties" in schema:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(field.forbidden(path.child("additionalProperties"), detail))
    if level == "root" and type_ and type_ != "object":
        errors.append(field.invalid(path.child("type"), type_, "must be object at the root"))
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(field.required(path.child("properties"), detail))


def _meta_errors(schema: Schema, level: str, path: Path, errors: list[FieldError]) -> None:
    properties, inside = schema["properties"], path.child("properties")
    errors.extend(
        field.invalid(inside.key(name).child("type"), properties[name].get("type", ""), "must be string")
        for name in ("kind", "apiVersion")
        if name in properties and properties[name].get("type", "") != "string"
    )
    metadata = properties.get("metadata")
    if metadata is None:
        return
    where = inside.key("metadata")
    if metadata.get("type", "") != "object":
        errors.append(field.invalid(where.child("type"), metadata.get("type", ""), "must be object"))
    names = set(metadata.get("properties") or ())
    if level == "root" and (
        metadata.keys() - {"type", "default", "properties"} or not names <= {"name", "generateName"}
    ):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(field.forbidden(where, detail))


def _values(schema: Schema, skip_any: bool, skip_first: bool, path: Path, errors: list[FieldError]) -> None:
    """The logic and the pattern of a place, or of logic inside logic."""
    if not skip_any:
        for index, clause in enumerate(schema.get("anyOf") or ()):
            _clause(clause, False, path.child("anyOf").index(index), errors)
    for index, clause in enumerate(schema.get("allOf") or ()):
        _clause(clause, skip_first and index == 0, path.child("allOf").index(index), errors)
    for index, clause in enumerate(schema.get("oneOf") or ()):
        _clause(clause, False, path.child("oneOf").index(index), errors)
    if isinstance(schema.get("not"), dict):
        _clause(schema["not"], False, path.child("not"), errors)
    if pattern := schema.get("pattern"):
        try:
            compile_go(pattern)
        except RegexError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            errors.append(field.invalid(path.child("pattern"), pattern, detail))


def _clause(clause: Schema, skip_any: bool, path: Path, errors: list[FieldError]) -> None:
    _values(clause, skip_any, False, path, errors)
    if isinstance(clause.get("items"), dict):
        _clause(clause["items"], False, path.child("items"), errors)
    for name, child in (clause.get("properties") or {}).items():
        _clause(child, False, path.child("properties").key(name), errors)
    if clause.get("type"):
        errors.append(field.forbidden(path.child("type"), "must be empty to be structural"))
    if clause.get("additionalProperties"):
        errors.append(field.forbidden(path.child("additionalProperties"), "must be undefined to be structural"))
    for name, state in _NESTED_EMPTY:
        if clause.get(name):
            errors.append(field.forbidden(path.child(name), f"must be {state} to be structural"))
    if "metadata" in (clause.get("properties") or ()):
        where = path.child("properties").key("metadata")
        errors.append(field.forbidden(where, "must not be specified in a nested context"))


def _complete_values(clause: Schema, place: Schema, where: Path, path: Path, errors: list[FieldError]) -> None:
    """Fields that are named in logical keywords must be specified outside of them as well."""
    if isinstance(clause.get("not"), dict):
        _complete(clause["not"], place, where, path.child("not"), errors)
    for key in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(clause.get(key) or ()):
            _complete(inner, place, where, path.child(key).index(index), errors)


def _complete(clause: Schema, place: Schema | None, where: Path, path: Path, errors: list[FieldError]) -> None:
    if place is None:
        errors.append(field.required(where, f"because it is defined in {path}"))
        return
    _complete_values(clause, place, where, path, errors)
    if isinstance(clause.get("items"), dict):
        _complete(clause["items"], place.get("items"), where.child("items"), path.child("items"), errors)
    for name, child in (clause.get("properties") or {}).items():
        inner = (place.get("properties") or {}).get(name)
        _complete(child, inner, where.child("properties").key(name), path.child("properties").key(name), errors)
