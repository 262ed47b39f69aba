"""Resource names and amounts: which names are known, what may be counted, how amounts are rounded.

A name without a slash must be a standard one; which ones depends on where it stands (a container, a quota, a node).
Names with a slash outside kubernetes.io are extended resources and counted in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import FieldError, Path, invalid
from jobrelay.apimachinery.names import is_qualified_name
from jobrelay.kinds.core.checks import qualified_name

COUNTED: Final = frozenset({
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
    "services.nodeports", "services.loadbalancers",
})  # fmt: skip
CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
QUOTA: Final = COUNTED | CONTAINER | {
    "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage", "limits.cpu", "limits.memory",
    "limits.ephemeral-storage",
}  # fmt: skip
STANDARD: Final = QUOTA | {"storage"}
_HUGE_PAGES: Final = ("hugepages-", "requests.hugepages-")


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not is_qualified_name(f"requests.{name}")


def is_overcommittable(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


def is_quota_name(name: str) -> bool:
    return name in QUOTA or name.startswith(_HUGE_PAGES)


def validate_resource_name(name: str, path: Path) -> list[FieldError]:
    errors = qualified_name(name, path)
    if not errors and "/" not in name and name not in STANDARD and not name.startswith(_HUGE_PAGES):
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def validate_container_resource_name(name: str, path: Path) -> list[FieldError]:
    errors = validate_resource_name(name, path)
    if "/" not in name:
        if name not in CONTAINER and not is_huge_page(name):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def validate_quota_resource_name(name: str, path: Path) -> list[FieldError]:
    errors = validate_resource_name(name, path)
    if "/" not in name and not is_quota_name(name):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def validate_amount(name: str, amount: str, path: Path) -> list[FieldError]:
    """Not negative, and whole where the resource is counted."""
    errors: list[FieldError] = []
    if quantity.number(amount) < 0:
        errors.append(invalid(path, amount, "must be greater than or equal to 0"))
    if (name in COUNTED or is_extended(name)) and is_fractional(amount):
        errors.append(invalid(path, amount, "must be an integer"))
    return errors


def validate_positive(amount: str, path: Path) -> list[FieldError]:
    return [invalid(path, amount, "must be greater than zero")] if quantity.number(amount) <= 0 else []


def validate_basic_amount(amount: str, path: Path) -> list[FieldError]:
    number = quantity.number(amount)
    return [invalid(path, math.floor(number), "must be a valid resource quantity")] if number < 0 else []


def is_fractional(amount: str) -> bool:
    """Whether an amount, counted in thousandths, is not a whole number."""
    return whole(quantity.number(amount) * 1000) % 1000 != 0


def whole(number: Fraction) -> int:
    """Rounded to a whole number, away from zero."""
    return math.ceil(number) if number >= 0 else math.floor(number)


def round_amounts(amounts: dict[str, str] | None) -> None:
    """Nothing finer than a thousandth is kept in a list of resources."""
    for name, amount in (amounts or {}).items():
        parsed = quantity.parse(amount)
        if (parsed.value * 1000).denominator != 1 and amounts is not None:
            amounts[name] = str(quantity.Quantity(Fraction(whole(parsed.value * 1000), 1000), parsed.format))


def number_of(amounts: Mapping[str, str] | None, name: str) -> Fraction:
    """An amount in a list of resources; nothing is zero."""
    amount = (amounts or {}).get(name)
    return quantity.number(amount) if amount is not None else Fraction(0)
