"""Selecting nodes by labels and by name: the terms that volumes and pods' affinities carry."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, required
from jobrelay.apimachinery.meta import validate_label_name
from jobrelay.apimachinery.names import is_valid_label_value, name_is_dns_subdomain

DEPRECATED_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
BETA_TO_STABLE: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def validate_node_selector(
    selector: dict[str, Any], path: Path, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    at = path.child("nodeSelectorTerms")
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        return [required(at, "must have at least one node selector term")]
    errors: list[FieldError] = []
    for i, term in enumerate(terms):
        errors += validate_node_term(term, at.index(i), allow_invalid_values=allow_invalid_values)
    return errors


def validate_node_term(term: dict[str, Any], path: Path, *, allow_invalid_values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _validate_label_requirement(
            requirement, path.child("matchExpressions").index(i), allow_invalid_values
        )
    for i, requirement in enumerate(term.get("matchFields") or ()):
        errors += _validate_field_requirement(requirement, path.child("matchFields").index(i))
    return errors


def _validate_label_requirement(
    requirement: dict[str, Any], path: Path, allow_invalid_values: bool
) -> list[FieldError]:
    operator, values, at = requirement.get("operator", ""), requirement.get("values") or [], path.child("values")
    errors: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(at, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        errors.append(invalid(path.child("operator"), operator, "not a valid selector operator"))
    errors += validate_label_name(requirement.get("key", ""), path.child("key"))
    if not allow_invalid_values:
        errors += bad_values(requirement, path)
    return errors


def bad_values(requirement: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, value in enumerate(requirement.get("values") or ()):
        errors += [invalid(path.child("values").index(i), value, text) for text in is_valid_label_value(value)]
    return errors


def _validate_field_requirement(requirement: dict[str, Any], path: Path) -> list[FieldError]:
    values, key = requirement.get("values") or [], requirement.get("key", "")
    errors: list[FieldError] = []
    if requirement.get("operator") not in ("In", "NotIn"):
        errors.append(invalid(path.child("operator"), requirement.get("operator", ""), "not a valid selector operator"))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(path.child("values"), text))
    if key != "metadata.name":
        return [*errors, invalid(path.child("key"), key, "not a valid field selector key")]
    for i, value in enumerate(values):
        errors += [invalid(path.child("values").index(i), value, text) for text in name_is_dns_subdomain(value, False)]
    return errors


def node_selector_warnings(selector: dict[str, Any], path: Path) -> list[str]:
    """Labels that have better names by now."""
    texts: list[str] = []
    for i, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        for j, requirement in enumerate(term.get("matchExpressions") or ()):
            key = requirement.get("key", "")
            if key in DEPRECATED_LABELS:
                at = path.child("nodeSelectorTerms").index(i).child("matchExpressions").index(j).child("key")
                texts.append(f"{at}: {key} is {DEPRECATED_LABELS[key]}")
    return texts
