"""The spec of a CustomResourceDefinition: names, versions, columns, subresources, selectable fields, conversion."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from typing import Any, Final

from jobrelay.apimachinery import field as fields
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.names import is_dns1035_label, is_dns1123_subdomain
from jobrelay.kinds.apiextensions import fieldpaths, hoisting, schemachecks
from jobrelay.kinds.apiextensions.defaultchecks import has_defaults, validate_defaults
from jobrelay.kinds.apiextensions.hoisting import HoistedSpec
from jobrelay.kinds.apiextensions.rulechecks import CostTotal, RuleCompiler
from jobrelay.kinds.apiextensions.structural import StructuralSchema
from jobrelay.kinds.apiextensions.structuralchecks import unsupported, validate_structural
from jobrelay.kinds.apiextensions.webhooks import ca_bundle_problem, service_errors, url_errors
from jobrelay.kinds.strategy import Obj

COLUMN_TYPES: Final = "boolean,date,integer,number,string"
COLUMN_FORMATS: Final = "byte,date,date-time,double,float,int32,int64,password"
MAX_SELECTABLE: Final = 8
REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_AT_ROOT: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems "
    "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)
_ALLOWED_AT_ROOT: Final = frozenset(_AT_ROOT.split())


@dataclass(frozen=True, slots=True)
class SpecRequirements:
    """The checks that apply: an update need not pass those that the stored spec fails."""

    schema: schemachecks.SchemaRequirements = field(default_factory=schemachecks.SchemaRequirements)
    pruned_defaults: bool = True
    known_review_version: bool = True
    valid_ca_bundle: bool = False
    unchanged: frozenset[str] = frozenset()
    too_many_selectable: frozenset[str] = frozenset()

    def for_version(self, name: str) -> SpecRequirements:
        return replace(self, schema=replace(self.schema, no_rule_costs=True)) if name in self.unchanged else self


def validate_spec(spec: Obj, demands: SpecRequirements, path: Path) -> list[FieldError]:
    """All errors of a spec, in the server's order."""
    inner = hoisting.hoist(spec)
    errors = _group_and_scope(spec, path)
    if (inner.schema or {}).get("openAPIV3Schema") is None:
        for index, version in enumerate(inner.versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                errors.append(fields.required(path.child("versions").index(index).child("schema", "openAPIV3Schema")))
    preserve = spec.get("preserveUnknownFields", False)
    if preserve and any(has_defaults(schema) for schema in hoisting.schemas(spec)):
        detail = "must be false in order to use defaults in the schema"
        errors.append(fields.invalid(path.child("preserveUnknownFields"), True, detail))
    for index, version in enumerate(inner.versions):
        errors += _version(version, inner, demands, path.child("versions").index(index))
    errors += _version_list(inner.versions, path.child("versions"), given=spec.get("versions") is not None)
    errors += _required_names(spec.get("names") or {}, path.child("names"))
    errors += names_errors(spec.get("names") or {}, path.child("names"))
    errors += _shared(inner, demands, path)
    conversion = spec.get("conversion") or {}
    if preserve and conversion.get("strategy", "None") != "None":
        detail = "must be None if spec.preserveUnknownFields is true"
        errors.append(fields.invalid(path.child("conversion", "strategy"), conversion["strategy"], detail))
    return errors + _conversion(conversion, demands, path.child("conversion"))


def _group_and_scope(spec: Obj, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    group, scope = spec.get("group", ""), spec.get("scope", "")
    if not group:
        errors.append(fields.required(path.child("group")))
    elif wrong := is_dns1123_subdomain(group):
        errors.append(fields.invalid(path.child("group"), group, ",".join(wrong)))
    elif "." not in group:
        errors.append(fields.invalid(path.child("group"), group, "should be a domain with at least one dot"))
    if not scope:
        errors.append(fields.required(path.child("scope")))
    elif scope not in ("Cluster", "Namespaced"):
        errors.append(fields.not_supported(path.child("scope"), scope, ("Cluster", "Namespaced")))
    return errors


def _version(version: Obj, inner: HoistedSpec, demands: SpecRequirements, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    name = version.get("name", "")
    if wrong := is_dns1035_label(name):
        errors.append(fields.invalid(path.child("name"), name, ",".join(wrong)))
    warning = version.get("deprecationWarning")
    problems = _deprecation_problems(version.get("deprecated", False), warning)
    errors += [fields.invalid(path.child("deprecationWarning"), hoisting.go_json(warning), text) for text in problems]
    per_version = any(v.get("subresources") is not None for v in inner.versions)
    subresources = version.get("subresources") if per_version else inner.subresources
    has_status = (subresources or {}).get("status") is not None
    errors += schema_errors(version.get("schema"), has_status, demands.for_version(name), path.child("schema"))
    errors += _subresources(version.get("subresources"), path.child("subresources"))
    errors += _columns(version.get("additionalPrinterColumns"), path.child("additionalPrinterColumns"))
    if selectable := version.get("selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        where = path.child("selectableFields")
        if schema is None:
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(fields.invalid(where, "", detail))
        else:
            errors += _selectable(selectable, schema, where, allow_many=name in demands.too_many_selectable)
    return errors


def _deprecation_problems(deprecated: bool, warning: str | None) -> list[str]:
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    problems = []
    if len(warning.encode()) > 256:
        problems.append("must be <= 256 characters long")
    if not warning:
        problems.append("must not be an empty string")
    for at, char in enumerate(warning):
        if not char.isprintable():
            index = len(warning[:at].encode())
            problems.append(
                f"must only contain printable UTF-8 characters; non-printable character found at index {index}"
            )
            break
    return problems


def _version_list(versions: list[Obj], path: Path, *, given: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    names = [version.get("name", "") for version in versions]
    if len(set(names)) != len(names):
        errors.append(fields.invalid(path, hoisting.go_versions(versions), "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        errors.append(fields.invalid(path, hoisting.go_versions(versions) if given else None, detail))
    if names and (wrong := is_dns1035_label(names[0])) and names[0]:
        errors.append(fields.invalid(Path("spec.version"), names[0], ",".join(wrong)))
    return errors


def _required_names(names: Obj, path: Path) -> list[FieldError]:
    return [
        fields.required(path.child(name)) for name in ("plural", "singular", "kind", "listKind") if not names.get(name)
    ]


def names_errors(names: Obj, path: Path) -> list[FieldError]:
    """The rules for names, of a spec and of the accepted ones in a status."""
    errors = [
        fields.invalid(path.child(name), names[name], ",".join(wrong))
        for name in ("plural", "singular")
        if names.get(name) and (wrong := is_dns1035_label(names[name]))
    ]
    for name in ("kind", "listKind"):
        if names.get(name) and (wrong := is_dns1035_label(names[name].lower())):
            detail = "may have mixed case, but should otherwise match: " + ",".join(wrong)
            errors.append(fields.invalid(path.child(name), names[name], detail))
    errors += _labels(names.get("shortNames"), path.child("shortNames"))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        errors.append(fields.invalid(path.child("listKind"), names["listKind"], detail))
    return errors + _labels(names.get("categories"), path.child("categories"))


def _labels(values: list[str] | None, path: Path) -> list[FieldError]:
    errors = []
    for index, value in enumerate(values or ()):
        if wrong := is_dns1035_label(value):
            errors.append(fields.invalid(path.index(index), value, ",".join(wrong)))
    return errors


def _shared(inner: HoistedSpec, demands: SpecRequirements, path: Path) -> list[FieldError]:
    """What all versions have in common."""
    first = inner.versions[0].get("name", "") if inner.versions else ""
    has_status = any(
        (s or {}).get("status") is not None
        for s in (inner.subresources, *(v.get("subresources") for v in inner.versions))
    )
    errors = schema_errors(inner.schema, has_status, demands.for_version(first), path.child("validation"))
    errors += _subresources(inner.subresources, path.child("subresources"))
    errors += _columns(inner.columns, path.child("additionalPrinterColumns"))
    if inner.selectable:
        where = path.child("selectableFields")
        if inner.schema is None:
            errors.append(fields.invalid(where, "", "may only be set when validations.schema is included"))
        else:
            schema = inner.schema.get("openAPIV3Schema") or {}
            errors += _selectable(inner.selectable, schema, where, allow_many="" in demands.too_many_selectable)
    return errors


def schema_errors(validation: Obj | None, has_status: bool, demands: SpecRequirements, path: Path) -> list[FieldError]:
    """All errors of one schema."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    where = path.child("openAPIV3Schema")
    errors = _root_errors(schema, where) if has_status else []
    if schema.get("nullable"):
        errors.append(fields.forbidden(where.child("nullable"), "nullable cannot be true at the root"))
    total = CostTotal()
    rules: schemachecks.RuleChecker = schemachecks.NO_RULES
    problem = unsupported(schema)
    if not problem:
        more = validate_structural(schema, where)
        if not more and has_defaults(schema):
            more = validate_defaults(StructuralSchema(schema), where, require_pruned=demands.pruned_defaults)
        errors += more
        if not more:
            rules = RuleCompiler(StructuralSchema(schema), total, is_resource=True, count=1)
    validator = schemachecks.SchemaValidator(demands.schema)
    validator.validate(schema, where, schemachecks.SchemaScope(), rules, root=True)
    errors += validator.errors + validator.rule_errors
    if problem and not errors:
        errors.append(fields.invalid(where, "", problem))
    return errors + total.errors(where)


def _root_errors(schema: Obj, path: Path) -> list[FieldError]:
    """With a status subresource, the root schema may only have constraints that hold without the status too."""
    for name in hoisting.FIELD_ORDER:
        value = schema.get(name)
        if value is None or value is False or value in ("", [], {}):
            continue
        if name == "type":
            if value != "object":
                detail = (
                    'only "object" is allowed as the type at the root of the schema if the status '
                    "subresource is enabled"
                )
                return [fields.invalid(path.child("type"), value, detail)]
        elif hoisting.FIELD_NAMES[name] not in _ALLOWED_AT_ROOT:
            detail = (
                f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
            )
            return [fields.invalid(path, hoisting.go_schema(schema), detail)]
    return []


def _simple_path(text: str, path: Path) -> list[FieldError]:
    return [] if text.startswith(".") else [fields.invalid(path, text, "must be a simple json path starting with .")]


def _columns(columns: list[Obj] | None, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, column in enumerate(columns or ()):
        where = path.index(index)
        type_, format_, json_path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
        if not column.get("name"):
            errors.append(fields.required(where.child("name")))
        if not type_:
            errors.append(fields.required(where.child("type"), f"must be one of {COLUMN_TYPES}"))
        elif type_ not in COLUMN_TYPES.split(","):
            errors.append(fields.invalid(where.child("type"), type_, f"must be one of {COLUMN_TYPES}"))
        if format_ and format_ not in COLUMN_FORMATS.split(","):
            errors.append(fields.invalid(where.child("format"), format_, f"must be one of {COLUMN_FORMATS}"))
        if not json_path:
            errors.append(fields.required(where.child("JSONPath")))
        else:
            errors += _simple_path(json_path, where.child("JSONPath"))
    return errors


def _subresources(subresources: Obj | None, path: Path) -> list[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for name, prefix in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        where, value = path.child("scale", name), scale.get(name, "")
        if not value:
            errors.append(fields.required(where))
        elif wrong := _simple_path(value, where):
            errors += wrong
        elif not value.startswith(prefix):
            errors.append(fields.invalid(where, value, f"should be a json path under {prefix[:-1]}"))
    selector, where = scale.get("labelSelectorPath"), path.child("scale", "labelSelectorPath")
    if selector:
        wrong = _simple_path(selector, where)
        errors += wrong
        if not wrong and not selector.startswith((".spec.", ".status.")):
            errors.append(fields.invalid(where, selector, "should be a json path under either .spec or .status"))
    return errors


def _selectable(selectable: list[Obj], schema: Obj, path: Path, *, allow_many: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    node = StructuralSchema(schema)
    for index, entry in enumerate(selectable):
        where, text = path.index(index).child("jsonPath"), entry.get("jsonPath", "")
        if not text:
            errors.append(fields.required(where))
            continue
        try:
            found_path, found, first = fieldpaths.resolve(text, node, arrays=False)
        except fieldpaths.FieldPathError as error:
            errors.append(fields.invalid(where, text, f"is an invalid path: {error}"))
            continue
        if first == "metadata":
            errors.append(fields.invalid(where, text, "must not point to fields in metadata"))
        if found.type not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings "
                "with formats are allowed."
            )
            errors.append(fields.invalid(where, text, detail))
        if str(found_path) in seen:
            errors.append(fields.duplicate(where, text))
        seen.add(str(found_path))
    if len(seen) > MAX_SELECTABLE and not allow_many:
        errors.append(fields.too_many(path, len(seen), MAX_SELECTABLE))
    return errors


def _conversion(conversion: Obj, demands: SpecRequirements, path: Path) -> list[FieldError]:
    if not conversion:
        return []
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook")
    config = (webhook or {}).get("clientConfig")
    versions = (webhook or {}).get("conversionReviewVersions") or []
    errors: list[FieldError] = []
    if not strategy:
        errors.append(fields.required(path.child("strategy")))
    elif strategy not in ("None", "Webhook"):
        errors.append(fields.not_supported(path.child("strategy"), strategy, ("None", "Webhook")))
    if strategy == "Webhook":
        errors += _client_config(config, demands, path.child("webhookClientConfig"))
        return errors + _review_versions(versions, demands, path.child("conversionReviewVersions"))
    for name, value in (("webhookClientConfig", config is not None), ("conversionReviewVersions", bool(versions))):
        if value:
            errors.append(fields.forbidden(path.child(name), "should not be set when strategy is not set to Webhook"))
    return errors


def _client_config(config: Obj | None, demands: SpecRequirements, path: Path) -> list[FieldError]:
    if config is None:
        return [fields.required(path, "required when strategy is set to Webhook")]
    url, service = config.get("url"), config.get("service")
    errors: list[FieldError] = []
    if (url is None) == (service is None):
        errors.append(fields.required(path, "exactly one of url or service is required"))
    elif url is not None:
        errors += url_errors(url, path.child("url"))
    else:
        errors += service_errors(service or {}, path.child("service"))
    bundle: Any = config.get("caBundle")
    if bundle and demands.valid_ca_bundle and (problem := ca_bundle_problem(base64.b64decode(bundle))):
        errors.append(fields.invalid(path.child("caBundle"), bundle, problem))
    return errors


def _review_versions(versions: list[str], demands: SpecRequirements, path: Path) -> list[FieldError]:
    if not versions:
        return [fields.required(path)]
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(fields.invalid(path.index(index), version, "duplicate version"))
            continue
        errors += [fields.invalid(path.index(index), version, text) for text in is_dns1035_label(version)]
    if demands.known_review_version and not set(versions) & set(REVIEW_VERSIONS):
        errors.append(fields.invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors
