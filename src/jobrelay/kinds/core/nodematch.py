"""Which nodes take a pod, by labels and taints: node selectors, node affinity, tolerations.

Used by the scheduler of the embedded cluster for single nodes, and by the relay's placement for all nodes of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

__all__ = ["UNSCHEDULABLE", "matches", "preference", "tolerated", "untolerated"]

UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""The taint that a cordoned node is taken to have."""


def untolerated(
    taints: Iterable[Mapping[str, Any]], tolerations: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """The first taint that keeps new pods with these tolerations away, None if there is none."""
    for taint in taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations):
            return taint
    return None


def tolerated(taint: Mapping[str, Any], tolerations: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one of the tolerations is for this taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("value", "") == taint.get("value", ""))


def matches(
    selector: Iterable[tuple[str, str]], affinity: Mapping[str, Any] | None, name: str, labels: Mapping[str, str]
) -> bool:
    """Whether a node has the labels that a pod's node selector and required node affinity ask for."""
    if any(labels.get(key) != value for key, value in selector):
        return False
    required = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_term(term, name, labels) for term in required.get("nodeSelectorTerms") or ())


def preference(affinity: Mapping[str, Any] | None, name: str, labels: Mapping[str, str]) -> int:
    """The weight of the preferred terms that a node satisfies."""
    preferred = (affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(one.get("weight", 0) for one in preferred if _term(one.get("preference") or {}, name, labels))


def _term(term: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> bool:
    on_labels, on_fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not on_labels and not on_fields:
        return False
    fields = {"metadata.name": name}
    return all(_expression(one, labels) for one in on_labels) and all(_expression(one, fields) for one in on_fields)


def _expression(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression.get("key", "")), expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: Sequence[str]) -> bool:
    try:
        left, right = int(value or ""), int(values[0] if values else "")
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right
