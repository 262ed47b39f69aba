"""FlowSchemas and PriorityLevelConfigurations: how the API server shares itself out. Checked, but not enforced."""

from __future__ import annotations

import math
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, duplicate, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_object_meta
from jobrelay.apimachinery.names import is_dns1123_label, name_is_dns_subdomain
from jobrelay.kinds.core.checks import dns_label, dns_subdomain
from jobrelay.kinds.generation import bump_generation, keep, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, Update

GROUP: Final = "flowcontrol.apiserver.k8s.io"
VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
MAX_PRECEDENCE: Final = 10000
MAX_QUEUES: Final = 10**7
MAX_HASH_BITS: Final = 60
ZERO_SHARES: Final = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"
_SPEC: Final = Path("spec")
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
_CATCH_ALL_LEVEL: Final[dict[str, Any]] = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
}


def prepare_create(obj: Obj) -> None:
    obj["status"] = {}
    start_generation(obj)


def prepare_update(new: Obj, old: Obj) -> None:
    bump_generation(new, old, changed=new["spec"] != old["spec"])
    keep(new, old, "status")


def prepare_status(new: Obj, old: Obj) -> None:
    kept = {name: new["metadata"][name] for name in ("managedFields", "resourceVersion") if name in new["metadata"]}
    new["metadata"] = {**old["metadata"], **kept}
    keep(new, old, "spec")


def _validate_conditions(obj: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        path, kind = Path("status.conditions").index(i).child("type"), condition.get("type", "")
        errors += [duplicate(path, kind)] if kind in seen else []
        seen.add(kind)
        errors += [] if kind else [required(path)]
    return errors


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
        errors.append(not_supported(_SPEC.child("distinguisherMethod", "type"), shown, ("ByNamespace", "ByUser")))
    level, path = spec["priorityLevelConfiguration"]["name"], _SPEC.child("priorityLevelConfiguration", "name")
    errors += dns_subdomain(level, path) if level else [required(path, "must reference a priority level")]
    for i, rule in enumerate(spec.get("rules") or ()):
        errors += _validate_rule(rule, _SPEC.child("rules").index(i))
    if name in _MANDATORY_SCHEMAS and spec != _MANDATORY_SCHEMAS[name]:
        shown = struct_value(spec, "io.k8s.api.flowcontrol.v1.FlowSchemaSpec")
        errors.append(invalid(_SPEC, shown, f"spec of '{name}' must equal the fixed value"))
    return errors + _validate_conditions(obj)


def _validate_precedence(name: str, value: int) -> list[FieldError]:
    path = _SPEC.child("matchingPrecedence")
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
        return _lone_wildcard(verbs, path, "verbs")
    return [] if set(verbs) <= set(VERBS) else [not_supported(path, verbs, VERBS)]


def _lone_wildcard(values: list[str], path: Path, words: str) -> list[FieldError]:
    alone = "*" not in values or len(values) == 1
    return [] if alone else [invalid(path, values, f"if '*' is present, must not specify other {words}")]


def _validate_resource_rule(rule: dict[str, Any], path: Path) -> list[FieldError]:
    errors = _validate_verbs(rule.get("verbs") or [], path.child("verbs"))
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(field) or []
        if values:
            errors += _lone_wildcard(values, path.child(field), many)
        else:
            errors.append(required(path.child(field), f"resource rules must supply at least one {one}"))
    namespaces, place = rule.get("namespaces") or [], path.child("namespaces")
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        return [*errors, required(place, text)]
    if "*" in namespaces:
        return errors + _lone_wildcard(namespaces, place, "namespaces")
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
        return errors + _lone_wildcard(urls, place, "non-resource URLs")
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


def default_level(obj: Obj) -> None:
    spec = obj["spec"]
    exempt, limited = spec.get("exempt"), spec.get("limited")
    for level, shares in ((exempt, 0), (limited, 30)):
        for name, value in (("nominalConcurrencyShares", shares), ("lendablePercent", 0)):
            if level is not None and level.get(name) is None:
                level[name] = value
    queuing = limited["limitResponse"].get("queuing") if limited is not None else None
    if queuing is not None:
        for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            queuing[name] = queuing.get(name) or value


def validate_level(obj: Obj) -> list[FieldError]:
    metadata, spec = obj["metadata"], obj["spec"]
    errors = validate_object_meta(metadata, namespaced=False, name_fn=name_is_dns_subdomain)
    if ZERO_SHARES in (metadata.get("annotations") or {}):
        errors.append(forbidden(Path("metadata.annotations"), f"annotation '{ZERO_SHARES}' is forbidden"))
    name = metadata.get("name", "")
    if (name == "exempt") != (spec["type"] == "Exempt"):
        text = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.append(invalid(_SPEC.child("type"), spec["type"], text))
    errors += _validate_level_spec(spec)
    shown = struct_value(spec, "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec")
    if name == "exempt" and {key: spec[key] for key in spec if key != "exempt"} != {"type": "Exempt"}:
        text = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
        errors.append(invalid(_SPEC, shown, text))
    if name == "catch-all" and spec != _CATCH_ALL_LEVEL:
        errors.append(invalid(_SPEC, shown, f"spec of '{name}' must equal the fixed value"))
    return errors + _validate_conditions(obj)


def _validate_level_spec(spec: dict[str, Any]) -> list[FieldError]:
    kind, limited, exempt = spec["type"], spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        path = _SPEC.child("limited")
        errors = [forbidden(path, "must be nil if the type is not Limited")] if limited is not None else []
        return errors + (_validate_shares(exempt, _SPEC.child("exempt")) if exempt is not None else [])
    if kind != "Limited":
        return [not_supported(_SPEC.child("type"), kind, ("Exempt", "Limited"))]
    path = _SPEC.child("exempt")
    errors = [forbidden(path, "must be nil if the type is Limited")] if exempt is not None else []
    if limited is None:
        return [*errors, required(_SPEC.child("limited"), "must not be empty when type is Limited")]
    return errors + _validate_limited(limited, _SPEC.child("limited"))


def _validate_shares(level: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if level["nominalConcurrencyShares"] < 0:
        shares = path.child("nominalConcurrencyShares")
        errors.append(invalid(shares, level["nominalConcurrencyShares"], "must be a non-negative integer"))
    return errors + _validate_lendable(level, path)


def _validate_lendable(level: dict[str, Any], path: Path) -> list[FieldError]:
    percent = level["lendablePercent"]
    if 0 <= percent <= 100:
        return []
    return [invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")]


def _validate_limited(limited: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    shares = limited["nominalConcurrencyShares"]
    if shares < 0:
        errors.append(invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer"))
    errors += _validate_response(limited["limitResponse"], path.child("limitResponse"))
    errors += _validate_lendable(limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        text = "if specified, must be a non-negative integer"
        errors.append(invalid(path.child("borrowingLimitPercent"), borrowing, text))
    return errors


def _validate_response(response: dict[str, Any], path: Path) -> list[FieldError]:
    kind, queuing, place = response["type"], response.get("queuing"), path.child("queuing")
    if kind == "Reject":
        text = "must be nil if limited.limitResponse.type is not Limited"
        return [forbidden(place, text)] if queuing is not None else []
    if kind != "Queue":
        return [not_supported(path.child("type"), kind, ("Queue", "Reject"))]
    if queuing is None:
        return [required(place, "must not be empty if limited.limitResponse.type is Limited")]
    return _validate_queuing(queuing, place)


def _validate_queuing(queuing: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    queues, hand, length = queuing["queues"], queuing["handSize"], queuing["queueLengthLimit"]
    if length <= 0:
        errors.append(invalid(path.child("queueLengthLimit"), length, "must be positive"))
    if queues <= 0:
        errors.append(invalid(path.child("queues"), queues, "must be positive"))
    elif queues > MAX_QUEUES:
        errors.append(invalid(path.child("queues"), queues, f"must not be greater than {MAX_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(path.child("handSize"), hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(path.child("handSize"), hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > MAX_HASH_BITS:
        text = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        )
        errors.append(invalid(path.child("handSize"), hand, text))
    return errors


_STATUS: Final = Update(prepare_status, lambda new, old: _validate_conditions(new))
_RESET: Final = {"": (("status",),), "status": (("metadata",), ("spec",))}

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    (GROUP, "flowschemas"): Strategy(
        default=default_schema,
        prepare_create=prepare_create,
        validate_create=validate_schema,
        update=Update(prepare_update, lambda new, old: validate_schema(new)),
        subresources={"status": _STATUS},
        reset_fields=_RESET,
    ),
    (GROUP, "prioritylevelconfigurations"): Strategy(
        default=default_level,
        prepare_create=prepare_create,
        validate_create=validate_level,
        update=Update(prepare_update, lambda new, old: validate_level(new)),
        subresources={"status": _STATUS},
        reset_fields=_RESET,
    ),
}
