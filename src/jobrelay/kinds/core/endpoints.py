"""Endpoints: addresses and ports behind a service. Deprecated in favour of EndpointSlices."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid, one_of, required
from jobrelay.apimachinery.ips import ip_warnings, is_valid_ip_for_legacy_field, parse_ip
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.core.checks import PROTOCOLS, dns_label, port_number, qualified_name
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
CONTROLLER: Final = "endpoint-controller"


def default(endpoints: Obj) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def validate(endpoints: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(endpoints["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    subsets = endpoints.get("subsets") or []
    if old is not None and (old.get("subsets") or []) == subsets:
        return errors
    for i, subset in enumerate(subsets):
        errors += _validate_subset(subset, Path("subsets").index(i))
    return errors


def _validate_subset(subset: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
    for field in ("addresses", "notReadyAddresses"):
        for i, address in enumerate(subset.get(field) or ()):
            errors += _validate_address(address, path.child(field).index(i))
    ports = subset.get("ports") or []
    for i, port in enumerate(ports):
        errors += _validate_port(port, path.child("ports").index(i), name_required=len(ports) > 1)
    return errors


def _validate_address(address: dict[str, Any], path: Path) -> list[FieldError]:
    ip = address.get("ip", "")
    errors = is_valid_ip_for_legacy_field(path.child("ip"), ip)
    if address.get("hostname"):
        errors += dns_label(address["hostname"], path.child("hostname"))
    if "nodeName" in address:
        name = address["nodeName"]
        errors += [invalid(path.child("nodeName"), name, text) for text in name_is_dns_subdomain(name, False)]
    return errors + validate_endpoint_ip(ip, path.child("ip"))


def validate_endpoint_ip(value: str, path: Path) -> list[FieldError]:
    """Refuses addresses that are not reachable from other machines."""
    ip = parse_ip(value)
    if ip is None:
        return [invalid(path, value, "must be a valid IP address")]
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    errors: list[FieldError] = []
    if ip.is_unspecified:
        errors.append(invalid(path, value, f"may not be unspecified ({value})"))
    if ip.is_loopback:
        errors.append(invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if ip.is_link_local:
        errors.append(invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if _link_local_multicast(ip):
        errors.append(invalid(path, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
    return errors


def _link_local_multicast(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    packed = ip.packed
    return packed[:3] == b"\xe0\x00\x00" if ip.version == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _validate_port(port: dict[str, Any], path: Path, *, name_required: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name, protocol = port.get("name", ""), port.get("protocol", "")
    if name:
        errors += dns_label(name, path.child("name"))
    elif name_required:
        errors.append(required(path.child("name")))
    errors += port_number(port.get("port", 0), path.child("port"))
    errors += one_of(path.child("protocol"), protocol, PROTOCOLS)
    if "appProtocol" in port:
        errors += qualified_name(port["appProtocol"], path.child("appProtocol"))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(new["metadata"], old["metadata"]) + validate(new, old)


def warnings(endpoints: Obj) -> list[str]:
    if (endpoints["metadata"].get("labels") or {}).get(MANAGED_BY) == CONTROLLER:
        return []
    texts: list[str] = []
    for i, subset in enumerate(endpoints.get("subsets") or ()):
        for field in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(field) or ()):
                at = Path("subsets").index(i).child(field).index(j).child("ip")
                texts += ip_warnings(at, address.get("ip", ""))
    return texts


STRATEGIES: Final = {
    ("", "endpoints"): Strategy(
        default=default,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(validate=validate_update, warn=lambda new, old: warnings(new)),
        create_on_update=True,
    )
}
