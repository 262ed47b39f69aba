"""Binding: how a scheduler gives a pod its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jobrelay.apimachinery.field import Path, go_quote, not_supported, required
from jobrelay.kinds.core.pod.common import Errors

Obj = dict[str, Any]
_TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def validate_binding(binding: Obj) -> Errors:
    """The target of a Binding; these errors make a plain 500."""
    target = binding.get("target") or {}
    kind = target.get("kind", "")
    errors: Errors = []
    if kind not in ("", "Node"):
        errors.append(not_supported(Path("target.kind"), kind, ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(required(Path("target.name")))
    return errors


def bind_pod(pod: Obj, binding: Obj, *, now: str, node_labels: Mapping[str, str] | None = None) -> str:
    """Puts the pod on the node; a text is why it cannot be, for a 409 on `pods/binding`.

    `node_labels` are those of the target, when that node exists: pods carry their node's zone and region.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    name = metadata.get("name", "")
    if metadata.get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f"pod {name} is already assigned to node {go_quote(spec['nodeName'])}"
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    spec["nodeName"] = binding["target"]["name"]
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    given = binding.get("metadata") or {}
    topology = {key: node_labels[key] for key in _TOPOLOGY_LABELS if key in node_labels} if node_labels else {}
    for field, values in (
        ("annotations", given.get("annotations")),
        ("labels", {**(given.get("labels") or {}), **topology}),
    ):
        if values:
            metadata[field] = {**(metadata.get(field) or {}), **values}
    _mark_scheduled(status, now)
    return ""


def _mark_scheduled(status: Obj, now: str) -> None:
    made = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    conditions = status.get("conditions") or []
    for i, condition in enumerate(conditions):
        if condition.get("type") == "PodScheduled":
            if condition.get("status") == "True":
                made["lastTransitionTime"] = condition.get("lastTransitionTime")
            status["conditions"] = [*conditions[:i], made, *conditions[i + 1 :]]
            return
    status["conditions"] = [*conditions, made]
