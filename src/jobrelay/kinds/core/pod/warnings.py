"""Warnings about pod specs that are accepted but probably not meant so, in the order in which the server gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import Path, go_quote
from jobrelay.apimachinery.ips import ip_warnings
from jobrelay.apimachinery.names import is_valid_label_value
from jobrelay.kinds.core.claims import claim_spec_warnings
from jobrelay.kinds.core.nodeselectors import DEPRECATED_LABELS
from jobrelay.kinds.core.pod.common import Fields, visit_containers
from jobrelay.kinds.core.pod.overlaps import overlap_warnings
from jobrelay.kinds.core.pod.remembered import remember_silence
from jobrelay.kinds.core.pod.security import APPARMOR, SECCOMP_CONTAINER, SECCOMP_POD

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_USE_SYSCTLS: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
_DEAD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": _USE_SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _USE_SYSCTLS,
}
_DEAD_VOLUMES: Final = (
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", "ephemeral", ""),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)
_SELECTS_NOTHING: Final = "a null labelSelector results in matching no pod"


def pod_template_warnings(template: Fields | None, path: Path, old: Fields | None = None) -> list[str]:
    """Warnings about the pod template at `path`, whatever was stored before."""
    if template is None:
        return []
    spec, metadata = template.get("spec") or {}, template.get("metadata") or {}
    if not metadata.get("annotations"):
        return _bare_template_warnings(spec, path)
    return pod_spec_warnings(spec, metadata, path, is_template=True)


def pod_spec_warnings(spec: Fields, metadata: Fields, path: Path, *, is_template: bool) -> list[str]:
    at, annotations = path.child("spec"), metadata.get("annotations") or {}
    noted = path.child("metadata", "annotations")
    warnings = _node_warnings(spec, at)
    warnings += _spread_warnings(spec, at.child("topologySpreadConstraints"))
    warnings += [f"{noted.key(key)}: {text}" for key, text in _DEAD_ANNOTATIONS.items() if key in annotations]
    warnings += _volume_warnings(spec, at.child("volumes"))
    warnings += _duplicate_warnings(spec.get("hostAliases") or (), "ip", at.child("hostAliases"))
    secrets = spec.get("imagePullSecrets") or ()
    warnings += _duplicate_warnings(secrets, "name", at.child("imagePullSecrets"))
    for i, secret in enumerate(secrets):
        if not secret.get("name"):
            warnings.append(f'{at.child("imagePullSecrets").index(i).child("name")}: invalid empty name ""')
    overhead = spec.get("overhead") or {}
    for name in ("memory", "ephemeral-storage"):
        warnings += fraction_warning(overhead.get(name), at.child("overhead").key(name))
    warnings += _container_warnings(spec, annotations, path, is_template=is_template)
    warnings += _port_warnings(spec, at) + _port_name_warnings(spec, at)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        place = at.child("terminationGracePeriodSeconds")
        warnings.append(f"{place}: must be >= 0; negative values are invalid and will be treated as 1")
    warnings += _pod_affinity_warnings(spec.get("affinity") or {}, at.child("affinity"))
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        warnings += ip_warnings(at.child("dnsConfig", "nameservers").index(i), server)
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        warnings += ip_warnings(at.child("hostAliases").index(i).child("ip"), alias.get("ip", ""))
    return warnings


_bare_template_warnings = remember_silence(lambda spec, path: pod_spec_warnings(spec, {}, path, is_template=True))
_bare_pod_warnings = remember_silence(lambda spec, path: pod_spec_warnings(spec, {}, path, is_template=False))


def pod_warnings(pod: Fields) -> list[str]:
    """Warnings about the spec of a pod; annotations that the Job controller sets are ignored."""
    metadata = pod["metadata"]
    if all(key.startswith("batch.kubernetes.io/") for key in metadata.get("annotations") or ()):
        return _bare_pod_warnings(pod["spec"], Path())
    return pod_spec_warnings(pod["spec"], metadata, Path(), is_template=False)


def _node_warnings(spec: Fields, path: Path) -> list[str]:
    warnings = [
        f"{path.child('nodeSelector').key(key)}: {DEPRECATED_LABELS[key]}"
        for key in spec.get("nodeSelector") or ()
        if key in DEPRECATED_LABELS
    ]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = path.child("affinity", "nodeAffinity")
    for i, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        warnings += node_term_warnings(term, at.child(_REQUIRED, "nodeSelectorTerms").index(i), values=False)
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        place = at.child(_PREFERRED).index(i).child("preference")
        warnings += node_term_warnings(weighted.get("preference") or {}, place, values=True)
    return warnings


def node_term_warnings(term: Fields, path: Path, *, values: bool) -> list[str]:
    warnings = []
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        at, key = path.child("matchExpressions").index(i), expression.get("key", "")
        if key in DEPRECATED_LABELS:
            warnings.append(f"{at.child('key')}: {key} is {DEPRECATED_LABELS[key]}")
        for j, value in enumerate(expression.get("values") or () if values else ()):
            warnings += [f"{at.child('values').index(j)}: {value} is invalid, {t}" for t in is_valid_label_value(value)]
    return warnings


def _spread_warnings(spec: Fields, path: Path) -> list[str]:
    warnings = []
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        key = constraint.get("topologyKey", "")
        if key in DEPRECATED_LABELS:
            warnings.append(f"{path.index(i).child('topologyKey')}: {key} is {DEPRECATED_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            warnings.append(f"{path.index(i).child('labelSelector')}: {_SELECTS_NOTHING}")
    return warnings


def _volume_warnings(spec: Fields, path: Path) -> list[str]:
    warnings: list[str] = []
    for i, volume in enumerate(spec.get("volumes") or ()):
        for field, place, text in _DEAD_VOLUMES:
            source = volume.get(field)
            if source is None:
                continue
            if field != "ephemeral":
                warnings.append(f"{path.index(i).child(place)}: {text}")
            elif source.get("volumeClaimTemplate") is not None:
                at = path.index(i).child("ephemeral", "volumeClaimTemplate", "spec")
                warnings += claim_spec_warnings(source["volumeClaimTemplate"]["spec"], at)
    return warnings + overlap_warnings(spec.get("volumes") or ())


def fraction_warning(value: str | None, path: Path) -> list[str]:
    if value is None or quantity.number(value).denominator == 1:
        return []
    return [f"{path}: fractional byte value {go_quote(value)} is invalid, must be an integer"]


def _duplicate_warnings(items: Iterable[Fields], name: str, path: Path) -> list[str]:
    warnings, seen = [], set()
    for i, item in enumerate(items):
        value = item.get(name, "")
        if value in seen:
            warnings.append(f"{path.index(i).child(name)}: duplicate {name} {go_quote(value)}")
        seen.add(value)
    return warnings


def _container_warnings(spec: Fields, annotations: Mapping[str, str], path: Path, *, is_template: bool) -> list[str]:
    noted = path.child("metadata", "annotations")
    context = spec.get("securityContext") or {}
    use_field = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    warnings = []
    if SECCOMP_POD in annotations and context.get("seccompProfile") is None:
        warnings.append(f"{noted.key(SECCOMP_POD)}: {use_field}")
    for container, at in visit_containers(spec, path.child("spec")):
        own = container.get("securityContext") or {}
        key = SECCOMP_CONTAINER + container.get("name", "")
        if key in annotations and own.get("seccompProfile") is None:
            warnings.append(f"{noted.key(key)}: {use_field}")
        key = APPARMOR + container.get("name", "")
        if is_template and key in annotations and own.get("appArmorProfile") is None:
            profile = context.get("appArmorProfile")
            if profile is None or profile != apparmor_from_annotation(annotations[key]):
                warnings.append(f'{noted.key(key)}: deprecated since v1.30; use the "appArmorProfile" field instead')
        resources = container.get("resources") or {}
        for resource in ("memory", "ephemeral-storage"):
            for name in ("limits", "requests"):
                value = (resources.get(name) or {}).get(resource)
                warnings += fraction_warning(value, at.child("resources", name).key(resource))
        warnings += _env_warnings(container, at.child("env"))
    return warnings


def apparmor_from_annotation(annotation: str) -> dict[str, str] | None:
    """The field that replaces an old AppArmor annotation."""
    if annotation in ("unconfined", "runtime/default"):
        return {"type": "Unconfined" if annotation == "unconfined" else "RuntimeDefault"}
    profile = annotation.removeprefix("localhost/")
    return {"type": "Localhost", "localhostProfile": profile} if profile and profile != annotation else None


def _env_warnings(container: Fields, path: Path) -> list[str]:
    warnings, seen = [], set()
    for i, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name not in seen:
            seen.add(name)
        elif variable.get("valueFrom") is not None or value == reference or reference not in value:
            text = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            warnings.append(f"{path.index(i)}: {text}")
    return warnings


def _port_warnings(spec: Fields, path: Path) -> list[str]:
    warnings = []
    known: dict[tuple[int, str], list[tuple[Path, str, int]]] = {}
    for container, at in visit_containers(spec, path):
        for i, port in enumerate(container.get("ports") or ()):
            place, address, host_port = at.child("ports").index(i), port.get("hostIP", ""), port.get("hostPort", 0)
            if address and not host_port:
                warnings.append(f"{place}: hostIP set without hostPort: {_go_port(port)}")
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for other, other_address, other_port in others:
                if (address, host_port) == (other_address, other_port):
                    warnings.append(f"{place}: duplicate port definition with {other}")
                elif not host_port or not other_port:
                    warnings.append(f"{place}: overlapping port definition with {other}")
                elif host_port == other_port and bool(address) != bool(other_address):
                    warnings.append(f"{place}: dangerously ambiguous port definition with {other}")
            others.append((place, address, host_port))
    return warnings


def _go_port(port: Fields) -> str:
    return (
        f"{{Name:{port.get('name', '')} HostPort:{port.get('hostPort', 0)} ContainerPort:{port.get('containerPort', 0)}"
        f" Protocol:{port.get('protocol', '')} HostIP:{port.get('hostIP', '')}}}"
    )


def _port_name_warnings(spec: Fields, path: Path) -> list[str]:
    warnings = []
    known: dict[str, Path] = {}
    for container, at in visit_containers(spec, path):
        for i, port in enumerate(container.get("ports") or ()):
            name, place = port.get("name", ""), at.child("ports").index(i)
            if name in known:
                warnings.append(
                    f"{place}: duplicate port name {go_quote(name)} with {known[name]}, services and probes that select"
                    f" ports by name will use {known[name]}"
                )
            elif name:
                known[name] = place
    return warnings


def _pod_affinity_warnings(affinity: Fields, path: Path) -> list[str]:
    warnings = []
    for kind in ("podAffinity", "podAntiAffinity"):
        terms, at = affinity.get(kind) or {}, path.child(kind)
        for i, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                warnings.append(f"{at.child(_REQUIRED).index(i).child('labelSelector')}: {_SELECTS_NOTHING}")
        for i, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                place = at.child(_PREFERRED).index(i).child("podAffinityTerm", "labelSelector")
                warnings.append(f"{place}: {_SELECTS_NOTHING}")
    return warnings
