"""Checks on security contexts of pods and containers: users, seccomp, AppArmor, sysctls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from jobrelay.apimachinery.field import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.names import is_valid_user_id, size
from jobrelay.kinds.core.pod.common import CORE, Errors, Fields, invalid_each, local_descending_path, visit_containers
from jobrelay.kinds.core.pod.windows import validate_windows_options

SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = f"^({_SYSCTL_SEGMENT}[\\./])*{_SYSCTL_SEGMENT}$"
_sysctl = re.compile(_SYSCTL).match
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)
_APPARMOR_MAX: Final = 4095


def validate_seccomp_profile(profile: Fields | None, path: Path) -> Errors:
    if profile is None:
        return []
    errors: Errors = []
    kind, localhost = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors.append(required(path.child("type"), "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        errors.append(not_supported(path.child("type"), kind, _PROFILE_TYPES))
    at = path.child("localhostProfile")
    if kind == "Localhost":
        if localhost is None:
            errors.append(required(at, "must be set when seccomp type is Localhost"))
        else:
            errors += local_descending_path(localhost, at)
    elif localhost is not None:
        shown = struct_value(profile, CORE + "SeccompProfile")
        errors.append(invalid(at, shown, "can only be set when seccomp type is Localhost"))
    return errors


def validate_apparmor_profile(profile: Fields | None, path: Path) -> Errors:
    if profile is None:
        return []
    kind, localhost = profile.get("type", ""), profile.get("localhostProfile")
    at = path.child("localhostProfile")
    if not kind:
        return [required(path.child("type"), "type is required when appArmorProfile is set")]
    if kind not in _PROFILE_TYPES:
        return [not_supported(path.child("type"), kind, _PROFILE_TYPES)]
    if kind != "Localhost":
        return [] if localhost is None else [invalid(at, localhost, "can only be set when AppArmor type is Localhost")]
    if localhost is None:
        return [required(at, "must be set when AppArmor type is Localhost")]
    errors: Errors = []
    if localhost.strip() != localhost:
        errors.append(invalid(at, localhost, "must not be padded with whitespace"))
    elif not localhost:
        errors.append(required(at, "must be set when AppArmor type is Localhost"))
    if size(localhost) > _APPARMOR_MAX:
        errors.append(too_long(at, _APPARMOR_MAX))
    return errors


def validate_security_context(context: Fields | None, path: Path, *, host_users: bool) -> Errors:
    """The security context of a container."""
    if context is None:
        return []
    errors = _validate_ids(context, ("runAsUser", "runAsGroup"), path)
    proc_mount = context.get("procMount")
    if proc_mount is not None:
        at = path.child("procMount")
        if proc_mount not in ("Default", "Unmasked"):
            errors.append(not_supported(at, proc_mount, ("Default", "Unmasked")))
        if host_users and proc_mount == "Unmasked":
            errors.append(invalid(at, proc_mount, "`hostUsers` must be false to use `Unmasked`"))
    errors += validate_seccomp_profile(context.get("seccompProfile"), path.child("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        errors += _validate_no_escalation(context, path)
    errors += validate_windows_options(context.get("windowsOptions"), path.child("windowsOptions"))
    return errors + validate_apparmor_profile(context.get("appArmorProfile"), path.child("appArmorProfile"))


def _validate_no_escalation(context: Fields, path: Path) -> Errors:
    errors: Errors = []
    text = "cannot set `allowPrivilegeEscalation` to false and "
    if context.get("privileged"):
        errors.append(invalid(path, struct_value(context, CORE + "SecurityContext"), f"{text}`privileged` to true"))
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            shown = struct_value(context, CORE + "SecurityContext")
            errors.append(invalid(path, shown, f"{text}`capabilities.Add` CAP_SYS_ADMIN"))
    return errors


def _validate_ids(context: Fields, names: tuple[str, ...], path: Path) -> Errors:
    errors: Errors = []
    for name in names:
        if context.get(name) is not None:
            errors += invalid_each(path.child(name), context[name], is_valid_user_id(context[name]))
    return errors


def validate_pod_security_context(spec: Fields, path: Path) -> Errors:
    context = spec.get("securityContext")
    if context is None:
        return []
    errors = _validate_ids(context, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        errors += invalid_each(path.child("supplementalGroups").index(i), group, is_valid_user_id(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(path.child("shareProcessNamespace"), True, detail))
    errors += _validate_sysctls(spec, context.get("sysctls") or (), path.child("sysctls"))
    errors += _validate_choice(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    errors += validate_seccomp_profile(context.get("seccompProfile"), path.child("seccompProfile"))
    errors += validate_windows_options(context.get("windowsOptions"), path.child("windowsOptions"))
    errors += validate_apparmor_profile(context.get("appArmorProfile"), path.child("appArmorProfile"))
    errors += _validate_choice(context, "supplementalGroupsPolicy", ("Merge", "Strict"), path)
    return errors + _validate_choice(context, "seLinuxChangePolicy", ("Recursive",), path)


def _validate_choice(context: Fields, name: str, choices: tuple[str, ...], path: Path) -> Errors:
    value = context.get(name)
    return [] if value is None or value in choices else [not_supported(path.child(name), value, choices)]


def _validate_sysctls(spec: Fields, sysctls: Any, path: Path) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name", ""), path.index(i).child("name")
        if not name:
            errors.append(required(at))
        elif len(name) > 253 or not _sysctl(name):
            errors.append(invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL}"))
        elif name in seen:
            errors.append(duplicate(at, name))
        errors += _validate_host_sysctl(name, spec, at)
        seen.add(name)
    return errors


def _validate_host_sysctl(name: str, spec: Fields, path: Path) -> Errors:
    """A sysctl of a namespace that the pod shares with its node would change the node."""
    first = re.search(r"[./]", name)
    dotted = name.translate(str.maketrans("./", "/.")) if first and first.group() == "/" else name
    if spec.get("hostNetwork") and dotted.startswith("net."):
        return [invalid(path, name, "may not be specified when 'hostNetwork' is true")]
    if spec.get("hostIPC") and (dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.")):
        return [invalid(path, name, "may not be specified when 'hostIPC' is true")]
    return []


def validate_profile_annotations(annotations: Mapping[str, str], spec: Fields, path: Path) -> Errors:
    """The old annotations for seccomp and AppArmor, which are still checked."""
    errors: Errors = []
    if SECCOMP_POD in annotations:
        errors += _validate_seccomp_annotation(annotations[SECCOMP_POD], path.child(SECCOMP_POD))
    for key, value in annotations.items():
        if key.startswith(SECCOMP_CONTAINER):
            errors += _validate_seccomp_annotation(value, path.child(key))
    names = {container.get("name", "") for container, _ in visit_containers(spec, path)}
    for key, value in annotations.items():
        if not key.startswith(APPARMOR):
            continue
        container = key.removeprefix(APPARMOR)
        if container not in names:
            errors.append(invalid(path.key(key), container, "container not found"))
        if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
            errors.append(invalid(path.key(key), value, f'invalid AppArmor profile name: "{value}"'))
    return errors


def _validate_seccomp_annotation(profile: str, path: Path) -> Errors:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if profile.startswith("localhost/"):
        return local_descending_path(profile.removeprefix("localhost/"), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def validate_annotations_match_fields(annotations: Mapping[str, str], spec: Fields, path: Path) -> Errors:
    """The annotation and the field must be equal where both are set."""
    if not any(key.startswith((SECCOMP_POD, SECCOMP_CONTAINER, APPARMOR)) for key in annotations):
        return []
    errors: list[FieldError | None] = []
    pod = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations:
        at = path.child("securityContext", "seccompProfile")
        errors.append(_mismatch(annotations[SECCOMP_POD], pod.get("seccompProfile"), at, "seccomp"))
    for container, at in visit_containers(spec, path):
        own = (container.get("securityContext") or {}).get("seccompProfile")
        key = SECCOMP_CONTAINER + container.get("name", "")
        if key in annotations:
            errors.append(_mismatch(annotations[key], own, at.child("securityContext", "seccompProfile"), "seccomp"))
    if (spec.get("os") or {}).get("name") != "windows":
        for container, at in visit_containers(spec, path):
            own = (container.get("securityContext") or {}).get("appArmorProfile") or pod.get("appArmorProfile")
            key = APPARMOR + container.get("name", "")
            if key in annotations:
                detail = "apparmor"
                errors.append(_mismatch(annotations[key], own, at.child("securityContext", "appArmorProfile"), detail))
    return [error for error in errors if error is not None]


def _mismatch(annotation: str, profile: Fields | None, path: Path, what: str) -> FieldError | None:
    if profile is None:
        return None
    kind = profile.get("type", "")
    defaults = ("runtime/default", "docker/default") if what == "seccomp" else ("runtime/default",)
    accepted = {"Unconfined": ("unconfined",), "RuntimeDefault": defaults}.get(kind)
    if kind == "Localhost" and annotation.startswith("localhost/"):
        if profile.get("localhostProfile") == annotation.removeprefix("localhost/"):
            return None
        return forbidden(path.child("localhostProfile"), f"{what} profile in annotation and field must match")
    if (accepted is None and kind != "Localhost") or (accepted is not None and annotation in accepted):
        return None
    return forbidden(path.child("type"), f"{what} type in annotation and field must match")
