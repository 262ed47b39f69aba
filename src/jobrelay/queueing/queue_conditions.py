"""The condition Active of ClusterQueues and LocalQueues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobrelay.kube import Object
from jobrelay.queueing.views import ClusterQueueView, LocalQueueView


@dataclass(frozen=True, slots=True)
class QueueParts:
    """The names of what a ClusterQueue needs and does not have."""

    missing_flavors: tuple[str, ...] = ()
    missing_checks: tuple[str, ...] = ()
    inactive_checks: tuple[str, ...] = ()
    missing_topologies: tuple[tuple[str, str], ...] = ()
    """Flavors, each with the name of its Topology."""
    multikueue_checks: tuple[str, ...] = ()
    """All checks that stand for other clusters."""
    multikueue_checks_per_flavor: tuple[str, ...] = ()
    provisioning_checks: tuple[str, ...] = ()


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
    ):
        if missing:
            found.append((reason, f"{text}: {','.join(missing)}"))
    found += _check_reasons(parts)
    if found or not parts.multikueue_checks:  # topologies are those of the other clusters
        for flavor, topology in parts.missing_topologies:
            found.append(("TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{flavor}"'))
    return found


def _check_reasons(parts: QueueParts) -> Iterator[tuple[str, str]]:
    """Checks for other clusters that cannot be meant."""
    others, per_flavor = ",".join(parts.multikueue_checks), ",".join(parts.multikueue_checks_per_flavor)
    if len(parts.multikueue_checks) > 1:
        text = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found"
        yield "MultipleMultiKueueAdmissionChecks", f"{text}: {others}"
    if per_flavor:
        text = "Cannot specify MultiKueue AdmissionCheck per flavor, found"
        yield "MultiKueueAdmissionCheckAppliedPerFlavor", f"{text}: {per_flavor}"
    if others and parts.provisioning_checks:
        text = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found"
        yield "MultiKueueWithProvisioningRequest", f"{text}: {others}, {','.join(parts.provisioning_checks)}"


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
