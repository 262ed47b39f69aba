"""FlowSchemas: which requests belong to which priority level. Checked, not enforced."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_object_meta
from jobrelay.apimachinery.names import is_dns1123_label, name_is_dns_subdomain
from jobrelay.kinds.core.checks import dns_label, dns_subdomain, lone_wildcard
from jobrelay.kinds.flowcontrol.common import GROUP, SPEC, strategy, validate_conditions
from jobrelay.kinds.strategy import Obj, Strategy

VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
MAX_PRECEDENCE: Final = 10000
_ANYTHING: Final = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_MANDATORY_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": [{"kind": "Group", "group": {"name": "system:masters"}}], **_ANYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": MAX_PRECEDENCE,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [
                    {"kind": "Group", "group": {"name": "system:unauthenticated"}},
                    {"kind": "Group", "group": {"name": "system:authenticated"}},
                ],
                **_ANYTHING,
            }
        ],
    },
}


def default_schema(obj: Obj) -> None:
    if not obj["spec"].get("matchingPrecedence"):
        obj["spec"]["matchingPrecedence"] = 1000


def validate_schema(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    name, spec = obj["metadata"].get("name", ""), obj["spec"]
    errors += _validate_precedence(name, spec["matchingPrecedence"])
    method = spec.get("distinguisherMethod")
    if method is not None and method["type"] not in ("ByNamespace", "ByUser"):
        shown = struct_value(method, "io.k8s.api.flowcontrol.v1.FlowDistinguisherMethod")
        errors.append(not_supported(SPEC.child("distinguisherMethod", "type"), shown, ("ByNamespace", "ByUser")))
    level, path = spec["priorityLevelConfiguration"]["name"], SPEC.child("priorityLevelConfiguration", "name")
    errors += dns_subdomain(level, path) if level else [required(path, "must reference a priority level")]
    for i, rule in enumerate(spec.get("rules") or ()):
        errors += _validate_rule(rule, SPEC.child("rules").index(i))
    if name in _MANDATORY_SCHEMAS and spec != _MANDATORY_SCHEMAS[name]:
        shown = struct_value(spec, "io.k8s.api.flowcontrol.v1.FlowSchemaSpec")
        errors.append(invalid(SPEC, shown, f"spec of '{name}' must equal the fixed value"))
    return errors + validate_conditions(obj)


def _validate_precedence(name: str, value: int) -> list[FieldError]:
    path = SPEC.child("matchingPrecedence")
    if value <= 0:
        return [invalid(path, value, "must be a positive value")]
    if value > MAX_PRECEDENCE:
        return [invalid(path, value, f"must not be greater than {MAX_PRECEDENCE}")]
    if value == 1 and name != "exempt":
        return [invalid(path, value, "only the schema named 'exempt' may have matchingPrecedence 1")]
    return []


def _validate_rule(rule: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    subjects = rule.get("subjects") or []
    if not subjects:
        errors.append(required(path.child("subjects"), "subjects must contain at least one value"))
    for i, subject in enumerate(subjects):
        errors += _validate_subject(subject, path.child("subjects").index(i))
    resources, urls = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not urls:
        errors.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for i, entry in enumerate(resources):
        errors += _validate_resource_rule(entry, path.child("resourceRules").index(i))
    for i, entry in enumerate(urls):
        errors += _validate_url_rule(entry, path.child("nonResourceRules").index(i))
    return errors


def _validate_subject(subject: dict[str, Any], path: Path) -> list[FieldError]:
    kind = subject["kind"]
    if kind not in SUBJECTS:
        return [not_supported(path.child("kind"), kind, tuple(SUBJECTS))]
    field = SUBJECTS[kind]
    value = subject.get(field)
    if value is None:
        errors = [required(path.child(field), f"{field} is required when subject kind is '{kind}'")]
    else:
        errors = _validate_subject_names(value, path.child(field), account=kind == "ServiceAccount")
    for other in ("ServiceAccount", "User", "Group"):
        name = SUBJECTS[other]
        if other != kind and subject.get(name) is not None:
            errors.append(forbidden(path.child(name), f"{name} is forbidden when subject kind is not '{other}'"))
    return errors


def _validate_subject_names(value: dict[str, Any], path: Path, *, account: bool) -> list[FieldError]:
    name = value["name"]
    errors = [] if name else [required(path.child("name"))]
    if not account:
        return errors
    if name and name != "*":
        errors += dns_subdomain(name, path.child("name"))
    if not value["namespace"]:
        return [*errors, required(path.child("namespace"), "must specify namespace for service account")]
    return errors + dns_label(value["namespace"], path.child("namespace"))


def _validate_verbs(verbs: list[str], path: Path) -> list[FieldError]:
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return lone_wildcard(verbs, path, "verbs")
    return [] if set(verbs) <= set(VERBS) else [not_supported(path, verbs, VERBS)]


def _validate_resource_rule(rule: dict[str, Any], path: Path) -> list[FieldError]:
    errors = _validate_verbs(rule.get("verbs") or [], path.child("verbs"))
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(field) or []
        if values:
            errors += lone_wildcard(values, path.child(field), many)
        else:
            errors.append(required(path.child(field), f"resource rules must supply at least one {one}"))
    namespaces, place = rule.get("namespaces") or [], path.child("namespaces")
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        return [*errors, required(place, text)]
    if "*" in namespaces:
        return errors + lone_wildcard(namespaces, place, "namespaces")
    for i, namespace in enumerate(namespaces):
        for text in is_dns1123_label(namespace):
            detail = f"each member of this list must be '*' or a DNS-1123 label; {text}"
            errors.append(invalid(place.index(i), namespace, detail))
    return errors


def _validate_url_rule(rule: dict[str, Any], path: Path) -> list[FieldError]:
    errors = _validate_verbs(rule.get("verbs") or [], path.child("verbs"))
    urls, place = rule.get("nonResourceURLs") or [], path.child("nonResourceURLs")
    if not urls:
        return [*errors, required(place, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        return errors + lone_wildcard(urls, place, "non-resource URLs")
    for i, url in enumerate(urls):
        if text := _url_error(url):
            errors.append(invalid(place.index(i), url, text))
    return errors


def _url_error(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    return "wildcard can only do suffix matching" if stars > 1 or (stars == 1 and not url.endswith("/*")) else ""


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {(GROUP, "flowschemas"): strategy(default_schema, validate_schema)}
