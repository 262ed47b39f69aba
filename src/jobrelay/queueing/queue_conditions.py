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
class Activity:
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


def cluster_queue_activity(queue: Object, parts: QueueParts) -> Activity:
    found = inactive_reasons(queue, parts)
    if not found:
        return Activity(True, "Ready", "Can admit new workloads")
    if found[0][0] == "Terminating":
        return Activity(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")
    return Activity(False, found[0][0], f"Can't admit new workloads: {', '.join(text for _, text in found)}.")


def local_queue_activity(queue: Object, target: Object | None, *, target_active: bool) -> Activity:
    if queue.decode(LocalQueueView).spec.stop_policy != "None":
        return Activity(False, "Stopped", "LocalQueue is stopped")
    if target is None:
        return Activity(False, "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    if not target_active:
        return Activity(False, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
    return Activity(True, "Ready", "Can submit new workloads to localQueue")
