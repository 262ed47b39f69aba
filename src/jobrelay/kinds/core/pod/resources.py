"""Resource requests, limits and claims of containers and whole pods: checks, sums and the QoS class."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import FieldError, Path, duplicate, forbidden, invalid, not_supported, required
from jobrelay.kinds.core.checks import dns_label
from jobrelay.kinds.core.pod.common import Errors, Fields, is_sidecar
from jobrelay.kinds.core.resources import (
    COUNTED,
    is_extended,
    is_huge_page,
    is_overcommittable,
    validate_container_resource_name,
    validate_resource_name,
)

Resources = Mapping[str, str]
_COMPUTE: Final = frozenset({"cpu", "memory"})


def is_pod_level(name: str) -> bool:
    return name in _COMPUTE or is_huge_page(name)


def _pod_resource_name(name: str, path: Path) -> Errors:
    errors = validate_resource_name(name, path)
    if not errors and not is_pod_level(name):
        errors.append(not_supported(path, name, ("cpu", "hugepages-", "memory")))
    return errors


def validate_resource_quantity(name: str, value: str, path: Path) -> Errors:
    """A quantity is not negative, and whole where only whole ones make sense."""
    number = quantity.number(value)
    errors = [invalid(path, value, "must be greater than or equal to 0")] if number < 0 else []
    if (name in COUNTED or is_extended(name)) and number.denominator != 1:
        errors.append(invalid(path, value, "must be an integer"))
    return errors


def _huge_page_value(name: str, value: str, path: Path) -> Errors:
    try:
        page = quantity.number(name.removeprefix("hugepages-"))
    except quantity.QuantityError:
        page = Fraction(0)
    if page > 0 and page.denominator == 1 and -(-quantity.number(value) // 1) % page == 0:
        return []
    return [invalid(path, value, f"{value} is not positive integer multiple of {name}")]


def validate_container_resources(resources: Fields, claim_names: set[str], path: Path) -> Errors:
    if not resources:
        return []
    return _validate_requirements(resources, validate_container_resource_name, claim_names, path)


def _validate_requirements(
    resources: Fields, name_check: Callable[[str, Path], Errors], claim_names: set[str], path: Path
) -> Errors:
    errors: Errors = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for which, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            at = path.child(which).key(name)
            if not _plainly_good(name, value):
                errors += name_check(name, at) + validate_resource_quantity(name, value, at)
            if which == "requests" and value != limits.get(name):
                errors += _request_fits_limit(name, value, limits.get(name), path)
            if is_huge_page(name):
                errors += _huge_page_value(name, value, at)
    named = {*limits, *requests}
    if not named & _COMPUTE and any(map(is_huge_page, named)):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors + _validate_claims(resources.get("claims") or (), claim_names, path.child("claims"))


@functools.lru_cache(1024)
def _plainly_good(name: str, value: str) -> bool:
    """A shortcut for nearly all amounts of nearly all containers."""
    return name in _COMPUTE and quantity.number(value) >= 0


def _request_fits_limit(name: str, value: str, limit: str | None, path: Path) -> Errors:
    if limit is None:
        if is_overcommittable(name):
            return []
        return [required(path.child("limits"), "Limit must be set for non overcommitable resources")]
    order = _compared(value, limit)
    if order and not is_overcommittable(name):
        return [invalid(path.child("requests"), value, f"must be equal to {name} limit of {limit}")]
    if order > 0:
        return [invalid(path.child("requests"), value, f"must be less than or equal to {name} limit of {limit}")]
    return []


@functools.lru_cache(1024)
def _compared(left: str, right: str) -> int:
    """Negative, zero or positive, as the left amount is less than, equal to or more than the right one."""
    difference = quantity.number(left) - quantity.number(right)
    return (difference > 0) - (difference < 0)


def _validate_claims(claims: Iterable[Fields], claim_names: set[str], path: Path) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        at = path.index(i)
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(at))
            continue
        if name in seen:
            errors.append(duplicate(at, name))
        else:
            if request:
                errors += dns_label(request, at.child("request"))
            key = f"{name}/{request}" if request else name
            if key in seen:
                errors.append(duplicate(at, key))
            elif not request:
                errors += [duplicate(at, name) for other in sorted(seen) if other.partition("/")[0] == name]
            seen.add(key)
        if name not in claim_names:
            known = ": " + ", ".join(sorted(claim_names)) if claim_names else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{known}"
            errors.append(FieldError("FieldValueNotFound", str(at), name, detail))
    return errors


def validate_pod_resources(spec: Fields, claim_names: set[str], path: Path) -> Errors:
    """Requests and limits of the pod as a whole, and that its containers stay within them."""
    resources = spec.get("resources")
    if resources is None:
        return []
    at = path.child("resources")
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    errors: Errors = []
    if resources.get("claims") is not None:
        errors.append(forbidden(at.child("claims"), "claims may not be set for Resources at pod-level"))
    errors += _validate_requirements(resources, _pod_resource_name, claim_names, at)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, total in sum_of_containers(spec, "requests").items():
        if name in requests and total.value > quantity.number(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(at.child("requests").key(name), requests[name], detail))
    for name, total in sum_of_containers(spec, "limits").items():
        if is_huge_page(name) and name in limits and total.value > quantity.number(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(at.child("limits").key(name), limits[name], detail))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in (container.get("resources", {}).get("limits") or {}).items():
            if name in limits and quantity.number(limit) > quantity.number(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(invalid(at.child("containers").index(i).key(name).child("limits"), limit, detail))
    return errors


def _add(total: dict[str, quantity.Quantity], more: Mapping[str, quantity.Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _parsed(container: Fields, which: str) -> dict[str, quantity.Quantity]:
    listed = (container.get("resources") or {}).get(which) or {}
    return {name: quantity.parse(value) for name, value in listed.items()}


def sum_of_containers(spec: Fields, which: str) -> dict[str, quantity.Quantity]:
    """What the containers need together: the running ones and sidecars, or the hungriest init container before them."""
    total: dict[str, quantity.Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _parsed(container, which))
    sidecars: dict[str, quantity.Quantity] = {}
    peak: dict[str, quantity.Quantity] = {}
    for container in spec.get("initContainers") or ():
        needs = _parsed(container, which)
        if is_sidecar(container):
            _add(total, needs)
            _add(sidecars, needs)
            needs = sidecars
        else:
            _add(needs, sidecars)
        _raise_to(peak, needs)
    _raise_to(total, peak)
    return total


def total_requests(spec: Fields) -> dict[str, Fraction]:
    """The resources that a pod requests: the sum of its containers or its pod-level requests, plus its overhead."""
    total = {name: amount.value for name, amount in sum_of_containers(spec, "requests").items()}
    for name, text in ((spec.get("resources") or {}).get("requests") or {}).items():
        total[name] = quantity.number(text)
    for name, text in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, Fraction(0)) + quantity.number(text)
    return {name: amount for name, amount in total.items() if amount}


def _raise_to(total: dict[str, quantity.Quantity], other: Mapping[str, quantity.Quantity]) -> None:
    for name, amount in other.items():
        if name not in total or amount.value > total[name].value:
            total[name] = amount


def _positive_compute(listed: Resources | None) -> dict[str, Fraction]:
    numbers = {name: quantity.number(value) for name, value in (listed or {}).items() if name in _COMPUTE}
    return {name: value for name, value in numbers.items() if value > 0}


def qos_class(spec: Fields) -> str:
    """Guaranteed, Burstable or BestEffort."""
    requests: dict[str, Fraction] = {}
    limits: dict[str, Fraction] = {}
    guaranteed = True
    holders: list[dict[str, Any]]
    if spec.get("resources") is not None:
        holders = [spec["resources"]]
    else:
        listed = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        holders = [container.get("resources") or {} for container in listed]
    for holder in holders:
        own = _positive_compute(holder.get("limits"))
        for total, part in ((requests, _positive_compute(holder.get("requests"))), (limits, own)):
            for name, value in part.items():
                total[name] = total.get(name, Fraction(0)) + value
        if own.keys() != _COMPUTE and not (spec.get("resources") is not None and not holder.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"
