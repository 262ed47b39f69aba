"""Each kind from v1beta1 to v1beta2 and back, by the rules of Kueue 0.19.

Names and shapes change, and where v1beta1 has two ways to say a thing, v1beta2 has one of them. What only v1beta1 has
is dropped: statuses that nobody writes any more, and the name of a priority class without its kind.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.queueing.conversions.kept import Path, keep, restore
from jobrelay.queueing.conversions.topology import with_domains, with_slices
from jobrelay.queueing.resources import GROUP

OLD: Final = "v1beta1"
NEW: Final = "v1beta2"

Fields = dict[str, Any]

_WORKLOAD_CLASS: Final = "kueue.x-k8s.io/workloadpriorityclass"
_POD_CLASS: Final = "scheduling.k8s.io/priorityclass"
_CLASSES: Final = {
    _WORKLOAD_CLASS: {"group": GROUP, "kind": "WorkloadPriorityClass"},
    _POD_CLASS: {"group": "scheduling.k8s.io", "kind": "PriorityClass"},
}
_STOPS: Final = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
"""The values of v1beta1 that mean MayStopSearch."""
_PAST_TIME: Final = ("accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")


def convert(obj: Fields, version: str) -> Fields:
    """A copy of an object in another version; objects of kinds that do not differ have only another apiVersion."""
    kind = CONVERTED.get(obj.get("kind", ""))
    made = copy.deepcopy(obj)
    made["apiVersion"] = f"{GROUP}/{version}"
    if kind is None or obj.get("apiVersion") == made["apiVersion"]:
        return made
    spec, status = _part(made, "spec"), _part(made, "status")
    if version == NEW:
        kind.upgrade(spec, status)
        restore(made, kind.kept)
    else:
        keep(made, kind.kept)
        kind.downgrade(spec, status)
    return made


@dataclass(frozen=True, slots=True)
class _Kind:
    """How spec and status change in place, and which fields v1beta1 does not have."""

    upgrade: Callable[[Fields, Fields], None]
    downgrade: Callable[[Fields, Fields], None]
    kept: Mapping[Path, type] = field(default_factory=dict)


def _upgrade_cluster_queue(spec: Fields, status: Fields) -> None:
    _rename(spec, "cohort", "cohortName")
    if checks := spec.pop("admissionChecks", None):
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": each} for each in checks]}
    if "admissionChecksStrategy" in spec and not _part(spec, "admissionChecksStrategy").get("admissionChecks"):
        del spec["admissionChecksStrategy"]
    fungibility = _part(spec, "flavorFungibility")
    for name, old in _STOPS.items():
        if fungibility.get(name) == old:
            fungibility[name] = "MayStopSearch"
    status.pop("pendingWorkloadsStatus", None)
    _part(status, "fairSharing").pop("admissionFairSharingStatus", None)


def _downgrade_cluster_queue(spec: Fields, status: Fields) -> None:
    _rename(spec, "cohortName", "cohort")


def _upgrade_local_queue(spec: Fields, status: Fields) -> None:
    _rename(status, "flavorUsage", "flavorsUsage")
    status.pop("flavors", None)


def _downgrade_local_queue(spec: Fields, status: Fields) -> None:
    _rename(status, "flavorsUsage", "flavorUsage")


def _upgrade_workload(spec: Fields, status: Fields) -> None:
    name, source = spec.pop("priorityClassName", ""), spec.pop("priorityClassSource", "")
    if name and source in _CLASSES:
        spec["priorityClassRef"] = {**_CLASSES[source], "name": name}
    _rename(status, *_PAST_TIME)
    _convert_assignments(status, with_slices)


def _downgrade_workload(spec: Fields, status: Fields) -> None:
    if reference := spec.pop("priorityClassRef", None):
        spec["priorityClassName"] = reference.get("name", "")
        spec["priorityClassSource"] = _WORKLOAD_CLASS if reference.get("group") == GROUP else _POD_CLASS
    _rename(status, *reversed(_PAST_TIME))
    _convert_assignments(status, with_domains)


def _convert_assignments(status: Fields, converted: Callable[[Fields], Fields]) -> None:
    for each in _part(status, "admission").get("podSetAssignments") or ():
        if given := each.get("topologyAssignment"):
            each["topologyAssignment"] = converted(given)


def _upgrade_cluster(spec: Fields, status: Fields) -> None:
    source = {}
    config, profile = spec.pop("kubeConfig", None), spec.pop("clusterProfileRef", None)
    if config and config.get("location"):
        source["kubeConfig"] = config
    if profile:
        source["clusterProfileRef"] = profile
    if source:
        spec["clusterSource"] = source


def _downgrade_cluster(spec: Fields, status: Fields) -> None:
    """v1beta1 requires a kubeConfig; one without a location is none."""
    source = spec.pop("clusterSource", None) or {}
    if source:
        spec["kubeConfig"] = source.get("kubeConfig") or {"location": "", "locationType": "Secret"}
    if "clusterProfileRef" in source:
        spec["clusterProfileRef"] = source["clusterProfileRef"]


def _part(obj: Fields, name: str) -> Fields:
    """A field that is an object; an empty one if it is absent."""
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def _rename(fields: Fields, old: str, new: str) -> None:
    if old in fields:
        fields[new] = fields.pop(old)


CONVERTED: Final[Mapping[str, _Kind]] = {
    "ClusterQueue": _Kind(
        _upgrade_cluster_queue, _downgrade_cluster_queue, {("spec", "concurrentAdmissionPolicy"): dict}
    ),
    "LocalQueue": _Kind(_upgrade_local_queue, _downgrade_local_queue),
    "Workload": _Kind(
        _upgrade_workload,
        _downgrade_workload,
        {
            ("spec", "preemptionGates"): list,
            ("spec", "podSets", "*", "topologyRequest", "podsetSliceRequiredTopologyConstraints"): list,
            ("status", "preemptionGates"): list,
        },
    ),
    "MultiKueueCluster": _Kind(_upgrade_cluster, _downgrade_cluster),
}
"""The kinds that differ between the two versions."""
