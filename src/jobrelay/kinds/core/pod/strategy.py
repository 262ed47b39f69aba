"""The hooks of pods, PodTemplates and ReplicationControllers."""

from __future__ import annotations

import copy
from typing import Any, Final

from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.names import is_dns1123_label
from jobrelay.kinds.core.checks import unsupported_label
from jobrelay.kinds.core.pod.common import all_containers
from jobrelay.kinds.core.pod.defaults import default_pod, drop_disabled_fields
from jobrelay.kinds.core.pod.lifecycle import (
    validate_ephemeral_containers_update,
    validate_pod_create,
    validate_pod_update,
)
from jobrelay.kinds.core.pod.replication import REPLICATION_CONTROLLERS
from jobrelay.kinds.core.pod.resize import take_only_resizes, validate_resize
from jobrelay.kinds.core.pod.resources import qos_class
from jobrelay.kinds.core.pod.security import APPARMOR, validate_apparmor_profile
from jobrelay.kinds.core.pod.status import prepare_status_update, status_update_warnings, validate_status_update
from jobrelay.kinds.core.pod.templates import POD_TEMPLATES
from jobrelay.kinds.core.pod.warnings import apparmor_from_annotation, pod_warnings
from jobrelay.kinds.generation import bump_generation, count_spec_changes, keep_status, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_POD_TERMS: Final = ("podAffinity", "podAntiAffinity")
_FIELD_LABELS: Final = frozenset({
    "metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
    "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
    "status.nominatedNodeName", "spec.host",
})  # fmt: skip


def pod_grace_period(pod: Obj, requested: int | None) -> int:
    """How long a deleted pod may take to end: nothing for one that no node runs any more or yet."""
    spec, phase = pod["spec"], (pod.get("status") or {}).get("phase", "")
    period = requested if requested is not None else spec.get("terminationGracePeriodSeconds", 0)
    if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
        return 0
    return 1 if period < 0 else int(period)


def _prepare_create(pod: Obj) -> None:
    start_generation(pod)
    spec = pod["spec"]
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    drop_disabled_fields(spec)
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [{
            "type": "PodScheduled", "status": "False", "lastProbeTime": None,
            "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
            "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]  # fmt: skip
    _merge_label_keys(pod)
    _apparmor_from_annotations(pod)


def _merge_label_keys(pod: Obj) -> None:
    """matchLabelKeys become expressions with the pod's own values, so that the scheduler sees plain selectors."""
    labels, spec = pod["metadata"].get("labels") or {}, pod["spec"]
    affinity = spec.get("affinity") or {}
    for kind in _POD_TERMS:
        terms = affinity.get(kind) or {}
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_into(weighted.get("podAffinityTerm") or {}, labels)
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_into(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge_into(constraint, labels)


def _merge_into(term: dict[str, Any], labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if added:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


def _apparmor_from_annotations(pod: Obj) -> None:
    """Containers that only have the old annotation get the field."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in all_containers(spec):
        annotation = annotations.get(APPARMOR + container.get("name", ""))
        if annotation is None or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
            continue
        profile = apparmor_from_annotation(annotation)
        if profile is not None and not validate_apparmor_profile(profile, Path()) and profile != of_pod:
            container.setdefault("securityContext", {})["appArmorProfile"] = profile


def _apparmor_warnings(pod: Obj) -> list[str]:
    """For annotations that were turned into a field, or could not be."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return []
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    warnings = []
    for container in all_containers(spec):
        key = APPARMOR + container.get("name", "")
        if key not in annotations:
            continue
        profile = apparmor_from_annotation(annotations[key])
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        if profile is None or (own == profile and profile != of_pod):
            warnings.append(
                f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
            )
    return warnings


def _warn_create(pod: Obj) -> list[str]:
    warnings = []
    texts = is_dns1123_label(pod["metadata"].get("name", ""))
    if texts:
        warnings.append(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is"
            f" recommended: [{' '.join(texts)}]"
        )
    return warnings + pod_warnings(pod)


def _prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    drop_disabled_fields(new["spec"], old["spec"])
    count_spec_changes(new, old)


def _prepare_status(new: Obj, old: Obj) -> None:
    prepare_status_update(new, old)
    bump_generation(new, old, changed=False)


def _keep_metadata(new: Obj, old: Obj) -> None:
    """All of the stored metadata but the version that the client saw and the managed fields."""
    kept = {name: new["metadata"][name] for name in ("resourceVersion", "managedFields") if name in new["metadata"]}
    stored = {
        name: value for name, value in old["metadata"].items() if name not in ("resourceVersion", "managedFields")
    }
    new["metadata"] = {**copy.deepcopy(stored), **kept}


def _prepare_ephemeral_containers(new: Obj, old: Obj) -> None:
    containers = new["spec"].get("ephemeralContainers")
    new["spec"] = {name: value for name, value in old["spec"].items() if name != "ephemeralContainers"}
    if containers:
        new["spec"]["ephemeralContainers"] = containers
    keep_status(new, old)
    _keep_metadata(new, old)
    count_spec_changes(new, old)


def _prepare_resize(new: Obj, old: Obj) -> None:
    taken_before = new["spec"]
    take_only_resizes(new, old)
    if new["spec"] is not taken_before:
        _keep_metadata(new, old)
    count_spec_changes(new, old)


def pod_fields(pod: Obj) -> dict[str, str]:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    addresses = status.get("podIPs") or ()
    return {
        "metadata.name": metadata.get("name", ""),
        "metadata.namespace": metadata.get("namespace", ""),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.host": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase", ""),
        "status.podIP": addresses[0].get("ip", "") if addresses else "",
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


PODS: Final = Strategy(
    default=default_pod,
    prepare_create=_prepare_create,
    validate_create=validate_pod_create,
    validates_metadata=True,
    warn_prepared=_apparmor_warnings,
    warn_create=_warn_create,
    update=UpdateStrategy(_prepare_update, validate_pod_update),
    subresources={
        "status": UpdateStrategy(_prepare_status, validate_status_update, status_update_warnings),
        "ephemeralcontainers": UpdateStrategy(_prepare_ephemeral_containers, validate_ephemeral_containers_update),
        "resize": UpdateStrategy(_prepare_resize, validate_resize),
    },
    fields=pod_fields,
    field_labels=_FIELD_LABELS,
    unsupported_field=unsupported_label,
    reset_fields={
        "": (("status",),),
        "status": (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    },
    delete_returns_object=True,
    grace_period=pod_grace_period,
)

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("", "pods"): PODS,
    ("", "podtemplates"): POD_TEMPLATES,
    ("", "replicationcontrollers"): REPLICATION_CONTROLLERS,
}
