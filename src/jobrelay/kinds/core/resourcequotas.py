"""Resource quotas: hard limits per namespace, optionally for some scopes of pods only.

Scopes are chosen at creation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import FieldError, Path, invalid, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import IMMUTABLE, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.core.resources import is_quota_name, round_amounts, validate_amount, validate_quota_resource_name
from jobrelay.kinds.generation import keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_COMPUTE: Final = frozenset({"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods"})
_SCOPED: Final = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "CrossNamespacePodAffinity": _COMPUTE,
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXISTS_ONLY: Final = frozenset(
    {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"}
)
_CONFLICTS: Final = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"Terminating", "NotTerminating"}))
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating,"
    " ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def default(quota: Obj) -> None:
    round_amounts(quota["spec"].get("hard"))
    round_amounts(quota["status"].get("hard"))
    round_amounts(quota["status"].get("used"))


def prepare_create(quota: Obj) -> None:
    quota["status"] = {}


def validate(quota: Obj) -> list[FieldError]:
    errors = validate_object_meta(quota["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + _validate_spec(quota["spec"]) + _validate_status(quota["status"])


def _validate_spec(spec: dict[str, Any]) -> list[FieldError]:
    errors = _validate_amounts(spec.get("hard"), _SPEC.child("hard"))
    if spec.get("scopes"):
        errors += _validate_scopes(spec)
    if "scopeSelector" in spec:
        errors += _validate_selector(spec)
    return errors


def _validate_amounts(amounts: dict[str, str] | None, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amount in sorted((amounts or {}).items()):
        errors += validate_quota_resource_name(name, path.key(name)) + validate_amount(name, amount, path.key(name))
    return errors


def _validate_status(status: dict[str, Any]) -> list[FieldError]:
    return [e for name in ("hard", "used") for e in _validate_amounts(status.get(name), _STATUS.child(name))]


def _unfit(scope: str, hard: Iterable[str]) -> int:
    """How many of the resources a scope cannot be applied to."""
    allowed = _SCOPED.get(scope)
    return 0 if allowed is None else sum(is_quota_name(name) and name not in allowed for name in hard)


def _validate_scopes(spec: dict[str, Any]) -> list[FieldError]:
    path, scopes = _SPEC.child("scopes"), spec["scopes"]
    errors: list[FieldError] = []
    for scope in scopes:
        if scope not in _SCOPED:
            errors.append(invalid(path, scopes, "unsupported scope"))
        errors += [invalid(path, scopes, "unsupported scope applied to resource")] * _unfit(
            scope, spec.get("hard") or ()
        )
    return errors + [invalid(path, scopes, "conflicting scopes") for pair in _CONFLICTS if pair <= set(scopes)]


def _validate_selector(spec: dict[str, Any]) -> list[FieldError]:
    path, selector = _SPEC.child("scopeSelector", "matchExpressions"), spec["scopeSelector"]
    errors: list[FieldError] = []
    names: set[str] = set()
    for requirement in selector.get("matchExpressions") or ():
        scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
        values = requirement.get("values") or []
        if scope not in _SCOPED:
            errors.append(invalid(path.child("scopeName"), scope, "unsupported scope"))
        value = struct_value(selector, "io.k8s.api.core.v1.ScopeSelector")
        errors += [invalid(path, value, "unsupported scope applied to resource")] * _unfit(
            scope, spec.get("hard") or ()
        )
        if scope in _EXISTS_ONLY and operator != "Exists":
            errors.append(invalid(path.child("operator"), operator, _MUST_EXIST))
        errors += _validate_operator(operator, values, path)
        names.add(scope)
    return errors + [invalid(path, spec.get("scopes"), "conflicting scopes") for pair in _CONFLICTS if pair <= names]


def _validate_operator(operator: str, values: list[str], path: Path) -> list[FieldError]:
    if operator in ("In", "NotIn"):
        text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        return [] if values else [required(path.child("values"), text)]
    if operator in ("Exists", "DoesNotExist"):
        text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        return [invalid(path.child("values"), values, text)] if values else []
    return [invalid(path.child("operator"), operator, "not a valid selector operator")]


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"]) + _validate_spec(new["spec"])
    if set(new["spec"].get("scopes") or ()) != set(old["spec"].get("scopes") or ()):
        errors.append(invalid(_SPEC.child("scopes"), new["spec"].get("scopes"), IMMUTABLE))
    return errors


def validate_status_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    if not new["metadata"].get("resourceVersion"):
        errors.append(required(Path("resourceVersion")))
    return errors + _validate_status(new["status"])


def warnings(quota: Obj) -> list[str]:
    """Requests above limits can never be used up."""
    hard, texts = quota["spec"].get("hard") or {}, []
    for name in ("cpu", "memory", "storage", "ephemeral-storage"):
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request in hard and limit in hard and quantity.number(hard[request]) > quantity.number(hard[limit]):
            texts.append(f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})")
    return texts


STRATEGIES: Final = {
    ("", "resourcequotas"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(keep_status, validate_update),
        subresources={"status": UpdateStrategy(keep_spec, validate_status_update)},
        reset_fields={"": (("status",),), "status": (("spec",),)},
        delete_returns_object=True,
    )
}
