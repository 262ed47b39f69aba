"""Validation of schemas beyond their structure: keywords, list and map types, defaults, CEL rules.

Most nodes of a schema use only plain keywords; only nodes with others are checked in detail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from jobrelay.apimachinery import field as fields
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.gostruct import json_value
from jobrelay.kinds.apiextensions import fieldpaths
from jobrelay.kinds.apiextensions.rules import has_line_breaks
from jobrelay.kinds.apiextensions.structural import Schema, StructuralSchema
from jobrelay.kinds.apiextensions.structuralchecks import unsupported

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
META_FIELDS: Final = frozenset({"metadata", "kind", "apiVersion"})
_PLAIN: Final = frozenset({
    "type", "properties", "items", "description", "format", "title", "required", "enum", "minimum", "maximum",
    "minLength", "maxLength", "nullable", "pattern", "minItems", "maxItems", "x-kubernetes-int-or-string",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "example", "externalDocs",
})  # fmt: skip
_FORBIDDEN: Final = ("additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


@dataclass(frozen=True, slots=True)
class SchemaRequirements:
    """The checks that apply: an update need not pass those that the stored schema fails."""

    valid_types: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    no_rule_costs: bool = False


@dataclass(frozen=True, slots=True)
class SchemaScope:
    """What the ancestors of a schema node imply for it."""

    defaults: bool = True
    why_no_defaults: str = ""
    in_meta: bool = False
    uncorrelatable: Path | None = None


class RuleChecker:
    """Compiles rules; see `rulechecks`. This one, used when the schema is not sound, checks nothing."""

    def named(self, name: str) -> RuleChecker:
        return self

    def values(self) -> RuleChecker:
        return self

    def items(self) -> RuleChecker:
        return self

    def check(self, schema: Schema, path: Path, scope: SchemaScope, options: SchemaRequirements) -> list[FieldError]:
        return []


NO_RULES: Final = RuleChecker()


class SchemaValidator:
    """Collects the errors of a schema and, kept apart, of its CEL rules, compiled only where the schema is sound."""

    def __init__(self, options: SchemaRequirements) -> None:
        self.options = options
        self.errors: list[FieldError] = []
        self.rule_errors: list[FieldError] = []

    def validate(
        self, schema: Schema, path: Path, scope: SchemaScope, rules: RuleChecker, *, root: bool = False
    ) -> None:
        """Checks a schema and everything below it."""
        before = len(self.errors)
        plain = _PLAIN.issuperset(schema)
        _type_and_default(schema, path, scope, self.options, self.errors)
        if not plain:
            _keywords(schema, path, scope, self.errors)
        self._additional(schema, path, scope, rules)
        self._properties(schema, path, scope, rules, root=root)
        if not plain:
            self._logic(schema, path, scope)
        items = schema.get("items")
        if items is not None:
            inner = scope if schema.get("x-kubernetes-list-type") == "map" else _uncorrelated(scope, path)
            if isinstance(items, dict):
                self.validate(items, path.child("items"), inner, rules.items())
            for index, item in enumerate(items if isinstance(items, list) else ()):
                self.validate(item, path.child("items").index(index), inner, rules.items())
        if not plain:
            _extensions(schema, path, self.options, self.errors)
            if schema.get("x-kubernetes-validations"):
                _rules(schema, path, self.errors)
                if len(self.errors) == before:
                    self.rule_errors += rules.check(schema, path, scope, self.options)

    def _additional(self, schema: Schema, path: Path, scope: SchemaScope, rules: RuleChecker) -> None:
        additional = schema.get("additionalProperties")
        if additional is None:
            return
        where = path.child("additionalProperties")
        if schema.get("properties") and additional is not True:
            self.errors.append(fields.forbidden(where, "additionalProperties and properties are mutual exclusive"))
        if isinstance(additional, dict):
            why = "inside additionalProperties applying to object metadata"
            inner = replace(scope, defaults=False, why_no_defaults=why) if scope.in_meta else scope
            self.validate(additional, where, inner, rules.values())

    def _properties(self, schema: Schema, path: Path, scope: SchemaScope, rules: RuleChecker, *, root: bool) -> None:
        properties = schema.get("properties")
        if not properties:
            return
        if schema.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
            scope = _uncorrelated(scope, path)
        is_resource = root or schema.get("x-kubernetes-embedded-resource")
        inside = path.child("properties")
        for name, child in properties.items():
            inner = scope
            if is_resource and name in META_FIELDS:
                inner = replace(scope, in_meta=True)
                if root:
                    inner = replace(inner, defaults=False, why_no_defaults=f"in top-level {name}")
            self.validate(child, inside.key(name), inner, rules.named(name))

    def _logic(self, schema: Schema, path: Path, scope: SchemaScope) -> None:
        if isinstance(schema.get("not"), dict):
            self.validate(schema["not"], path.child("not"), scope, NO_RULES)
        for key in ("allOf", "oneOf", "anyOf"):
            for index, clause in enumerate(schema.get(key) or ()):
                self.validate(clause, path.child(key).index(index), scope, NO_RULES)
        for key in ("definitions", "dependencies"):
            for name, child in (schema.get(key) or {}).items():
                if isinstance(child, dict):
                    self.validate(child, path.child(key).key(name), scope, NO_RULES)


def _uncorrelated(scope: SchemaScope, path: Path) -> SchemaScope:
    return scope if scope.uncorrelatable is not None else replace(scope, uncorrelatable=path)


def _type_and_default(
    schema: Schema, path: Path, scope: SchemaScope, options: SchemaRequirements, errors: list[FieldError]
) -> None:
    type_ = schema.get("type", "")
    if options.valid_types and type_ and type_ not in TYPES:
        errors.append(fields.not_supported(path.child("type"), type_, TYPES))
    if not scope.defaults and "default" in schema:
        detail = f"must not be set {scope.why_no_defaults}" if scope.why_no_defaults else "must not be set"
        errors.append(fields.forbidden(path.child("default"), detail))
    if type_ == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        errors.append(fields.forbidden(path.child("type"), detail))
    if isinstance(schema.get("items"), list) and schema["items"]:
        errors.append(fields.forbidden(path.child("items"), "items must be a schema object and not an array"))


def _keywords(schema: Schema, path: Path, scope: SchemaScope, errors: list[FieldError]) -> None:
    if schema.get("id"):
        errors.append(fields.forbidden(path.child("id"), "id is not supported"))
    errors.extend(
        fields.forbidden(path.child(name), f"{name} is not supported")
        for name in _FORBIDDEN
        if name in schema and (schema[name] or name in ("additionalItems", "dependencies", "$ref"))
    )
    if scope.in_meta and schema.get("x-kubernetes-embedded-resource"):
        where = path.child("x-kubernetes-embedded-resource")
        errors.append(fields.forbidden(where, "must not be used inside of resource meta"))
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(fields.forbidden(path.child("uniqueItems"), detail))


def _extensions(schema: Schema, path: Path, options: SchemaRequirements, errors: list[FieldError]) -> None:
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = path.child("x-kubernetes-preserve-unknown-fields")
        errors.append(fields.invalid(where, False, "must be true or undefined"))
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    if map_type is not None:
        errors += _typed(schema, "object", "x-kubernetes-map-type", path)
        errors += fields.one_of(path.child("x-kubernetes-map-type"), map_type, ("atomic", "granular"))
    if list_type is not None:
        wrong = _typed(schema, "array", "x-kubernetes-list-type", path)
        errors += wrong
        if not wrong and options.atomic_sets and list_type == "set" and isinstance(schema.get("items"), dict):
            errors += _set_items(schema["items"], path.child("items"))
        if list_type not in ("atomic", "set", "map"):
            where = path.child("x-kubernetes-list-type")
            errors.append(fields.not_supported(where, list_type, ("atomic", "set", "map")))
    _map_keys(schema, list_type, path, errors)
    if options.map_keys:
        errors += map_key_errors(schema, path)


def _typed(schema: Schema, wanted: str, extension: str, path: Path) -> list[FieldError]:
    type_, detail = schema.get("type", ""), f"must be {wanted} if {extension} is specified"
    if type_ == wanted:
        return []
    return [fields.invalid(path.child("type"), type_, detail) if type_ else fields.required(path.child("type"), detail)]


def _set_items(items: Schema, path: Path) -> list[FieldError]:
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    type_, list_type = items.get("type"), items.get("x-kubernetes-list-type")
    if type_ == "array" and list_type not in (None, "atomic"):
        return [fields.invalid(path.child("x-kubernetes-list-type"), list_type, detail)]
    if type_ == "object" and items.get("x-kubernetes-map-type") != "atomic":
        return [fields.invalid(path.child("x-kubernetes-map-type"), list_type, detail)]
    return []


def _map_keys(schema: Schema, list_type: str | None, path: Path, errors: list[FieldError]) -> None:
    keys, items = schema.get("x-kubernetes-list-map-keys") or [], schema.get("items")
    if keys and list_type != "map":
        detail, where = "must be map if x-kubernetes-list-map-keys is non-empty", path.child("x-kubernetes-list-type")
        errors.append(fields.required(where, detail) if list_type is None else fields.invalid(where, list_type, detail))
    if list_type != "map":
        return
    if not keys:
        where = path.child("x-kubernetes-list-map-keys")
        errors.append(fields.required(where, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        errors.append(fields.required(path.child("items"), "must have a schema if x-kubernetes-list-type is map"))
    if isinstance(items, list) and not items:
        shown: Schema = {"Schema": None, "JSONSchemas": []}
        detail = "must only have a single schema if x-kubernetes-list-type is map"
        errors.append(fields.invalid(path.child("items"), json_value(shown), detail))
    if not isinstance(items, dict):
        return
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(fields.invalid(path.child("items").child("type"), items.get("type", ""), detail))
        return
    _key_properties(keys, items, path, errors)


def _key_properties(keys: list[str], items: Schema, path: Path, errors: list[FieldError]) -> None:
    where = path.child("x-kubernetes-list-map-keys")
    for index, key in enumerate(keys):
        found = (items.get("properties") or {}).get(key)
        if found is None:
            errors.append(fields.invalid(where, keys, "entries must all be names of item properties"))
        elif found.get("type") in ("array", "object"):
            at = path.child("items", "properties").key(key).child("type")
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(fields.invalid(at, "object", detail))
        if key in keys[:index]:
            errors.append(fields.invalid(where, keys, "must not contain duplicate entries"))


def map_key_errors(schema: Schema, path: Path) -> list[FieldError]:
    """Items of sets and maps are never null, and the keys of maps are always there."""
    items, list_type = schema.get("items"), schema.get("x-kubernetes-list-type")
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return []
    errors: list[FieldError] = []
    if items.get("nullable"):
        detail = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(fields.forbidden(path.child("items").child("nullable"), detail))
    for key in (schema.get("x-kubernetes-list-map-keys") or ()) if list_type == "map" else ():
        found = (items.get("properties") or {}).get(key)
        if found is None:
            continue
        where = path.child("items", "properties").key(key)
        why = "this property is in x-kubernetes-list-map-keys, so it "
        if key not in (items.get("required") or ()) and "default" not in found:
            detail = why + "must have a default or be a required property"
            errors.append(fields.required(where.child("default"), detail))
        if found.get("nullable"):
            errors.append(fields.forbidden(where.child("nullable"), why + "cannot be nullable"))
    return errors


def _rules(schema: Schema, path: Path, errors: list[FieldError]) -> None:
    for index, rule in enumerate(schema["x-kubernetes-validations"]):
        where = path.child("x-kubernetes-validations").index(index)
        errors += _rule_texts(rule, where)
        reason = rule.get("reason")
        if reason is not None and reason not in REASONS:
            errors.append(fields.not_supported(where.child("reason"), reason, REASONS))
        errors += _field_path_errors(rule.get("fieldPath", ""), schema, where.child("fieldPath"))


def _rule_texts(rule: dict[str, Any], where: Path) -> list[FieldError]:
    text, message, expression = rule.get("rule", "").strip(), rule.get("message", ""), rule.get("messageExpression", "")
    errors: list[FieldError] = []
    if not text:
        errors.append(fields.required(where.child("rule"), "rule is not specified"))
    elif message and not message.strip():
        errors.append(fields.invalid(where.child("message"), message, "must be non-empty if specified"))
    elif has_line_breaks(message.strip()):
        errors.append(fields.invalid(where.child("message"), message, "must not contain line breaks"))
    elif has_line_breaks(text) and not message.strip():
        errors.append(fields.required(where.child("message"), "message must be specified if rule contains line breaks"))
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        errors.append(fields.required(where.child("messageExpression"), detail))
    return errors


def _field_path_errors(text: str, schema: Schema, where: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if text and not text.strip():
        errors.append(fields.invalid(where, text, "must be non-empty if specified"))
    if has_line_breaks(text):
        errors.append(fields.invalid(where, text, "must not contain line breaks"))
    if text and not unsupported(schema):
        try:
            fieldpaths.resolve(text, StructuralSchema(schema))
        except fieldpaths.FieldPathError:
            errors.append(fields.invalid(where, text, "must be a valid path"))
    return errors
