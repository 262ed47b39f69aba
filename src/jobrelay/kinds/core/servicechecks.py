"""The checks of a service, in the order in which the server makes them.

Addresses that a stored service already has are never complained about, so that stricter rules do not lock old objects.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, duplicate, forbidden, invalid, not_supported, one_of, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.ips import is_valid_cidr_for_legacy_field, is_valid_ip_for_legacy_field, parse_ip
from jobrelay.apimachinery.meta import validate_labels
from jobrelay.kinds.core import checks
from jobrelay.kinds.core.endpoints import validate_endpoint_ip
from jobrelay.kinds.strategy import Obj

TOPOLOGY_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"
SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
FAMILIES: Final = ("IPv4", "IPv6")
FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
AFFINITIES: Final = ("ClientIP", "None")
TRAFFIC_POLICIES: Final = ("Cluster", "Local")
DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
MAX_AFFINITY_SECONDS: Final = 86400
_SPEC: Final = Path("spec")
_LOAD_BALANCER_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"
_NOT_FOR_NAMES: Final = "may not be set for ExternalName services"


def externally_accessible(spec: dict[str, Any]) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: dict[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def headless(spec: dict[str, Any]) -> bool:
    return spec.get("clusterIPs") == ["None"]


def validate_service(service: Obj, old: Obj | None) -> list[FieldError]:
    spec = service["spec"]
    errors = _validate_topology(service["metadata"].get("annotations") or {})
    errors += _validate_type(spec)
    ports = spec.get("ports") or []
    names: set[str] = set()
    for i, port in enumerate(ports):
        errors += _validate_port(port, _SPEC.child("ports").index(i), names, name_required=len(ports) > 1)
    if "selector" in spec:
        errors += validate_labels(spec["selector"], _SPEC.child("selector"))
    errors += _validate_affinity(spec)
    errors += validate_cluster_ips(service, old)
    errors += _validate_external_ips(spec, (old or {}).get("spec") or {})
    errors += one_of(_SPEC.child("type"), spec.get("type", ""), TYPES)
    errors += _validate_unique_ports(spec, ports)
    errors += _validate_source_ranges(service, old)
    errors += _validate_load_balancer(spec)
    errors += validate_load_balancer_class(spec, None)
    return errors + _validate_traffic(spec)


def _validate_topology(annotations: dict[str, str]) -> list[FieldError]:
    hints, mode = annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE)
    if hints is None or mode is None or hints == mode:
        return []
    at = Path("metadata.annotations").key(TOPOLOGY_MODE)
    return [invalid(at, mode, f"must match annotations[{TOPOLOGY_HINTS}] when both are specified")]


def _validate_type(spec: dict[str, Any]) -> list[FieldError]:
    kind = spec.get("type", "")
    errors: list[FieldError] = []
    if not spec.get("ports") and not headless(spec) and kind != "ExternalName":
        errors.append(required(_SPEC.child("ports")))
    if kind in ("LoadBalancer", "NodePort") and headless(spec):
        detail = f"may not be set to 'None' for {kind} services"
        errors.append(invalid(_SPEC.child("clusterIPs").index(0), "None", detail))
    if kind == "ExternalName":
        given = [field for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(field)]
        errors += [forbidden(_SPEC.child(field), _NOT_FOR_NAMES) for field in given]
        name = spec.get("externalName", "").removesuffix(".")
        at = _SPEC.child("externalName")
        errors += checks.dns_subdomain(name, at) if name else [required(at)]
    return errors


def _validate_port(port: dict[str, Any], path: Path, names: set[str], *, name_required: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name, protocol = port.get("name", ""), port.get("protocol", "")
    if name:
        errors += checks.dns_label(name, path.child("name"))
        if name in names:
            errors.append(duplicate(path.child("name"), name))
        names.add(name)
    elif name_required:
        errors.append(required(path.child("name")))
    errors += checks.port_number(port.get("port", 0), path.child("port"))
    errors += one_of(path.child("protocol"), protocol, checks.PROTOCOLS)
    errors += checks.port_number_or_name(port.get("targetPort", 0), path.child("targetPort"))
    if "appProtocol" in port:
        errors += checks.qualified_name(port["appProtocol"], path.child("appProtocol"))
    return errors


def _validate_affinity(spec: dict[str, Any]) -> list[FieldError]:
    affinity, at = spec.get("sessionAffinity", ""), _SPEC.child("sessionAffinityConfig")
    if affinity not in AFFINITIES:
        return [not_supported(_SPEC.child("sessionAffinity"), affinity, AFFINITIES)]
    if affinity == "None":
        return []
    seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
    if 0 < seconds <= MAX_AFFINITY_SECONDS:
        return []
    text = f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"
    return [invalid(at.child("clientIP", "timeoutSeconds"), seconds, text)]


def validate_cluster_ips(service: Obj, old: Obj | None) -> list[FieldError]:
    """Cluster IPs, IP families and the family policy must fit together."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        return []
    at, ips, first = _SPEC.child("clusterIPs"), spec.get("clusterIPs") or [], spec.get("clusterIP", "")
    errors: list[FieldError] = []
    if first and not ips:
        errors.append(required(at))
    elif first and ips[0] != first:
        errors.append(invalid(at, ips, "first value must match `clusterIP`"))
    elif ips and not first:
        errors.append(invalid(at, ips, "must be empty when `clusterIP` is not specified"))
    errors += _validate_families(spec)
    known = ((old or {}).get("spec") or {}).get("clusterIPs") or []
    bad: list[FieldError] = []
    for i, ip in enumerate(ips):
        if i == 0 and ip == "None":
            if len(ips) > 1:
                bad.append(invalid(at, ips, "'None' must be the first and only value"))
        elif ip not in known:
            bad += is_valid_ip_for_legacy_field(at.index(i), ip)
    errors += bad
    if len(ips) > 2:
        errors.append(invalid(at, ips, "may only hold up to 2 values"))
    return errors if bad else errors + _validate_ip_families(spec, ips, at)


def _validate_families(spec: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    families, at = spec.get("ipFamilies") or [], _SPEC.child("ipFamilies")
    for i, family in enumerate(families):
        errors += one_of(at.index(i), family, FAMILIES)
        if family in families[:i]:
            errors.append(duplicate(at.index(i), family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in FAMILY_POLICIES:
        errors.append(not_supported(_SPEC.child("ipFamilyPolicy"), policy, FAMILY_POLICIES))
    return errors


def _is_ipv6(ip: str) -> bool:
    address = parse_ip(ip)
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None


def _validate_ip_families(spec: dict[str, Any], ips: list[str], at: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(ips) > 1 and len({_is_ipv6(ip) for ip in ips}) < 2:
        errors.append(invalid(at, ips, "may specify no more than one IP for each IP family"))
    if headless(spec):
        return errors
    for i, (ip, family) in enumerate(zip(ips, spec.get("ipFamilies") or [], strict=False)):
        if family in FAMILIES and (family == "IPv6") != _is_ipv6(ip):
            text = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            errors.append(invalid(at.index(i), ip, text))
    return errors


def _validate_external_ips(spec: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    known = old.get("externalIPs") or []
    for i, ip in enumerate(spec.get("externalIPs") or ()):
        at = _SPEC.child("externalIPs").index(i)
        wrong = [] if ip in known else is_valid_ip_for_legacy_field(at, ip)
        errors += wrong or validate_endpoint_ip(ip, at)
    return errors


def _validate_unique_ports(spec: dict[str, Any], ports: list[dict[str, Any]]) -> list[FieldError]:
    path = _SPEC.child("ports")
    errors: list[FieldError] = []
    numbered = [(i, port) for i, port in enumerate(ports) if port.get("nodePort")]
    if spec.get("type") == "ClusterIP":
        text = "may not be used when `type` is 'ClusterIP'"
        errors += [forbidden(path.index(i).child("nodePort"), text) for i, _ in numbered]
    seen: set[tuple[str, int]] = set()
    for i, port in numbered:
        key = (port.get("protocol", ""), port["nodePort"])
        if key in seen:
            errors.append(duplicate(path.index(i).child("nodePort"), port["nodePort"]))
        seen.add(key)
    seen = set()
    for i, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            shown = {"protocol": key[0], "port": key[1]}
            errors.append(duplicate(path.index(i), struct_value(shown, "io.k8s.api.core.v1.ServicePort")))
        seen.add(key)
    return errors


def _validate_source_ranges(service: Obj, old: Obj | None) -> list[FieldError]:
    spec, errors = service["spec"], []
    balanced = spec.get("type") == "LoadBalancer"
    if ranges := spec.get("loadBalancerSourceRanges"):
        at = _SPEC.child("LoadBalancerSourceRanges")
        if not balanced:
            errors.append(forbidden(at, _LOAD_BALANCER_ONLY))
        known = {value.strip() for value in ((old or {}).get("spec") or {}).get("loadBalancerSourceRanges") or ()}
        for i, value in enumerate(ranges):
            if value.strip() not in known:
                errors += is_valid_cidr_for_legacy_field(at.index(i), value.strip())
        return errors
    annotation = (service["metadata"].get("annotations") or {}).get(SOURCE_RANGES)
    if annotation is None:
        return errors
    at = Path("metadata.annotations").key(SOURCE_RANGES)
    if not balanced:
        errors.append(forbidden(at, _LOAD_BALANCER_ONLY))
    before = None if old is None else (old["metadata"].get("annotations") or {}).get(SOURCE_RANGES, "")
    if annotation != before and annotation.strip():
        for value in annotation.split(","):
            errors += is_valid_cidr_for_legacy_field(at, value.strip())
    return errors


def _validate_load_balancer(spec: dict[str, Any]) -> list[FieldError]:
    if spec.get("type") != "LoadBalancer" and "allocateLoadBalancerNodePorts" in spec:
        return [forbidden(_SPEC.child("allocateLoadBalancerNodePorts"), _LOAD_BALANCER_ONLY)]
    return []


def validate_load_balancer_class(spec: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    at, name = _SPEC.child("loadBalancerClass"), spec.get("loadBalancerClass")
    errors: list[FieldError] = []
    balanced = spec.get("type") == "LoadBalancer"
    if old is not None and balanced and old.get("type") == "LoadBalancer" and old.get("loadBalancerClass") != name:
        errors.append(invalid(at, name, "may not change once set"))
    if name is not None:
        errors += checks.qualified_name(name, at) if balanced else [forbidden(at, _LOAD_BALANCER_ONLY)]
    return errors


def _validate_traffic(spec: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    policy, at = spec.get("externalTrafficPolicy", ""), _SPEC.child("externalTrafficPolicy")
    if not externally_accessible(spec):
        if policy:
            errors.append(invalid(at, policy, "may only be set for externally-accessible services"))
    elif policy not in TRAFFIC_POLICIES:
        errors.append(not_supported(at, policy, TRAFFIC_POLICIES))
    port, at = spec.get("healthCheckNodePort", 0), _SPEC.child("healthCheckNodePort")
    if not needs_health_check(spec):
        if port:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(invalid(at, port, text))
    else:
        errors += checks.port_number(port, at) if port else [required(at)]
    inside = spec.get("internalTrafficPolicy")
    if inside is not None and inside not in TRAFFIC_POLICIES:
        errors.append(not_supported(_SPEC.child("internalTrafficPolicy"), inside, TRAFFIC_POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in DISTRIBUTIONS:
        errors.append(not_supported(_SPEC.child("trafficDistribution"), distribution, DISTRIBUTIONS))
    return errors
