"""The priority of a queued object, and the class that it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from jobrelay.kube import Object
from jobrelay.queueing import names
from jobrelay.queueing.resources import GROUP
from jobrelay.queueing.views import PriorityClassRef


class Priority(msgspec.Struct, frozen=True):
    """The priority of a workload, and the class that it comes from."""

    value: int = 0
    ref: PriorityClassRef | None = None


Priorities = Callable[[str, str], int | None]
"""From the API group and the name of a priority class to its value; None if there is no such class."""


def find_priority(
    obj: Object, pod_sets: list[dict[str, Any]], priorities: Priorities, default: Priority
) -> Priority | None:
    """By the WorkloadPriorityClass of its label, or the PriorityClass of its pods, or the cluster's default.

    None if there is no WorkloadPriorityClass of the name that its label has.
    """
    if wanted := obj.metadata.labels.get(names.PRIORITY_CLASS):
        value = priorities(GROUP, wanted)
        return None if value is None else Priority(value, PriorityClassRef(GROUP, "WorkloadPriorityClass", wanted))
    for each in pod_sets:
        named: str = (each["template"].get("spec") or {}).get("priorityClassName") or ""
        value = priorities("scheduling.k8s.io", named) if named else None
        if value is not None:
            return Priority(value, PriorityClassRef("scheduling.k8s.io", "PriorityClass", named))
    return default
