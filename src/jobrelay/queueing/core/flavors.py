"""Whether a flavor is for certain pods: by its taints, and by the labels of its nodes.

Only labels that the flavor has count: a pod that selects nodes by other labels says nothing about the flavor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jobrelay.kinds.core import nodematch

from .model import FlavorSpec, PodSetInfo

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def mismatch(name: str, flavor: FlavorSpec | None, pods: PodSetInfo) -> str:
    """Why a flavor is not for these pods, in Kueue's words; empty if it is."""
    if flavor is None:
        return f"flavor {name} not found"
    if flavor.node_taints:
        taint = nodematch.untolerated(flavor.node_taints, [*pods.tolerations, *flavor.tolerations])
        if taint is not None:
            return f"untolerated taint {_taint_text(taint)} in flavor {name}"
    if (pods.node_selector or pods.node_affinity) and not _selected(flavor.node_labels, pods):
        return f"flavor {name} doesn't match node affinity"
    return ""


def _selected(labels: Mapping[str, str], pods: PodSetInfo) -> bool:
    selector = [(key, value) for key, value in pods.node_selector.items() if key in labels]
    return nodematch.matches(selector, _about(labels, pods.node_affinity), "", labels)


def _about(labels: Mapping[str, str], affinity: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The part of a node affinity that is about these labels; none if a term has no such part, as any term may hold."""
    terms = [
        [one for one in term.get("matchExpressions") or () if one.get("key") in labels] for term in _terms(affinity)
    ]
    if not terms or not all(terms):
        return None
    return {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}}


def _terms(affinity: Mapping[str, Any] | None) -> Iterable[Mapping[str, Any]]:
    required = (affinity or {}).get(_REQUIRED) or {}
    return required.get("nodeSelectorTerms") or ()


def _taint_text(taint: Mapping[str, Any]) -> str:
    return f"{{{taint.get('key', '')} {taint.get('value', '')} {taint.get('effect', '')} <nil>}}"
