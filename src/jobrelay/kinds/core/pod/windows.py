"""Rules for Windows pods, and for what must not be mixed between Linux and Windows."""

from __future__ import annotations

import re
from typing import Final

from jobrelay.apimachinery.field import Path, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.names import is_dns1123_subdomain, size
from jobrelay.kinds.core.pod.common import Errors, Fields, visit_containers

_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_domain = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_control = re.compile(r"[\x00-\x1f\x7f]").search
_bad_user = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_dots_and_spaces = re.compile(r"[. ]+").fullmatch
_MAX_CREDENTIAL_SPEC: Final = 64 * 1024
_POD_FIELDS: Final = (
    ("securityContext", "appArmorProfile"), ("securityContext", "seLinuxOptions"), ("hostUsers",), ("hostPID",), ("hostIPC",),
    ("securityContext", "seccompProfile"), ("securityContext", "fsGroup"), ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"), ("shareProcessNamespace",), ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"), ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"), ("securityContext", "seLinuxChangePolicy"),
)  # fmt: skip
_CONTAINER_FIELDS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def validate_windows_options(options: Fields | None, path: Path) -> Errors:
    if options is None:
        return []
    errors: Errors = []
    name, spec, user = (options.get(k) for k in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        errors += [invalid(path.child("gmsaCredentialSpecName"), name, text) for text in is_dns1123_subdomain(name)]
    if spec == "":
        errors.append(invalid(path.child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec cannot be an empty string"))
    elif spec is not None and size(spec) > _MAX_CREDENTIAL_SPEC:
        errors.append(invalid(path.child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec size must be under 64 KiB"))
    if user is not None:
        errors += [
            invalid(path.child("runAsUserName"), user, f"runAsUserName{text}") for text in _user_name_errors(user)
        ]
    return errors


def _user_name_errors(name: str) -> list[str]:
    if not name:
        return [" cannot be an empty string"]
    if _control(name):
        return [" cannot contain control characters"]
    domain, backslash, user = name.rpartition("\\")
    if "\\" in domain:
        return [" cannot contain more than one backslash"]
    errors = ["'s Domain length must be under 256 characters"] if size(domain) >= 256 else []
    if backslash and not _netbios(domain) and not _domain(domain):
        errors.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        errors.append("'s User cannot be empty")
    elif size(user) > 104:
        errors.append("'s User length must not be longer than 104 characters")
    if _dots_and_spaces(user):
        errors.append("'s User cannot contain only periods or spaces")
    if _bad_user(user):
        errors.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return errors


def validate_host_process(spec: Fields, path: Path) -> Errors:
    """HostProcess containers: all or none, and only in the host's network."""
    errors: Errors = []
    of_pod = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    count = host_process = 0
    for container, at in visit_containers(spec, path):
        count += 1
        own = ((container.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
        if of_pod is not None and own is not None and of_pod != own:
            detail = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            errors.append(invalid(at.child("securityContext", "windowsOptions", "hostProcess"), own, detail))
        host_process += bool(own or (own is None and of_pod))
    if host_process:
        if host_process != count:
            detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            errors.append(invalid(path, "", detail))
        if not spec.get("hostNetwork"):
            detail = "hostNetwork must be true if pod contains any hostProcess containers"
            errors.append(invalid(path.child("hostNetwork"), False, detail))
    return errors


def validate_os(spec: Fields, path: Path) -> Errors:
    """The operating system, and that no field of the other one is set."""
    os = spec.get("os")
    if os is None:
        return []
    name = os.get("name", "")
    if not name:
        return [required(path.child("os", "name"))]
    if name == "linux":
        return _validate_linux(spec, path)
    if name == "windows":
        return _validate_windows(spec, path)
    return [not_supported(path.child("os"), name, ("linux", "windows"))]


def _validate_linux(spec: Fields, path: Path) -> Errors:
    text = "windows options cannot be set for a linux pod"
    errors: Errors = []
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        errors.append(forbidden(path.child("securityContext", "windowsOptions"), text))
    for container, at in visit_containers(spec, path):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            errors.append(forbidden(at.child("securityContext", "windowsOptions"), text))
    return errors


def _validate_windows(spec: Fields, path: Path) -> Errors:
    text = "cannot be set for a windows pod"
    errors: Errors = []
    for steps in _POD_FIELDS:
        holder = spec if len(steps) == 1 else spec.get(steps[0]) or {}
        value = holder.get(steps[-1])
        if value is not None and not (steps[-1] in ("hostPID", "hostIPC") and not value):
            errors.append(forbidden(path.child(*steps), text))
    for container, at in visit_containers(spec, path):
        context = container.get("securityContext") or {}
        for name in _CONTAINER_FIELDS:
            if context.get(name) is not None:
                errors.append(forbidden(at.child("securityContext", name), text))
    return errors
