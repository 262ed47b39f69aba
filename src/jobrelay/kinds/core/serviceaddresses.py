"""Allocation for services before validation: IP families, cluster IPs, node ports.

On the real server this happens before validation, so that an address or port which cannot be allocated is the only
error that a client gets. `begin_create` and `begin_update` allocate from a `ServiceAllocator`; they return the errors
that end the request. The cluster has one family, IPv4.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid
from jobrelay.apimachinery.ips import parse_ip
from jobrelay.kinds.core.servicechecks import validate_cluster_ips
from jobrelay.kinds.strategy import Obj

FAMILY: Final = "IPv4"
DEFAULT_RANGE: Final = "10.0.0.0/24"
NODE_PORTS: Final = range(30000, 32768)
_POLICY: Final = Path("spec.ipFamilyPolicy")


class AllocationError(ValueError):
    """An address or port that cannot be allocated; the message is the server's."""


class ServiceAllocator:
    """Allocates cluster IPs and node ports that no service has."""

    def __init__(
        self,
        services: Iterable[Mapping[str, Any]] = (),
        network: str = DEFAULT_RANGE,
        choose: random.Random | None = None,
    ) -> None:
        self._network = ipaddress.IPv4Network(network)
        self._choose = choose or random.Random()
        self._ips: set[str] = set()
        self._ports: set[int] = set()
        for service in services:
            self.note(service)

    def note(self, service: Mapping[str, Any]) -> None:
        """Takes what a stored service has."""
        spec = service["spec"]
        self._ips.update(ip for ip in spec.get("clusterIPs") or () if ip != "None")
        self._ports.update(node_ports(spec))

    def take_ip(self, wanted: str = "") -> str:
        if wanted:
            address = ipaddress.ip_address(str(parse_ip(wanted)))
            if address not in self._network or address in (self._network[0], self._network[-1]):
                raise AllocationError("the provided network does not match the current range")
            if str(address) in self._ips:
                raise AllocationError("provided IP is already allocated")
            self._ips.add(str(address))
            return wanted
        size = self._network.num_addresses - 2
        for offset in self._choose.sample(range(1, size + 1), size):
            candidate = str(self._network[offset])
            if candidate not in self._ips:
                self._ips.add(candidate)
                return candidate
        raise AllocationError("range is full")

    def take_port(self, wanted: int = 0) -> int:
        if wanted:
            if wanted not in NODE_PORTS:
                last = NODE_PORTS[-1]
                raise AllocationError(
                    f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS[0]}-{last}"
                )
            if wanted in self._ports:
                raise AllocationError("provided port is already allocated")
        else:
            wanted = self._choose.choice([port for port in NODE_PORTS if port not in self._ports])
        self._ports.add(wanted)
        return wanted


def node_ports(spec: dict[str, Any]) -> list[int]:
    ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    return [*ports, spec["healthCheckNodePort"]] if spec.get("healthCheckNodePort") else ports


def needs_cluster_ip(service: Obj) -> bool:
    return bool(service["spec"].get("type") != "ExternalName")


def is_headless(service: Obj) -> bool:
    return bool(service["spec"].get("clusterIPs") == ["None"])


def needs_node_ports(service: Obj) -> bool:
    spec = service["spec"]
    if spec.get("type") == "LoadBalancer":
        return bool(spec.get("allocateLoadBalancerNodePorts", True))
    return bool(spec.get("type") == "NodePort")


def needs_health_check_port(service: Obj) -> bool:
    return bool(
        service["spec"].get("type") == "LoadBalancer" and service["spec"].get("externalTrafficPolicy") == "Local"
    )


def begin_create(service: Obj, pool: ServiceAllocator) -> list[FieldError]:
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    errors = _fill_families(service, None)
    if not errors:
        errors = _take_cluster_ips(service, pool) or _take_node_ports(service, None, pool)
    return errors


def begin_update(service: Obj, old: Obj, pool: ServiceAllocator) -> list[FieldError]:
    _keep_allocated(service, old)
    _follow_cluster_ip(service["spec"], old["spec"])
    errors = _fill_families(service, old)
    if errors:
        return errors
    if needs_cluster_ip(service) and not needs_cluster_ip(old):
        errors = _take_cluster_ips(service, pool)
    return errors or _take_node_ports(service, old, pool)


def _keep_allocated(service: Obj, old: Obj) -> None:
    """What was given to the service stays with it when a client leaves it out."""
    spec, before = service["spec"], old["spec"]
    if needs_cluster_ip(service) and needs_cluster_ip(old):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    if needs_node_ports(service) and needs_node_ports(old):
        earlier, now = ({p["nodePort"] for p in s.get("ports") or () if p.get("nodePort")} for s in (before, spec))
        by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            kept = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and kept and kept not in earlier & now:
                port["nodePort"] = kept
    field = "healthCheckNodePort"
    if needs_health_check_port(service) and needs_health_check_port(old) and not spec.get(field) and before.get(field):
        spec[field] = before[field]


def _follow_cluster_ip(spec: dict[str, Any], before: dict[str, Any]) -> None:
    """A change of only the singular field applies to both."""
    single, plural, old_single, old_plural = (
        source.get(field) for source in (spec, before) for field in ("clusterIP", "clusterIPs")
    )
    if old_plural and not plural and old_single == single:
        spec["clusterIPs"] = list(old_plural)
    if (old_single or "") != (single or "") and old_plural == plural:
        if old_single and not single:
            spec.pop("clusterIPs", None)
        elif single:
            spec["clusterIPs"] = [single]


def _fill_families(service: Obj, old: Obj | None) -> list[FieldError]:
    spec = service["spec"]
    if not needs_cluster_ip(service):
        return []
    without_selector = spec.get("clusterIP") == "None" and not spec.get("selector")
    if "ipFamilyPolicy" not in spec:
        fresh = "RequireDualStack" if without_selector else "SingleStack"
        spec["ipFamilyPolicy"] = (old or {}).get("spec", {}).get("ipFamilyPolicy") or fresh
    errors = validate_cluster_ips(service, old)
    if errors:
        return errors
    policy = spec["ipFamilyPolicy"]
    errors = _validate_policy(spec, policy, (old or {}).get("spec"))
    families = _add_families_of_ips(spec, errors)
    if errors:
        return errors
    if without_selector:
        spec["ipFamilies"] = families = families or [FAMILY]
        if len(families) < 2 and policy != "SingleStack":
            spec["ipFamilies"] = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
        return []
    if policy == "RequireDualStack":
        errors.append(invalid(_POLICY, policy, "this cluster is not configured for dual-stack services"))
    for i, family in enumerate(families):
        if family != FAMILY:
            errors.append(invalid(Path("spec.ipFamilies").index(i), family, "not configured on this cluster"))
    if not errors:
        spec["ipFamilies"] = families or [FAMILY]
    return errors


def _validate_policy(spec: dict[str, Any], policy: str, before: dict[str, Any] | None) -> list[FieldError]:
    errors: list[FieldError] = []
    single = policy == "SingleStack"
    for field, one, many in (
        ("clusterIPs", "secondary cluster IP", "multiple cluster IPs"),
        ("ipFamilies", "secondary IP family", "multiple IP families"),
    ):
        values, old_values = spec.get(field) or [], (before or {}).get(field) or []
        if before is not None and single and values == old_values and len(values) > 1:
            spec[field] = values = values[:1]
        elif before is not None and not single and values and len(values) < len(old_values):
            errors.append(invalid(_POLICY, policy, f"must be 'SingleStack' to release the {one}"))
        if single and len(values) == 2:
            text = f"must be 'RequireDualStack' or 'PreferDualStack' when {many} are specified"
            errors.append(invalid(_POLICY, policy, text))
    return errors


def _add_families_of_ips(spec: dict[str, Any], errors: list[FieldError]) -> list[str]:
    families, ips = list(spec.get("ipFamilies") or ()), spec.get("clusterIPs") or []
    for i, ip in enumerate(ips):
        if ip == "None":
            break
        family = "IPv6" if isinstance(parse_ip(ip), ipaddress.IPv6Address) else "IPv4"
        if i >= len(families) and family == FAMILY:
            families.append(family)
        elif i >= len(families):
            text = f"{family} is not configured on this cluster"
            errors.append(invalid(Path("spec.clusterIPs").index(i), ips, text))
    return families


def _take_cluster_ips(service: Obj, pool: ServiceAllocator) -> list[FieldError]:
    if not needs_cluster_ip(service) or is_headless(service):
        return []
    spec, path = service["spec"], Path("spec.clusterIPs")
    wanted = (spec.get("clusterIPs") or [""])[0]
    try:
        spec["clusterIP"] = pool.take_ip(wanted)
    except AllocationError as taken:
        text = f"failed to allocate IP {wanted}: {taken}" if wanted else f"failed to allocate IP: {taken}"
        return [invalid(path, spec.get("clusterIPs") or [""], text)]
    spec["clusterIPs"] = [spec["clusterIP"]]
    return []


def _take_node_ports(service: Obj, old: Obj | None, pool: ServiceAllocator) -> list[FieldError]:
    spec = service["spec"]
    owned = set(node_ports(old["spec"])) if old is not None else set()
    given: dict[int, int] = {}
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        for i, port in enumerate(spec.get("ports") or ()):
            try:
                _take_node_port(service, port, owned, given, pool, created=old is None)
            except AllocationError as taken:
                at = Path("spec.ports").index(i).child("nodePort")
                return [invalid(at, port.get("nodePort") or _requested(port, spec), str(taken))]
    if needs_health_check_port(service) and (old is None or not needs_health_check_port(old)):
        try:
            spec["healthCheckNodePort"] = pool.take_port(spec.get("healthCheckNodePort", 0))
        except AllocationError as taken:
            number = spec["healthCheckNodePort"]
            text = f"failed to allocate requested HealthCheck NodePort {number}: {taken}"
            return [FieldError("InternalError", "", number, text)]
    return []


def _requested(port: dict[str, Any], spec: dict[str, Any]) -> int:
    """The node port that an entry with the same service port requests: TCP and UDP share one."""
    return next((p["nodePort"] for p in spec["ports"] if p.get("port") == port.get("port") and p.get("nodePort")), 0)


def _take_node_port(
    service: Obj, port: dict[str, Any], owned: set[int], given: dict[int, int], pool: ServiceAllocator, *, created: bool
) -> None:
    wanted, number = port.get("nodePort", 0), port.get("port", 0)
    if not wanted and not needs_node_ports(service):
        return
    if wanted in owned or (wanted and wanted == given.get(number)):
        return
    if created and not wanted:
        wanted = given.get(number) or _requested(port, service["spec"])
        if wanted and wanted == given.get(number):
            port["nodePort"] = wanted
            return
    port["nodePort"] = pool.take_port(wanted)
    given.setdefault(number, port["nodePort"])
