"""ValidatingAdmissionPolicies and their bindings."""

from __future__ import annotations

import re
from typing import Any, Final

from jobrelay.apimachinery import jsonpath
from jobrelay.apimachinery.cel.checker import CompileError
from jobrelay.apimachinery.cel.syntax import RESERVED
from jobrelay.apimachinery.field import FieldError, Path, duplicate, forbidden, invalid, not_supported, one_of, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_conditions, validate_label_selector, validate_object_meta
from jobrelay.apimachinery.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    name_is_dns_subdomain,
    name_is_path_segment,
)
from jobrelay.kinds.admissionregistration import rules
from jobrelay.kinds.admissionregistration.expressions import ExpressionCompiler
from jobrelay.kinds.core.checks import dns_subdomain, qualified_name
from jobrelay.kinds.generation import count_spec_changes, keep_all_but_status, prepare_spec_update, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS: Final = ("Audit", "Deny", "Warn")
MAX_ANNOTATIONS: Final = 20
MAX_VALUE_EXPRESSION: Final = 5 * 1024
_SPEC: Final = Path("spec")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = RESERVED | {"true", "false", "null", "in"}
_ONE_OF: Final = "validations or auditAnnotations must contain at least one item"
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def _default_match(match: dict[str, Any] | None) -> None:
    if match is None:
        return
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            match[name] = {}
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(name) or ():
            rules.default_rule(rule)


def default_policy(obj: Obj) -> None:
    if obj["spec"].get("failurePolicy") is None:
        obj["spec"]["failurePolicy"] = "Fail"
    _default_match(obj["spec"].get("matchConstraints"))


def prepare_create(obj: Obj) -> None:
    obj["status"] = {}
    start_generation(obj)


def validate_policy(obj: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(
        obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain, known_finalizers=False
    )
    spec = obj["spec"]
    errors += one_of(_SPEC.child("failurePolicy"), spec["failurePolicy"], rules.FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        errors += _validate_param_kind(spec["paramKind"], _SPEC.child("paramKind"))
    match, path = spec.get("matchConstraints"), _SPEC.child("matchConstraints")
    if match is None:
        errors.append(required(path))
    else:
        errors += _validate_match(match, path)
        errors += [] if match.get("resourceRules") else [required(path.child("resourceRules"))]
    if old is None or any(spec.get(name) != old["spec"].get(name) for name in ("paramKind", "matchConditions")):
        conditions, params = spec.get("matchConditions") or [], spec.get("paramKind") is not None
        errors += rules.validate_match_conditions(conditions, _SPEC.child("matchConditions"), params=params)
    variables = spec.get("variables") or []
    expressions = ExpressionCompiler(params=spec.get("paramKind") is not None, composed=bool(variables))
    for i, variable in enumerate(variables):
        errors += _validate_variable(variable, _SPEC.child("variables").index(i), expressions)
    return errors + _validate_checks(spec, obj["metadata"].get("name", ""), expressions)


def _validate_checks(spec: dict[str, Any], name: str, expressions: ExpressionCompiler) -> list[FieldError]:
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        return [required(_SPEC.child(field), _ONE_OF) for field in ("validations", "auditAnnotations")]
    errors: list[FieldError] = []
    for i, validation in enumerate(validations):
        errors += _validate_validation(validation, _SPEC.child("validations").index(i), expressions)
    path = _SPEC.child("auditAnnotations")
    if len(annotations) > MAX_ANNOTATIONS:
        kind = "io.k8s.api.admissionregistration.v1.AuditAnnotation"
        shown = [struct_value(annotation, kind) for annotation in annotations]
        errors.append(invalid(path, shown, f"must not have more than {MAX_ANNOTATIONS} auditAnnotations"))
    keys: set[str] = set()
    for i, annotation in enumerate(annotations):
        errors += _validate_annotation(annotation, name, path.index(i), expressions)
        errors += [duplicate(path.index(i).child("key"), annotation["key"])] if annotation["key"] in keys else []
        keys.add(annotation["key"])
    return errors


def _validate_annotation(
    annotation: dict[str, Any], name: str, path: Path, expressions: ExpressionCompiler
) -> list[FieldError]:
    key, expression = annotation["key"], annotation["valueExpression"].strip()
    if name:
        errors = qualified_name(f"{name}/{key}", path.child("key"))
    else:
        errors = [invalid(path.child("key"), key, "requires metadata.name be non-empty")]
    place = path.child("valueExpression")
    if not expression:
        errors.append(required(place, "valueExpression is not specified"))
    elif len(expression.encode()) > MAX_VALUE_EXPRESSION:
        errors.append(required(place, f"must not exceed {MAX_VALUE_EXPRESSION} bytes in length"))
    else:
        errors += expressions.check(expression, place, "audit", shown=annotation["valueExpression"])
    return errors


def _validate_validation(validation: dict[str, Any], path: Path, expressions: ExpressionCompiler) -> list[FieldError]:
    errors: list[FieldError] = []
    message, expression = validation.get("message", ""), validation.get("messageExpression", "")
    if not validation["expression"].strip():
        errors.append(required(path.child("expression"), "expression is not specified"))
    else:
        errors += expressions.check(validation["expression"], path.child("expression"), "bool")
    if expression and not expression.strip():
        errors.append(invalid(path.child("messageExpression"), expression, "must be non-empty if specified"))
    elif expression:
        errors += expressions.check(expression, path.child("messageExpression"), "string", authorizer=False)
    if message and not message.strip():
        errors.append(invalid(path.child("message"), message, "must be non-empty if specified"))
    elif re.search(r"[\n\r]", message.strip()):
        errors.append(invalid(path.child("message"), message, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in REASONS:
        errors.append(not_supported(path.child("reason"), reason, REASONS))
    return errors


def _validate_variable(variable: dict[str, Any], path: Path, expressions: ExpressionCompiler) -> list[FieldError]:
    errors: list[FieldError] = []
    name = variable["name"]
    if not name.strip():
        errors.append(required(path.child("name"), "name is not specified"))
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        errors.append(invalid(path.child("name"), name, "must be a valid CEL identifier"))
    if not variable["expression"].strip():
        return [*errors, required(path.child("expression"), "expression is not specified")]
    try:
        expressions.declare(name, variable["expression"])
    except CompileError as error:
        errors.append(invalid(path.child("expression"), variable["expression"], f"compilation failed: {error}"))
    return errors


def _validate_param_kind(kind: dict[str, Any], path: Path) -> list[FieldError]:
    errors = _validate_api_version(kind.get("apiVersion", ""), path.child("apiVersion"))
    name = kind.get("kind", "")
    if not name:
        errors.append(required(path.child("kind")))
    elif texts := is_dns1035_label(name.lower()):
        detail = "may have mixed case, but should otherwise match: " + ",".join(texts)
        errors.append(invalid(path.child("kind"), name, detail))
    return errors


def _validate_api_version(value: str, path: Path) -> list[FieldError]:
    if not value:
        return [required(path)]
    if value.count("/") > 1:
        return [invalid(path, value, f"unexpected GroupVersion string: {value}")]
    group, _, version = value.rpartition("/")
    errors: list[FieldError] = []
    if group and (texts := is_dns1123_subdomain(group)):
        errors.append(invalid(path, group, ",".join(texts)))
    if not version:
        errors.append(invalid(path, value, "version must be specified"))
    elif texts := is_dns1035_label(version):
        errors.append(invalid(path, version, ",".join(texts)))
    return errors


def _validate_match(match: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    errors += one_of(path.child("matchPolicy"), match["matchPolicy"], rules.MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(match[name], path.child(name))
    for name in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(match.get(name) or ()):
            errors += _validate_named_rule(rule, path.child(name).index(i))
    return errors


def _validate_named_rule(rule: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    names = rule.get("resourceNames") or []
    for i, name in enumerate(names):
        place = path.child("resourceNames").index(i)
        errors += [invalid(place, name, text) for text in name_is_path_segment(name, False)]
        errors += [duplicate(place, name)] if name in names[:i] else []
    return errors + rules.validate_rule(rule, path)


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status, errors = new["status"], []
    for i, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        path = Path("status.typeChecking.expressionWarnings").index(i)
        errors += [] if warning["warning"] else [required(path.child("warning"))]
        errors += _validate_field_ref(warning["fieldRef"].strip(), path.child("fieldRef"))
    return errors + validate_conditions(status.get("conditions") or [], Path("status.conditions"))


def _validate_field_ref(text: str, path: Path) -> list[FieldError]:
    if not text:
        return [required(path)]
    try:
        jsonpath.parse(text)
    except jsonpath.JsonPathError as error:
        return [invalid(path, text, f"invalid JSONPath: {error}")]
    return []


def validate_binding(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(
        obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain, known_finalizers=False
    )
    spec = obj["spec"]
    name, path = spec.get("policyName", ""), _SPEC.child("policyName")
    errors += dns_subdomain(name, path) if name else [required(path)]
    if spec.get("paramRef") is not None:
        errors += _validate_param_ref(spec["paramRef"], _SPEC.child("paramRef"))
    if spec.get("matchResources") is not None:
        errors += _validate_match(spec["matchResources"], _SPEC.child("matchResources"))
    return errors + _validate_actions(spec.get("validationActions") or [], _SPEC.child("validationActions"))


def _validate_actions(actions: list[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, action in enumerate(actions):
        errors += [] if action in ACTIONS else [not_supported(path.index(i), action, ACTIONS)]
        errors += [duplicate(path.index(i), action)] if action in actions[:i] else []
    if "Deny" in actions and "Warn" in actions:
        errors.append(invalid(path, actions, _BOTH))
    return errors if actions else [required(path, "at least one validation action is required")]


def _validate_param_ref(ref: dict[str, Any], path: Path) -> list[FieldError]:
    name, selector = ref.get("name", ""), ref.get("selector")
    both = bool(name) and selector is not None
    errors = [invalid(path.child("name"), name, text) for text in (name_is_path_segment(name, False) if name else ())]
    errors += [forbidden(path.child("name"), "name and selector are mutually exclusive")] if both else []
    errors += validate_label_selector(selector, path.child("selector")) if selector is not None else []
    errors += [forbidden(path.child("selector"), "name and selector are mutually exclusive")] if both else []
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action, place = ref.get("parameterNotFoundAction"), path.child("parameterNotFoundAction")
    if not action:
        errors.append(required(place))
    elif action not in ("Deny", "Allow"):
        errors.append(not_supported(place, action, ("Deny", "Allow")))
    return errors


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): Strategy(
        default=default_policy,
        prepare_create=prepare_create,
        validate_create=validate_policy,
        update=UpdateStrategy(prepare_spec_update, validate_policy),
        subresources={"status": UpdateStrategy(keep_all_but_status, validate_status)},
        unconditional_update=False,
        reset_fields={"": (("status",),), "status": (("spec",), ("metadata",))},
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): Strategy(
        default=lambda obj: _default_match(obj["spec"].get("matchResources")),
        prepare_create=start_generation,
        validate_create=validate_binding,
        update=UpdateStrategy(count_spec_changes, lambda new, old: validate_binding(new)),
        unconditional_update=False,
    ),
}
