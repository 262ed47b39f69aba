"""The checks of the Pod Security Standards, with the real server's error texts.

A check is a function of the annotations, the spec and the minor version of the standard; it returns what is forbidden
and who set it, or None. `BASELINE` and `RESTRICTED` list them in the order in which they are reported; a restricted
check may stand in for a baseline one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import go_quote
from jobrelay.kinds.core.pod.common import Fields, all_containers
from jobrelay.kinds.core.pod.security import APPARMOR, SECCOMP_CONTAINER, SECCOMP_POD

Violation = tuple[str, str]
Check = Callable[[Mapping[str, str], Fields, int], Violation | None]
NEWEST: Final = 35
_CAPABILITIES: Final = frozenset({
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID",
    "SETPCAP", "SETUID", "SYS_CHROOT",
})  # fmt: skip
_SYSCTLS: Final = (
    (0, ("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
         "net.ipv4.ping_group_range",
         "net.ipv4.ip_unprivileged_port_start")),
    (27, ("net.ipv4.ip_local_reserved_ports",)),
    (29, ("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
          "net.ipv4.tcp_keepalive_probes")),
    (32, ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")),
)  # fmt: skip
_GOOD_VOLUMES: Final = frozenset({
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
})  # fmt: skip
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _named(what: str, names: Sequence[str]) -> str:
    return f"{_plural(what, len(names))} {_quoted(names)}"


def _context(holder: Fields) -> Fields:
    context: Fields = holder.get("securityContext") or {}
    return context


def _bad_containers(spec: Fields, bad: Callable[[Fields], Any]) -> list[str]:
    return [container.get("name", "") for container in all_containers(spec) if bad(container)]


def _setters(pod: bool, containers: Sequence[str]) -> str:
    """Who set something: the pod, containers, or both."""
    return " and ".join([*(["pod"] if pod else []), *([_named("container", containers)] if containers else [])])


def _on_windows(spec: Fields) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _has_own_users(spec: Fields, minor: int) -> bool:
    """Pods in a user namespace are root only among themselves."""
    return minor >= 35 and spec.get("hostUsers") is False


def _apparmor(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    def bad(holder: Fields) -> bool:
        profile = _context(holder).get("appArmorProfile")
        return profile is not None and profile.get("type") not in ("RuntimeDefault", "Localhost")

    containers = _bad_containers(spec, bad)
    holders = [h for h in (spec, *all_containers(spec)) if bad(h)]
    values = sorted({_context(holder)["appArmorProfile"].get("type", "") for holder in holders})
    noted = sorted(
        f"{key}={go_quote(value)}"
        for key, value in annotations.items()
        if key.startswith(APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    setters = [s for s in (_setters(bad(spec), containers), _plural("annotation", len(noted)) if noted else "") if s]
    if not setters:
        return None
    shown = [*values, *noted]
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(shown)}"
    return _plural("forbidden AppArmor profile", len(shown)), detail


def _capabilities(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    def added(container: Fields) -> set[str]:
        return set((_context(container).get("capabilities") or {}).get("add") or ()) - _CAPABILITIES

    containers = _bad_containers(spec, added)
    if not containers:
        return None
    shown = _quoted(sorted(set().union(*map(added, all_containers(spec)))))
    detail = f"{_named('container', containers)} must not include {shown} in securityContext.capabilities.add"
    return "non-default capabilities", detail


def _restricted_capabilities(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    if minor >= 25 and _on_windows(spec):
        return None

    def added(container: Fields) -> set[str]:
        return set((_context(container).get("capabilities") or {}).get("add") or ()) - {"NET_BIND_SERVICE"}

    missing = _bad_containers(spec, lambda c: "ALL" not in ((_context(c).get("capabilities") or {}).get("drop") or ()))
    adding = _bad_containers(spec, added)
    details = []
    if missing:
        details.append(f'{_named("container", missing)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        shown = _quoted(sorted(set().union(*map(added, all_containers(spec)))))
        details.append(f"{_named('container', adding)} must not include {shown} in securityContext.capabilities.add")
    return ("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return ("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    names = [v.get("name", "") for v in spec.get("volumes") or () if v.get("hostPath") is not None]
    return ("hostPath volumes", _named("volume", names)) if names else None


def _host_ports(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    def ports(container: Fields) -> set[str]:
        return {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}

    containers = _bad_containers(spec, ports)
    if not containers:
        return None
    shown = sorted(set().union(*map(ports, all_containers(spec))))
    uses = "uses" if len(containers) == 1 else "use"
    return "hostPort", f"{_named('container', containers)} {uses} {_plural('hostPort', len(shown))} {', '.join(shown)}"


def _probe_hosts(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    def hosts(container: Fields) -> set[str]:
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(p) or {} for p in _PROBES] + [
            lifecycle.get(h) or {} for h in ("postStart", "preStop")
        ]
        found = {(h.get(action) or {}).get("host", "") for h in handlers for action in ("httpGet", "tcpSocket")}
        return found - {""}

    containers = sorted(set(_bad_containers(spec, hosts)))
    if minor < 34 or not containers:
        return None
    shown = sorted(set().union(*map(hosts, all_containers(spec))))
    uses = "uses" if len(containers) == 1 else "use"
    return (
        "probe or lifecycle host",
        f"{_named('container', containers)} {uses} {_named('probe or lifecycle host', shown)}",
    )


def _privileged(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    containers = _bad_containers(spec, lambda c: _context(c).get("privileged"))
    if not containers:
        return None
    return "privileged", f"{_named('container', containers)} must not set securityContext.privileged=true"


def _any_proc_mount(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    containers = _bad_containers(spec, lambda c: _context(c).get("procMount", "Default") != "Default")
    if not containers:
        return None
    values = sorted({_context(c).get("procMount", "Default") for c in all_containers(spec)} - {"Default"})
    return "procMount", f"{_named('container', containers)} must not set securityContext.procMount to {_quoted(values)}"


def _proc_mount(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    return None if _has_own_users(spec, minor) else _any_proc_mount(annotations, spec, minor)


def _selinux(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    allowed = {"", "container_t", "container_init_t", "container_kvm_t"} | (
        {"container_engine_t"} if minor >= 31 else set()
    )

    def options(holder: Fields) -> Fields:
        found: Fields = _context(holder).get("seLinuxOptions") or {}
        return found

    def bad(holder: Fields) -> bool:
        given = options(holder)
        return given.get("type", "") not in allowed or bool(given.get("user") or given.get("role"))

    holders = [holder for holder in (spec, *all_containers(spec)) if bad(holder)]
    if not holders:
        return None
    types = sorted({options(holder).get("type", "") for holder in holders} - allowed)
    data = [_named("type", types)] if types else []
    data += [f"{name} may not be set" for name in ("user", "role") if any(options(h).get(name) for h in holders)]
    setters = _setters(bad(spec), _bad_containers(spec, bad))
    return "seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"


def _seccomp_type(holder: Fields) -> str | None:
    profile = _context(holder).get("seccompProfile")
    return None if profile is None else profile.get("type", "")


def _bad_seccomp(holder: Fields) -> bool:
    return _seccomp_type(holder) not in (None, "Localhost", "RuntimeDefault")


def _set_seccomp(spec: Fields) -> Violation | None:
    values = sorted({_seccomp_type(holder) or "" for holder in (spec, *all_containers(spec)) if _bad_seccomp(holder)})
    if not values:
        return None
    setters = _setters(_bad_seccomp(spec), _bad_containers(spec, _bad_seccomp))
    return "seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {_quoted(values)}"


def _seccomp(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    if minor >= 19:
        return _set_seccomp(spec)
    keys = [SECCOMP_POD, *(SECCOMP_CONTAINER + c.get("name", "") for c in all_containers(spec))]
    noted = sorted({
        f"{key}={go_quote(annotations[key])}"
        for key in keys
        if key in annotations and annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    })  # fmt: skip
    return ("seccompProfile", f"forbidden {_plural('annotation', len(noted))} {', '.join(noted)}") if noted else None


def _restricted_seccomp(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    if minor >= 25 and _on_windows(spec):
        return None
    if found := _set_seccomp(spec):
        return found
    missing = [] if _seccomp_type(spec) is not None else _bad_containers(spec, lambda c: _seccomp_type(c) is None)
    if not missing:
        return None
    wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return "seccompProfile", f"pod or {_named('container', missing)} {wanted}"


def _sysctls(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    allowed = {name for since, names in _SYSCTLS if minor >= since for name in names}
    found = [s.get("name", "") for s in _context(spec).get("sysctls") or () if s.get("name", "") not in allowed]
    return ("forbidden sysctls", ", ".join(found)) if found else None


def _host_process(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    def bad(holder: Fields) -> bool:
        return bool((_context(holder).get("windowsOptions") or {}).get("hostProcess"))

    setters = _setters(bad(spec), _bad_containers(spec, bad))
    text = "must not set securityContext.windowsOptions.hostProcess=true"
    return ("hostProcess", f"{setters} {text}") if setters else None


def _escalation(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    if minor >= 25 and _on_windows(spec):
        return None
    containers = _bad_containers(spec, lambda c: _context(c).get("allowPrivilegeEscalation") is not False)
    text = "must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", f"{_named('container', containers)} {text}") if containers else None


def _volume_types(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    bad = [volume for volume in spec.get("volumes") or () if not _GOOD_VOLUMES & volume.keys()]
    if not bad:
        return None
    types = sorted({next((key for key in volume if key != "name"), "unknown") for volume in bad})
    uses = "uses" if len(bad) == 1 else "use"
    detail = f"{_named('volume', [v.get('name', '') for v in bad])} {uses} {_named('restricted volume type', types)}"
    return "restricted volume types", detail


def _non_root(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    if _has_own_users(spec, minor):
        return None
    of_pod = _context(spec).get("runAsNonRoot")
    setters = _setters(of_pod is False, _bad_containers(spec, lambda c: _context(c).get("runAsNonRoot") is False))
    if setters:
        return "runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false"
    missing = [] if of_pod else _bad_containers(spec, lambda c: _context(c).get("runAsNonRoot") is None)
    text = "must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", f"pod or {_named('container', missing)} {text}") if missing else None


def _root_user(annotations: Mapping[str, str], spec: Fields, minor: int) -> Violation | None:
    if _has_own_users(spec, minor):
        return None
    containers = _bad_containers(spec, lambda c: _context(c).get("runAsUser") == 0)
    setters = _setters(_context(spec).get("runAsUser") == 0, containers)
    return ("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


BASELINE: Final[tuple[Check, ...]] = (
    _apparmor, _capabilities, _host_namespaces, _host_paths, _host_ports, _probe_hosts, _privileged, _proc_mount,
    _selinux,
    _seccomp, _sysctls, _host_process,
)  # fmt: skip
# check, the first minor version that has it, the baseline check that it stands in for
RESTRICTED: Final[tuple[tuple[Check, int, Check | None], ...]] = (
    (_escalation, 8, None), (_restricted_capabilities, 22, _capabilities), (_any_proc_mount, 35, _proc_mount),
    (_volume_types, 0, _host_paths), (_non_root, 0, None), (_root_user, 23, None), (_restricted_seccomp, 19, _seccomp),
)  # fmt: skip


def violations(level: str, minor: int, annotations: Mapping[str, str], spec: Fields) -> list[Violation]:
    """What of a level's standard a pod violates."""
    if level == "privileged":
        return []
    checks = list(BASELINE)
    if level == "restricted":
        stricter = [(check, replaced) for check, since, replaced in RESTRICTED if minor >= since]
        replaced = {instead for _, instead in stricter}
        checks = [check for check in checks if check not in replaced] + [check for check, _ in stricter]
    return [found for check in checks if (found := check(annotations, spec, minor)) is not None]
