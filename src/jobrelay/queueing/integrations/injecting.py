"""What the pods of an admitted Workload get.

The flavors that a pod set got stand for nodes: their labels become its node selector, their tolerations its own. What
admission checks ask for comes on top. Labels name the pod set and its queues; they alone are no reason to suspend an
object that runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from jobrelay.queueing import core, names
from jobrelay.queueing.views import AssignmentView, PodSetUpdate, WorkloadView

_LONGEST_LABEL: Final = 63


class Injection(msgspec.Struct, frozen=True):
    """What is added to the pods of one pod set."""

    pod_set: str
    count: int
    node_selector: dict[str, str] = {}
    tolerations: tuple[Mapping[str, Any], ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    queues: dict[str, str] = {}
    """The labels that name its queues."""

    @property
    def restricts(self) -> bool:
        """Whether its pods may not run as their template is."""
        return bool(self.node_selector or self.tolerations or self.labels or self.annotations)


class Clash(Exception):
    """Two sources want different values for one key."""


def injections(view: WorkloadView, flavors: Mapping[str, core.FlavorSpec]) -> list[Injection]:
    """What each admitted pod set gets; raises Clash."""
    assert view.status.admission is not None
    updates = [(check.name, each) for check in view.status.admission_checks for each in check.pod_set_updates]
    counts = {each.name: each.count for each in view.spec.pod_sets}
    queues = _queues(view.status.admission.cluster_queue, view.spec.queue_name)
    return [
        _injection(
            each, counts.get(each.name, 1), flavors, [one for one in updates if one[1].name == each.name], queues
        )
        for each in view.status.admission.pod_set_assignments
    ]


def _queues(cluster_queue: str, local_queue: str) -> dict[str, str]:
    """Labels for names that labels can have."""
    both = {names.CLUSTER_QUEUE_LABEL: cluster_queue, names.LOCAL_QUEUE_LABEL: local_queue}
    return {label: name for label, name in both.items() if len(name) <= _LONGEST_LABEL}


def _injection(
    to: AssignmentView,
    count: int,
    flavors: Mapping[str, core.FlavorSpec],
    updates: Iterable[tuple[str, PodSetUpdate]],
    queues: dict[str, str],
) -> Injection:
    selector: dict[str, str] = {}
    tolerations: list[Mapping[str, Any]] = []
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    for name in dict.fromkeys(to.flavors.values()):
        flavor = flavors.get(name)
        if flavor is not None:
            merge(selector, flavor.node_labels, "nodeSelector")
            tolerations += [each for each in flavor.tolerations if each not in tolerations]
    for check, update in updates:
        try:
            merge(selector, update.node_selector, "nodeSelector")
            merge(labels, update.labels, "labels")
            merge(annotations, update.annotations, "annotations")
        except Clash as error:
            raise Clash(f'in admission check "{check}": invalid admission check PodSetUpdate: {error}') from None
        tolerations += [each for each in update.tolerations if each not in tolerations]
    admitted = to.count if to.count is not None else count
    return Injection(to.name, admitted, selector, tuple(tolerations), labels, annotations, queues)


def merge(into: dict[str, str], more: Mapping[str, str], where: str) -> None:
    """Add keys; raises Clash for one that has another value."""
    for key, value in more.items():
        if into.setdefault(key, value) != value:
            raise Clash(f"conflict for {where}: conflict for key={key}, value1={into[key]}, value2={value}")
