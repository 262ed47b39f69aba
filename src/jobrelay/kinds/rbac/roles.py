"""Roles and bindings. Evaluation of rules is in `rules`; the policy of a new cluster in `kinds.bootstrap`.

Names may be any path segment (`system:node` is one). A binding never changes the role that it refers to.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid, not_supported, one_of, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_label_selector, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain, name_is_path_segment
from jobrelay.apimachinery.selectors import SelectorError, selector_from_object
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

GROUP: Final = "rbac.authorization.k8s.io"
_ROLE_REF: Final = Path("roleRef")
_SELECTORS: Final = Path("aggregationRule.clusterRoleSelectors")
SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")


def default_binding(binding: Obj) -> None:
    binding["roleRef"]["apiGroup"] = binding["roleRef"].get("apiGroup") or GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


def name_fn(name: str, prefix: bool) -> list[str]:
    return name_is_path_segment(name, False)


def validate_rules(rules: list[dict[str, Any]] | None, *, namespaced: bool) -> list[FieldError]:
    return [error for i, rule in enumerate(rules or ()) for error in _rule(rule, namespaced, Path("rules").index(i))]


def _rule(rule: dict[str, Any], namespaced: bool, path: Path) -> list[FieldError]:
    errors = [] if rule.get("verbs") else [required(path.child("verbs"), "verbs must contain at least one value")]
    if urls := rule.get("nonResourceURLs"):
        at = path.child("nonResourceURLs")
        if namespaced:
            errors.append(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            errors.append(invalid(at, urls, "rules cannot apply to both regular resources and non-resource URLs"))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(path.child("apiGroups"), "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(path.child("resources"), "resource rules must supply at least one resource"))
    return errors


def validate_role(role: Obj) -> list[FieldError]:
    errors = validate_object_meta(role["metadata"], namespaced=True, name_fn=name_fn)
    return errors + validate_rules(role.get("rules"), namespaced=True)


def validate_role_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_role(new) + validate_object_meta_update(new["metadata"], old["metadata"])


def validate_cluster_role(role: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(role["metadata"], namespaced=False, name_fn=name_fn)
    errors += validate_rules(role.get("rules"), namespaced=False)
    if "aggregationRule" not in role:
        return errors
    lenient = any(validate_label_selector(selector, _SELECTORS) for selector in _role_selectors(old or {}))
    selectors = _role_selectors(role)
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(required(_SELECTORS, text))
    for i, selector in enumerate(selectors):
        errors += validate_label_selector(selector, _SELECTORS.index(i), allow_invalid_values=lenient)
        try:
            selector_from_object(selector)
        except SelectorError:
            errors.append(invalid(_SELECTORS.index(i), None, "invalid label selector."))
    return errors


def _role_selectors(role: Obj) -> list[dict[str, Any]]:
    return (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []


def validate_cluster_role_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_cluster_role(new, old) + validate_object_meta_update(new["metadata"], old["metadata"])


def validate_binding(binding: Obj, *, namespaced: bool) -> list[FieldError]:
    errors = validate_object_meta(binding["metadata"], namespaced=namespaced, name_fn=name_fn)
    reference = binding["roleRef"]
    group, kind, name = (reference.get(field, "") for field in ("apiGroup", "kind", "name"))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if group != GROUP:
        errors.append(not_supported(_ROLE_REF.child("apiGroup"), group, [GROUP]))
    errors += one_of(_ROLE_REF.child("kind"), kind, kinds)
    at = _ROLE_REF.child("name")
    errors += [invalid(at, name, text) for text in name_fn(name, False)] if name else [required(at)]
    for i, subject in enumerate(binding.get("subjects") or ()):
        errors += _subject(subject, Path("subjects").index(i), namespaced)
    return errors


def _subject(subject: dict[str, Any], path: Path, namespaced: bool) -> list[FieldError]:
    kind, name, group = (subject.get(field, "") for field in ("kind", "name", "apiGroup"))
    errors = [] if name else [required(path.child("name"))]
    if kind == "ServiceAccount":
        if name:
            errors += [invalid(path.child("name"), name, text) for text in name_is_dns_subdomain(name, False)]
        if group:
            errors.append(not_supported(path.child("apiGroup"), group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(path.child("namespace")))
    elif kind not in SUBJECT_KINDS:
        errors.append(not_supported(path.child("kind"), kind, SUBJECT_KINDS))
    elif group != GROUP:
        errors.append(not_supported(path.child("apiGroup"), group, [GROUP]))
    return errors


def validate_binding_update(new: Obj, old: Obj, *, namespaced: bool) -> list[FieldError]:
    errors = validate_binding(new, namespaced=namespaced)
    errors += validate_object_meta_update(new["metadata"], old["metadata"])
    if new["roleRef"] != old["roleRef"]:
        value = struct_value(new["roleRef"], "io.k8s.api.rbac.v1.RoleRef")
        errors.append(invalid(_ROLE_REF, value, "cannot change roleRef"))
    return errors


def _binding_strategy(*, namespaced: bool) -> Strategy:
    return Strategy(
        default=default_binding,
        validate_create=lambda binding: validate_binding(binding, namespaced=namespaced),
        update=UpdateStrategy(validate=lambda new, old: validate_binding_update(new, old, namespaced=namespaced)),
        create_on_update=True,
    )


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    (GROUP, "roles"): Strategy(
        validate_create=validate_role, update=UpdateStrategy(validate=validate_role_update), create_on_update=True
    ),
    (GROUP, "clusterroles"): Strategy(
        validate_create=validate_cluster_role,
        update=UpdateStrategy(validate=validate_cluster_role_update),
        create_on_update=True,
    ),
    (GROUP, "rolebindings"): _binding_strategy(namespaced=True),
    (GROUP, "clusterrolebindings"): _binding_strategy(namespaced=False),
}
