"""Checks on affinity: node selectors and the terms of pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobrelay.apimachinery.field import Path, forbidden, invalid, required
from jobrelay.apimachinery.meta import validate_label_name, validate_label_selector
from jobrelay.apimachinery.names import name_is_dns_label
from jobrelay.kinds.core.nodeselectors import validate_node_selector, validate_node_term
from jobrelay.kinds.core.pod.common import Errors, Fields, invalid_each

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_affinity(affinity: Fields | None, path: Path) -> Errors:
    if affinity is None:
        return []
    errors: Errors = []
    if affinity.get("nodeAffinity") is not None:
        errors += _validate_node_affinity(affinity["nodeAffinity"], path.child("nodeAffinity"))
    for name in ("podAffinity", "podAntiAffinity"):
        if affinity.get(name) is not None:
            errors += _validate_pod_affinity(affinity[name], path.child(name))
    return errors


def _validate_node_affinity(affinity: Fields, path: Path) -> Errors:
    errors: Errors = []
    if affinity.get(_REQUIRED) is not None:
        errors += validate_node_selector(affinity[_REQUIRED], path.child(_REQUIRED))
    for i, term in enumerate(affinity.get(_PREFERRED) or ()):
        at = path.child(_PREFERRED).index(i)
        errors += _validate_weight(term, at)
        errors += validate_node_term(term.get("preference") or {}, at.child("preference"), allow_invalid_values=True)
    return errors


def _validate_weight(term: Fields, path: Path) -> Errors:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(path.child("weight"), weight, "must be in the range 1-100")]


def _validate_pod_affinity(affinity: Fields, path: Path) -> Errors:
    errors: Errors = []
    for i, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _validate_pod_term(term, path.child(_REQUIRED).index(i))
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = path.child(_PREFERRED).index(i)
        errors += _validate_weight(weighted, at)
        errors += _validate_pod_term(weighted.get("podAffinityTerm") or {}, at.child("podAffinityTerm"))
    return errors


def _validate_pod_term(term: Fields, path: Path) -> Errors:
    errors: Errors = []
    for name in ("labelSelector", "namespaceSelector"):
        errors += validate_label_selector(term.get(name), path.child(name))
    for namespace in term.get("namespaces") or ():
        errors += invalid_each(path.child("namespace"), namespace, name_is_dns_label(namespace, False))
    errors += validate_label_keys(
        term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or [], term.get("labelSelector"), path
    )
    topology = term.get("topologyKey", "")
    if not topology:
        errors.append(required(path.child("topologyKey"), "can not be empty"))
    return errors + validate_label_name(topology, path.child("topologyKey"))


def validate_label_keys(match: Sequence[str], mismatch: Sequence[str], selector: Fields | None, path: Path) -> Errors:
    """matchLabelKeys and mismatchLabelKeys: real label keys, not twice, and only next to a selector.

    The keys were already merged into the selector as expressions when this runs, so one that was there before shows
    as a second expression.
    """
    errors = _validate_keys(match, selector, path.child("matchLabelKeys"))
    errors += _validate_keys(mismatch, selector, path.child("mismatchLabelKeys"))
    if selector is not None:
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key", "")
            if key in match and key in seen:
                at = path.index(_last_index(match, key))
                errors.append(invalid(at, key, "exists in both matchLabelKeys and labelSelector"))
            seen.add(key)
    for i, key in enumerate(match):
        if key in mismatch:
            at = path.child("matchLabelKeys").index(i)
            errors.append(invalid(at, key, "exists in both matchLabelKeys and mismatchLabelKeys"))
    return errors


def _last_index(keys: Sequence[str], key: str) -> int:
    return len(keys) - 1 - list(reversed(keys)).index(key)


def _validate_keys(keys: Iterable[str], selector: Fields | None, path: Path) -> Errors:
    listed = list(keys)
    if listed and selector is None:
        return [forbidden(path, "must not be specified when labelSelector is not set")]
    errors: Errors = []
    for i, key in enumerate(listed):
        errors += validate_label_name(key, path.index(i))
    return errors
