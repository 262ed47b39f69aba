"""The checks on a pod's spec in the order in which the server makes them, for pods and for templates of pods."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from jobrelay.apimachinery import gojson
from jobrelay.apimachinery.decode import DecodeError, decode
from jobrelay.apimachinery.field import Path, forbidden, invalid, not_found, not_supported, required
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.meta import validate_annotations, validate_labels
from jobrelay.apimachinery.names import is_in_range, name_is_dns_label, name_is_dns_subdomain
from jobrelay.apimachinery.types import type_of
from jobrelay.kinds.core.checks import dns_label
from jobrelay.kinds.core.pod import scheduling, security
from jobrelay.kinds.core.pod.affinity import validate_affinity
from jobrelay.kinds.core.pod.common import MIRROR_ANNOTATION, Errors, Fields, invalid_each, visit_containers
from jobrelay.kinds.core.pod.containers import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from jobrelay.kinds.core.pod.remembered import remember_silence
from jobrelay.kinds.core.pod.resources import validate_container_resources, validate_pod_resources
from jobrelay.kinds.core.pod.volumes import validate_volumes
from jobrelay.kinds.core.pod.windows import validate_host_process, validate_os

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_TOLERATIONS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_MAX_INT32: Final = 2**31 - 1
_INTEGER = re.compile("-[0-9]+|0|[1-9][0-9]*")


def validate_pod_template_spec(template: Fields, path: Path) -> Errors:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    errors = validate_labels(metadata.get("labels"), path.child("labels"))
    errors += validate_annotations(annotations, path.child("annotations"))
    errors += validate_pod_annotations(annotations, spec, path.child("annotations"))
    at = path.child("spec")
    errors += _validate_template(spec, at)
    errors += security.validate_annotations_match_fields(annotations, spec, at)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden(at.child("ephemeralContainers"), "ephemeral containers not allowed in pod template"))
    return errors


def validate_pod_annotations(annotations: Mapping[str, str], spec: Fields, path: Path) -> Errors:
    """Validates the annotations that have a meaning for pods."""
    errors: Errors = []
    if not annotations:
        return errors
    if MIRROR_ANNOTATION in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(path.key(MIRROR_ANNOTATION), annotations[MIRROR_ANNOTATION], text))
    if tolerations := annotations.get(_TOLERATIONS_ANNOTATION):
        errors += _validate_tolerations_annotation(tolerations, path)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        errors.append(invalid(path.key(_DELETION_COST), cost, "must be a 32bit integer"))
    return errors + security.validate_profile_annotations(annotations, spec, path)


def _validate_tolerations_annotation(text: str, path: Path) -> Errors:
    type_ = type_of("io.k8s.api.core.v1.PodSpec").fields["tolerations"].type
    try:
        value = gojson.loads(text.encode())
        tolerations = decode(value, type_) if value is not None else []
    except (gojson.JsonError, DecodeError) as error:
        return [invalid(path, _TOLERATIONS_ANNOTATION, str(error))]
    return scheduling.validate_tolerations(tolerations, path.child(_TOLERATIONS_ANNOTATION))


def _is_int32(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and -(2**31) <= read_int(text) <= _MAX_INT32


def validate_pod_spec(spec: Fields, path: Path, metadata: Fields | None = None) -> Errors:
    """`metadata` is the pod's own; without it the spec is that of a template, where some things are looser."""
    is_pod = metadata is not None
    errors: Errors = []
    if spec.get("terminationGracePeriodSeconds") is None:
        errors.append(required(path.child("terminationGracePeriodSeconds")))
    pod_name = (metadata or {}).get("name", "")
    volumes, found = validate_volumes(spec.get("volumes") or (), pod_name, path.child("volumes"), is_pod=is_pod)
    errors += found
    claims = spec.get("resourceClaims") or ()
    claim_names = {claim["name"] for claim in claims if claim.get("name")}
    errors += scheduling.validate_resource_claims(claims, metadata, path.child("resourceClaims"))
    around = PodContext(spec, volumes, claim_names)
    containers = spec.get("containers") or ()
    errors += validate_containers(containers, around, path.child("containers"))
    init_containers = spec.get("initContainers") or ()
    errors += validate_init_containers(init_containers, containers, around, path.child("initContainers"))
    errors += validate_ephemeral_containers(spec, around, path.child("ephemeralContainers"))
    errors += validate_pod_resources(spec, claim_names, path)
    if spec.get("hostNetwork"):
        errors += _validate_host_network_ports(containers, path.child("containers"), is_pod=is_pod)
    errors += _validate_choices(spec, path)
    errors += validate_labels(spec.get("nodeSelector"), path.child("nodeSelector"))
    errors += security.validate_pod_security_context(spec, path.child("securityContext"))
    errors += validate_affinity(spec.get("affinity"), path.child("affinity"))
    errors += scheduling.validate_dns_config(spec, path.child("dnsConfig"))
    errors += scheduling.validate_readiness_gates(spec.get("readinessGates") or (), path.child("readinessGates"))
    errors += scheduling.validate_scheduling_gates(spec.get("schedulingGates") or (), path.child("schedulingGates"))
    spread = spec.get("topologySpreadConstraints") or ()
    errors += scheduling.validate_topology_spread(spread, path.child("topologySpreadConstraints"))
    errors += validate_host_process(spec, path)
    if spec.get("hostUsers") is False:
        errors += _validate_user_namespace(spec, path)
    errors += scheduling.validate_hostname_override(spec, path)
    errors += _validate_names_and_numbers(spec, path)
    errors += validate_os(spec, path)
    errors += _validate_workload(spec.get("workloadRef"), path.child("workloadRef"))
    return errors + _validate_file_key_volumes(spec, path)


_validate_template = remember_silence(validate_pod_spec)


def _validate_choices(spec: Fields, path: Path) -> Errors:
    errors: Errors = []
    for name, choices in (("restartPolicy", ("Always", "OnFailure", "Never")), ("dnsPolicy", _DNS_POLICIES)):
        value = spec.get(name, "")
        if not value:
            errors.append(required(path.child(name)))
        elif value not in choices:
            errors.append(not_supported(path.child(name), value, choices))
    return errors


def _validate_host_network_ports(containers: Sequence[Fields], path: Path, *, is_pod: bool) -> Errors:
    errors: Errors = []
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort", 0)
            if (is_pod or host_port) and host_port != port.get("containerPort", 0):
                at = path.index(i).child("ports").index(j).child("hostPort")
                errors.append(invalid(at, host_port, "must match `containerPort` when `hostNetwork` is true"))
    return errors


def _validate_user_namespace(spec: Fields, path: Path) -> Errors:
    text = "when `hostUsers` is false"
    shared = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    errors = [forbidden(path.child(place), text) for name, place in shared if spec.get(name)]
    for container, at in visit_containers(spec, path):
        if container.get("volumeDevices"):
            errors.append(forbidden(at.child("volumeDevices"), text))
    return errors


def _validate_names_and_numbers(spec: Fields, path: Path) -> Errors:
    errors: Errors = []
    for name in ("serviceAccountName", "nodeName"):
        if value := spec.get(name):
            errors += invalid_each(path.child(name), value, name_is_dns_subdomain(value, False))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        errors += invalid_each(path.child("activeDeadlineSeconds"), deadline, is_in_range(deadline, 1, _MAX_INT32))
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            errors += dns_label(value, path.child(name))
    errors += scheduling.validate_tolerations(spec.get("tolerations") or (), path.child("tolerations"))
    errors += scheduling.validate_host_aliases(spec.get("hostAliases") or (), path.child("hostAliases"))
    if value := spec.get("priorityClassName"):
        errors += invalid_each(path.child("priorityClassName"), value, name_is_dns_subdomain(value, False))
    runtime = spec.get("runtimeClassName")
    if runtime is not None:
        errors += invalid_each(path.child("runtimeClassName"), runtime, name_is_dns_subdomain(runtime, False))
    preemption, at = spec.get("preemptionPolicy"), path.child("preemptionPolicy")
    if preemption == "":
        errors.append(required(at))
    elif preemption not in (None, "PreemptLowerPriority", "Never"):
        errors.append(not_supported(at, preemption, ("PreemptLowerPriority", "Never")))
    if spec.get("overhead"):
        errors += validate_container_resources({"limits": spec["overhead"]}, set(), path.child("overhead"))
    return errors


def _validate_workload(reference: Fields | None, path: Path) -> Errors:
    if reference is None:
        return []
    name, group, key = (reference.get(field, "") for field in ("name", "podGroup", "podGroupReplicaKey"))
    errors = invalid_each(path.child("name"), name, name_is_dns_subdomain(name, False))
    errors += invalid_each(path.child("podGroup"), group, name_is_dns_label(group, False))
    if key:
        errors += invalid_each(path.child("podGroupReplicaKey"), key, name_is_dns_label(key, False))
    return errors


def _validate_file_key_volumes(spec: Fields, path: Path) -> Errors:
    """Files with environment variables must be in an emptyDir of the pod."""
    errors: Errors = []
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    for container, at in visit_containers(spec, path):
        for i, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName", "")
            where = at.child("env").index(i).child("valueFrom", "fileKeyRef", "volumeName")
            if name not in volumes:
                errors.append(not_found(where, name))
            elif volumes[name].get("emptyDir") is None:
                errors.append(invalid(where, name, "referenced volume must be of type emptyDir"))
    return errors
