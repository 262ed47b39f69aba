"""The condition Active of ClusterQueues and LocalQueues."""

from __future__ import annotations

from dataclasses import dataclass

from jobrelay.kube import Object
from jobrelay.queueing.views import ClusterQueueView, LocalQueueView


@dataclass(frozen=True, slots=True)
class QueueParts:
    """The names of what a ClusterQueue needs and does not have."""

    missing_flavors: tuple[str, ...] = ()
    missing_checks: tuple[str, ...] = ()
    inactive_checks: tuple[str, ...] = ()
    missing_topologies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ActiveCondition:
    """Whether a queue takes workloads, with the reason and message of its condition."""

    active: bool
    reason: str
    message: str


def inactive_reasons(queue: Object, parts: QueueParts) -> list[tuple[str, str]]:
    """Why a ClusterQueue admits nothing: reasons with their texts; none if it does."""
    found: list[tuple[str, str]] = []
    if queue.deleting:
        found.append(("Terminating", "is terminating"))
    if queue.decode(ClusterQueueView).spec.stop_policy != "None":
        found.append(("Stopped", "is stopped"))
    for reason, text, missing in (
        ("FlavorNotFound", "references missing ResourceFlavor(s)", parts.missing_flavors),
        ("AdmissionCheckNotFound", "references missing AdmissionCheck(s)", parts.missing_checks),
        ("AdmissionCheckInactive", "references inactive AdmissionCheck(s)", parts.inactive_checks),
        ("TopologyNotFound", "there is no Topology for TAS flavor(s)", parts.missing_topologies),
    ):
        if missing:
            found.append((reason, f"{text}: {','.join(missing)}"))
    return found


def cluster_queue_activity(queue: Object, parts: QueueParts) -> ActiveCondition:
    found = inactive_reasons(queue, parts)
    if not found:
        return ActiveCondition(True, "Ready", "Can admit new workloads")
    if found[0][0] == "Terminating":
        return ActiveCondition(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")
    return ActiveCondition(False, found[0][0], f"Can't admit new workloads: {', '.join(text for _, text in found)}.")


def local_queue_activity(queue: Object, target: Object | None, *, target_active: bool) -> ActiveCondition:
    if queue.decode(LocalQueueView).spec.stop_policy != "None":
        return ActiveCondition(False, "Stopped", "LocalQueue is stopped")
    if target is None:
        return ActiveCondition(False, "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    if not target_active:
        return ActiveCondition(False, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
    return ActiveCondition(True, "Ready", "Can submit new workloads to localQueue")
