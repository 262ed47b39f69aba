"""What webhooks and admission policies share: which requests a rule is about, and conditions on them."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, duplicate, invalid, one_of, required, too_many
from jobrelay.kinds.admissionregistration.expressions import ExpressionCompiler
from jobrelay.kinds.core.checks import lone_wildcard, qualified_name

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES: Final = ("*", "Cluster", "Namespaced")
MAX_CONDITIONS: Final = 64


def default_rule(rule: dict[str, Any]) -> None:
    if rule.get("scope") is None:
        rule["scope"] = "*"


def validate_rule(rule: dict[str, Any], path: Path) -> list[FieldError]:
    operations, place = rule.get("operations") or [], path.child("operations")
    errors = [] if operations else [required(place)]
    errors += lone_wildcard(operations, place, "operations")
    for i, operation in enumerate(operations):
        errors += one_of(place.index(i), operation, OPERATIONS)
    for field, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(field) or []
        errors += [] if values else [required(path.child(field))]
        errors += lone_wildcard(values, path.child(field), words)
        if field == "apiVersions":
            errors += [required(path.child(field).index(i)) for i, value in enumerate(values) if not value]
    errors += _validate_resources(rule.get("resources") or [], path.child("resources"))
    errors += one_of(path.child("scope"), rule["scope"], SCOPES)
    return errors


def _validate_resources(resources: list[str], path: Path) -> list[FieldError]:
    errors = [] if resources else [required(path)]
    all_subresources: set[str] = set()
    of_all_resources: set[str] = set()
    last_is_plain = False
    for i, entry in enumerate(resources):
        if not entry:
            errors.append(required(path.index(i)))
            continue
        resource, slash, sub = entry.partition("/")
        if not slash:
            last_is_plain = entry != "*"
            continue
        if resource in all_subresources:
            errors.append(invalid(path.index(i), entry, f"if '{resource}/*' is present, must not specify {entry}"))
        if sub in of_all_resources:
            errors.append(invalid(path.index(i), entry, f"if '*/{sub}' is present, must not specify {entry}"))
        all_subresources |= {resource} if sub == "*" else set()
        of_all_resources |= {sub} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and last_is_plain:
        text = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, text))
    return errors


def validate_match_conditions(
    conditions: list[dict[str, Any]], path: Path, *, params: bool = False
) -> list[FieldError]:
    expressions = ExpressionCompiler(params=params)
    errors = [too_many(path, len(conditions), MAX_CONDITIONS)] if len(conditions) > MAX_CONDITIONS else []
    names: set[str] = set()
    for i, condition in enumerate(conditions):
        place, name = path.index(i), condition.get("name", "")
        expression = condition.get("expression", "").strip()
        if expression:
            errors += expressions.check(expression, place.child("expression"), "bool")
        else:
            errors.append(required(place.child("expression")))
        errors += qualified_name(name, place.child("name")) if name else [required(place.child("name"))]
        if name and name in names:
            errors.append(duplicate(place.child("name"), name))
        names.add(name)
    return errors
