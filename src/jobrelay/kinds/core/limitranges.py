"""Limit ranges: bounds and defaults for the resources of pods, containers and claims.

For containers, what is not given follows from the rest: a default limit from the maximum, a default request from the
default limit, then from the minimum. The bounds are then checked against each other, resource by resource.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import FieldError, Path, duplicate, forbidden, invalid, required
from jobrelay.apimachinery.meta import validate_object_meta
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.core.checks import qualified_name
from jobrelay.kinds.core.resources import (
    is_overcommittable,
    round_amounts,
    validate_container_resource_name,
    validate_resource_name,
)
from jobrelay.kinds.strategy import Obj, Strategy, Update

TYPES: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_LIMITS: Final = Path("spec.limits")
_REQUEST: Final = "defaultRequest"
_ORDERINGS: Final = (
    # (smaller, larger, field of the error, which one is its value, text)
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", _REQUEST, _REQUEST, _REQUEST, "min value {} is greater than default request value {}"),
    (_REQUEST, "max", _REQUEST, _REQUEST, "default request value {} is greater than max value {}"),
    (_REQUEST, "default", _REQUEST, _REQUEST, "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def default(limit_range: Obj) -> None:
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") == "Container":
            limits = dict(item.get("max") or {}) | (item.get("default") or {})
            requests = dict(item.get("min") or {}) | limits | (item.get("defaultRequest") or {})
            for name, amounts in (("default", limits), ("defaultRequest", requests)):
                if amounts:
                    item[name] = amounts
        for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_amounts(item.get(name))


def prepare_create(limit_range: Obj) -> None:
    if not limit_range["metadata"].get("name"):
        limit_range["metadata"]["name"] = str(uuid.uuid4())


def validate(limit_range: Obj) -> list[FieldError]:
    errors = validate_object_meta(limit_range["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    seen: set[str] = set()
    for i, item in enumerate(limit_range["spec"].get("limits") or ()):
        path, kind = _LIMITS.index(i), item.get("type", "")
        errors += _validate_type(kind, path.child("type"))
        if kind in seen:
            errors.append(duplicate(path.child("type"), kind))
        seen.add(kind)
        errors += _validate_item(item, kind, path)
    return errors


def _validate_type(kind: str, path: Path) -> list[FieldError]:
    errors = qualified_name(kind, path)
    if not errors and "/" not in kind and kind not in TYPES:
        errors.append(invalid(path, kind, "must be a standard limit type or fully qualified"))
    return errors


def _validate_item(item: dict[str, Any], kind: str, path: Path) -> list[FieldError]:
    check = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    errors = _validate_names(item, ("max", "min"), check, path)
    if kind == "Pod":
        for name in ("default", "defaultRequest"):
            if item.get(name):
                errors.append(forbidden(path.child(name), "may not be specified when `type` is 'Pod'"))
    else:
        errors += _validate_names(item, ("default", "defaultRequest"), check, path)
    if kind == "PersistentVolumeClaim" and not any("storage" in (item.get(name) or {}) for name in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(path.child("limits"), text))
    errors += _validate_names(item, ("maxLimitRequestRatio",), check, path)
    counted = ["max", "min", "maxLimitRequestRatio"] + (["default", "defaultRequest"] if kind != "Pod" else [])
    resources = sorted({resource for name in counted for resource in item.get(name) or ()})
    for resource in resources:
        amounts = {name: item[name][resource] for name in counted if resource in (item.get(name) or {})}
        errors += _validate_bounds(amounts, resource, path)
    return errors


def _validate_names(
    item: dict[str, Any], fields: tuple[str, ...], check: Callable[[str, Path], list[FieldError]], path: Path
) -> list[FieldError]:
    return [
        error
        for name in fields
        for key in sorted(item.get(name) or ())
        for error in check(key, path.child(name).key(key))
    ]


def _validate_bounds(amounts: dict[str, str], resource: str, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    numbers = {name: quantity.number(text) for name, text in amounts.items()}
    for smaller, larger, field, value, text in _ORDERINGS:
        if smaller in numbers and larger in numbers and numbers[smaller] > numbers[larger]:
            at = path.child(field).key(resource)
            errors.append(invalid(at, amounts[value], text.format(amounts[smaller], amounts[larger])))
    ratio, at = numbers.get("maxLimitRequestRatio"), path.child("maxLimitRequestRatio").key(resource)
    shown = amounts.get("maxLimitRequestRatio", "")
    if ratio is not None and ratio < 1:
        errors.append(invalid(at, shown, f"ratio {shown} is less than 1"))
    if ratio is not None and "min" in numbers and "max" in numbers:
        limit = float(numbers["max"] / numbers["min"]) if numbers["min"] else float("inf")
        if float(ratio) > limit:
            errors.append(invalid(at, shown, f"ratio {shown} is greater than max/min = {limit:f}"))
    if not is_overcommittable(resource) and "default" in numbers and "defaultRequest" in numbers:
        limit_text, request_text = amounts["default"], amounts["defaultRequest"]
        if numbers["default"] != numbers["defaultRequest"]:
            text = f"default value {limit_text} must equal to defaultRequest value {request_text} in {resource}"
            errors.append(invalid(path.child("defaultRequest").key(resource), request_text, text))
    return errors


STRATEGIES: Final = {
    ("", "limitranges"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        update=Update(validate=lambda new, old: validate(new)),
        create_on_update=True,
    )
}
