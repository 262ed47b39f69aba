"""Checks on containers: the regular ones, init containers with sidecars among them, and ephemeral containers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jobrelay.apimachinery.field import (
    Path,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from jobrelay.apimachinery.names import is_valid_port_name, is_valid_port_num
from jobrelay.kinds.core.checks import dns_label
from jobrelay.kinds.core.pod.common import Errors, Fields, invalid_each, is_sidecar
from jobrelay.kinds.core.pod.env import validate_env, validate_env_from
from jobrelay.kinds.core.pod.mounts import Volumes, validate_volume_devices, validate_volume_mounts
from jobrelay.kinds.core.pod.probes import validate_lifecycle, validate_probes
from jobrelay.kinds.core.pod.resources import validate_container_resources
from jobrelay.kinds.core.pod.security import validate_security_context
from jobrelay.kinds.core.pod.volumes import validate_pull_policy

_NOT_FOR_EPHEMERAL: Final = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe", "readinessProbe",
    "startupProbe", "lifecycle",
)  # fmt: skip
_HOOKS: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")


class PodContext:
    """What a container's checks need to know of its pod."""

    __slots__ = ("claim_names", "grace", "host_users", "restart_policy", "volumes")

    def __init__(self, spec: Fields, volumes: Volumes, claim_names: set[str]) -> None:
        self.volumes, self.claim_names = volumes, claim_names
        self.grace: int | None = spec.get("terminationGracePeriodSeconds")
        self.restart_policy: str = spec.get("restartPolicy", "")
        self.host_users = spec.get("hostUsers") is not False


def validate_containers(containers: Sequence[Fields], around: PodContext, path: Path) -> Errors:
    if not containers:
        return [required(path)]
    errors: Errors = []
    names: set[str] = set()
    for i, container in enumerate(containers):
        at = path.index(i)
        errors += _validate_common(container, around, at)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(at.child("name"), name))
        names.add(name)
        errors += _validate_hooks(container, around, at)
        errors += _validate_restart_policy(container, at)
    return errors + _validate_host_ports(containers, path)


def validate_init_containers(
    containers: Sequence[Fields], regular: Sequence[Fields], around: PodContext, path: Path
) -> Errors:
    errors: Errors = []
    names = {container.get("name", "") for container in regular}
    for i, container in enumerate(containers):
        at = path.index(i)
        errors += _validate_common(container, around, at)
        errors += _validate_init_restart_policy(container, at)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(at.child("name"), name))
        elif name:
            names.add(name)
        errors += _validate_host_ports([container], path)
        if is_sidecar(container):
            errors += _validate_hooks(container, around, at)
        else:
            text = "may not be set for init containers without restartPolicy=Always"
            errors += [forbidden(at.child(hook), text) for hook in _HOOKS if container.get(hook) is not None]
    return errors


def validate_ephemeral_containers(spec: Fields, around: PodContext, path: Path) -> Errors:
    errors: Errors = []
    others = {c.get("name", "") for kind in ("containers", "initContainers") for c in spec.get(kind) or ()}
    names = set(others)
    text = "cannot be set for an Ephemeral Container"
    for i, container in enumerate(spec.get("ephemeralContainers") or ()):
        at = path.index(i)
        errors += _validate_common(container, around, at)
        errors += validate_image_spaces(container, at)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in names:
            errors.append(duplicate(at.child("name"), name))
        names.add(name)
        if target and target not in others:
            errors.append(not_found(at.child("targetContainerName"), target))
        unwanted = [f for f in _NOT_FOR_EPHEMERAL if container.get(f) or (f == "lifecycle" and f in container)]
        errors += [forbidden(at.child(field), text) for field in unwanted]
        for j, mount in enumerate(container.get("volumeMounts") or ()):
            where = at.child("volumeMounts").index(j)
            errors += [forbidden(where.child(field), text) for field in ("subPath", "subPathExpr") if mount.get(field)]
    return errors


def validate_image_spaces(container: Fields, path: Path) -> Errors:
    """Only for pods: templates may have such an image."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid(path.child("image"), image, "must not have leading or trailing whitespace")]


def _validate_common(container: Fields, around: PodContext, path: Path) -> Errors:
    name = container.get("name", "")
    errors = dns_label(name, path.child("name")) if name else [required(path.child("name"))]
    if not container.get("image"):
        errors.append(required(path.child("image")))
    policy = container.get("terminationMessagePolicy", "")
    if not policy:
        errors.append(required(path.child("terminationMessagePolicy")))
    elif policy not in ("File", "FallbackToLogsOnError"):
        errors.append(not_supported(path.child("terminationMessagePolicy"), policy, ("File", "FallbackToLogsOnError")))
    errors += _validate_ports(container.get("ports") or (), path.child("ports"))
    errors += validate_env(container.get("env") or (), path.child("env"))
    errors += validate_env_from(container.get("envFrom") or (), path.child("envFrom"))
    if container.get("volumeMounts"):
        errors += validate_volume_mounts(container, around.volumes, path.child("volumeMounts"))
    if container.get("volumeDevices"):
        errors += validate_volume_devices(container, around.volumes, path.child("volumeDevices"))
    errors += validate_pull_policy(container.get("imagePullPolicy", ""), path.child("imagePullPolicy"))
    resources = container.get("resources") or {}
    errors += validate_container_resources(resources, around.claim_names, path.child("resources"))
    errors += _validate_resize_policy(container.get("resizePolicy") or (), around, path.child("resizePolicy"))
    context = container.get("securityContext")
    return errors + validate_security_context(context, path.child("securityContext"), host_users=around.host_users)


def _validate_hooks(container: Fields, around: PodContext, path: Path) -> Errors:
    errors: Errors = []
    if container.get("lifecycle") is not None:
        errors += validate_lifecycle(container["lifecycle"], around.grace, path.child("lifecycle"))
    return errors + validate_probes(container, around.grace, path)


def _validate_ports(ports: Sequence[Fields], path: Path) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for i, port in enumerate(ports):
        at = path.index(i)
        name, number, host_port = port.get("name", ""), port.get("containerPort", 0), port.get("hostPort", 0)
        if name:
            texts = is_valid_port_name(name)
            errors += invalid_each(at.child("name"), name, texts)
            if not texts and name in names:
                errors.append(duplicate(at.child("name"), name))
            elif not texts:
                names.add(name)
        if number == 0:
            errors.append(required(at.child("containerPort")))
        else:
            errors += invalid_each(at.child("containerPort"), number, is_valid_port_num(number))
        if host_port:
            errors += invalid_each(at.child("hostPort"), host_port, is_valid_port_num(host_port))
        protocol = port.get("protocol", "")
        if not protocol:
            errors.append(required(at.child("protocol")))
        elif protocol not in _PROTOCOLS:
            errors.append(not_supported(at.child("protocol"), protocol, _PROTOCOLS))
    return errors


def _validate_host_ports(containers: Sequence[Fields], path: Path) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                errors.append(duplicate(path.index(i).child("ports").index(j).child("hostPort"), key))
            taken.add(key)
    return errors


def _validate_resize_policy(policies: Sequence[Fields], around: PodContext, path: Path) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(duplicate(path.index(i), resource))
        seen.add(resource)
        for value, choices in ((resource, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if not value:
                errors.append(required(path))
            elif value not in choices:
                errors.append(not_supported(path, value, choices))
        if around.restart_policy == "Never" and restart != "NotRequired":
            errors.append(invalid(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'"))
    return errors


def _validate_init_restart_policy(container: Fields, path: Path) -> Errors:
    if is_sidecar(container):
        if not container.get("restartPolicyRules"):
            return []
        text = "restartPolicyRules are not allowed for init containers with restart policy Always"
        return [forbidden(path.child("restartPolicyRules"), text)]
    if container.get("restartPolicy") is None and container.get("restartPolicyRules"):
        return [required(path.child("restartPolicy"), "must specify restartPolicy when restart rules are used")]
    return _validate_restart_policy(container, path)


def _validate_restart_policy(container: Fields, path: Path) -> Errors:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    errors: Errors = []
    if policy is None:
        if not rules:
            return []
        errors.append(required(path.child("restartPolicy"), "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(path.child("restartPolicy"), policy, _RESTART_POLICIES))
    if len(rules) > 20:
        errors.append(too_long(path.child("restartPolicyRules"), 20))
    for i, rule in enumerate(rules):
        at = path.child("restartPolicyRules").index(i)
        action, codes = rule.get("action", ""), rule.get("exitCodes")
        if action != "Restart":
            errors.append(not_supported(at.child("action"), action, ("Restart",)))
        if codes is None:
            errors.append(required(at.child("exitCodes"), "must be specified"))
            continue
        operator = codes.get("operator", "")
        if operator not in ("In", "NotIn"):
            errors.append(not_supported(at.child("exitCodes", "operator"), operator, ("In", "NotIn")))
        if len(codes.get("values") or ()) > 255:
            errors.append(too_long(at.child("exitCodes", "values"), 255))
    return errors
