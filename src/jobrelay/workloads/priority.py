"""Which PriorityClass a workload names: its own field, for kinds that have one, or that of its pods."""

from __future__ import annotations

from jobrelay.kube import Object
from jobrelay.workloads.adapter import Adapter
from jobrelay.workloads.references import PRIORITYCLASSES


def priority_class(adapter: Adapter, obj: Object) -> str:
    """The name of the first class that an object names; empty if it names none."""
    for reference in adapter.references(obj):
        if reference.resource == PRIORITYCLASSES:
            return reference.name
    for _, template in adapter.pod_templates(obj):
        pod = template.get("spec")
        name = pod.get("priorityClassName") if isinstance(pod, dict) else None
        if isinstance(name, str) and name:
            return name
    return ""
