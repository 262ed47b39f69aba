"""Checks of ClusterQueues and Cohorts beyond their schemas: quotas, limits, names that occur twice, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, duplicate, invalid, not_supported
from jobrelay.apimachinery.meta import validate_label_selector
from jobrelay.apimachinery.names import is_qualified_name
from jobrelay.apimachinery.quantity import QuantityError, canonical, number

_SPEC: Final = Path("spec")
_GROUPS: Final = _SPEC.child("resourceGroups")
_NEGATIVE: Final = "must be greater than or equal to 0"
_MOST: Final = 256
_MOST_PAIRS: Final = 512
_SMALLEST_WEIGHT: Final = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class _Rules:
    """What holds for the limits of a node of the tree; `parent` is what the node above it is called."""

    parent: str
    has_parent: bool
    lends_at_most_nominal: bool


def check_cluster_queue(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[FieldError]:
    """The errors of a ClusterQueue."""
    spec = new.get("spec") or {}
    groups = spec.get("resourceGroups") or []
    rules = _Rules("cohort", bool(spec.get("cohortName")), lends_at_most_nominal=True)
    return [
        *_check_groups(groups, rules),
        *validate_label_selector(spec.get("namespaceSelector"), _SPEC.child("namespaceSelector")),
        *_check_weight(spec),
        *_check_sizes(groups),
        *_check_flavors_of_checks(spec, (old or {}).get("spec") or {}),
    ]


def check_cohort(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[FieldError]:
    """The errors of a Cohort."""
    spec = new.get("spec") or {}
    rules = _Rules("parent", bool(spec.get("parentName") or spec.get("parent")), lends_at_most_nominal=False)
    return [*_check_weight(spec), *_check_groups(spec.get("resourceGroups") or [], rules)]


def _check_weight(spec: Mapping[str, Any]) -> list[FieldError]:
    weight = (spec.get("fairSharing") or {}).get("weight")
    value = _number(weight)
    if value is None:
        return []
    if value < 0:
        return [invalid(_SPEC.child("fairSharing"), canonical(str(weight)), _NEGATIVE)]
    if 0 < value <= _SMALLEST_WEIGHT:
        detail = "When not 0, weight must be > 10e-9"
        return [invalid(_SPEC.child("fairSharing"), canonical(str(weight)), detail)]
    return []


def _check_groups(groups: Sequence[Mapping[str, Any]], rules: _Rules) -> Iterator[FieldError]:
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(groups):
        path, covered = _GROUPS.index(index), group.get("coveredResources") or []
        for at, name in enumerate(covered):
            where = path.child("coveredResources").index(at)
            yield from (invalid(where, name, text) for text in is_qualified_name(name))
            if name in resources:
                yield duplicate(where, name)
            resources.add(name)
        for at, flavor in enumerate(group.get("flavors") or []):
            where = path.child("flavors").index(at)
            yield from _check_quotas(flavor.get("resources") or [], covered, rules, where)
            if flavor.get("name") in flavors:
                yield duplicate(where.child("name"), flavor["name"])
            flavors.add(flavor.get("name", ""))


def _check_quotas(
    quotas: Sequence[Mapping[str, Any]], covered: Sequence[str], rules: _Rules, path: Path
) -> Iterator[FieldError]:
    for index, (quota, expected) in enumerate(zip(quotas, covered, strict=False)):
        where = path.child("resources").index(index)
        if quota.get("name") != expected:
            yield invalid(where.child("name"), quota.get("name"), "must match the name in coveredResources")
        yield from _check_not_negative(quota, "nominalQuota", where)
        if "borrowingLimit" in quota:
            yield from _check_has_parent(quota, "borrowingLimit", rules, where)
            yield from _check_not_negative(quota, "borrowingLimit", where)
        if "lendingLimit" in quota:
            yield from _check_not_negative(quota, "lendingLimit", where)
            yield from _check_has_parent(quota, "lendingLimit", rules, where)
            lent, nominal = _number(quota["lendingLimit"]), _number(quota.get("nominalQuota", 0))
            if rules.lends_at_most_nominal and lent is not None and nominal is not None and lent > nominal:
                detail = "must be less than or equal to the nominalQuota"
                yield invalid(where.child("lendingLimit"), canonical(str(quota["lendingLimit"])), detail)


def _check_not_negative(quota: Mapping[str, Any], field: str, path: Path) -> Iterator[FieldError]:
    value = _number(quota.get(field))
    if value is not None and value < 0:
        yield invalid(path.child(field), canonical(str(quota[field])), _NEGATIVE)


def _check_has_parent(quota: Mapping[str, Any], field: str, rules: _Rules, path: Path) -> Iterator[FieldError]:
    if not rules.has_parent and _number(quota[field]) is not None:
        yield invalid(path.child(field), canonical(str(quota[field])), f"must be nil when {rules.parent} is empty")


def _check_sizes(groups: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    for field, title in (("flavors", "flavors"), ("coveredResources", "covered resources")):
        total = sum(len(group.get(field) or ()) for group in groups)
        if total > _MOST:
            detail = f"total number of {title} across all resourceGroups must be ≤ {_MOST}, got {total}"
            yield invalid(_GROUPS, total, detail)
    for index, group in enumerate(groups):
        total = sum(len(flavor.get("resources") or ()) for flavor in group.get("flavors") or ())
        if total > _MOST_PAIRS:
            detail = f"number of flavor-resource combinations in a resourceGroup must be ≤ {_MOST_PAIRS}, got {total}"
            yield invalid(_GROUPS.index(index), total, detail)


def _check_flavors_of_checks(spec: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[FieldError]:
    """Checks may be restricted to flavors of the queue; a restriction that was accepted before is let pass."""
    known, accepted = _flavors(spec), {}
    if _flavors(old) == known:
        accepted = {each.get("name"): set(each.get("onFlavors") or ()) for each in _checks(old)}
    for index, check in enumerate(_checks(spec)):
        named = check.get("onFlavors") or []
        if accepted.get(check.get("name")) == set(named):
            continue
        path = _SPEC.child("admissionChecksStrategy", "admissionChecks").index(index).child("onFlavors")
        for at, flavor in enumerate(named):
            if flavor not in known:
                yield not_supported(path.index(at), flavor, sorted(known))


def _flavors(spec: Mapping[str, Any]) -> set[str]:
    groups = spec.get("resourceGroups") or ()
    return {flavor.get("name", "") for group in groups for flavor in group.get("flavors") or ()}


def _checks(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()


def _number(quantity: Any) -> Fraction | None:
    """The value of a quantity; None if there is none, or it is not one, which the schema has to say."""
    try:
        return None if quantity is None else number(str(quantity))
    except QuantityError:
        return None
