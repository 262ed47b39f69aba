"""EndpointSlices: the addresses behind a Service, in slices of at most a thousand."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, duplicate, invalid, not_supported, one_of, required, too_many
from jobrelay.apimachinery.ips import ip_warnings, is_valid_ip, is_valid_ip_for_legacy_field, parse_ip
from jobrelay.apimachinery.meta import validate_immutable_field, validate_object_meta
from jobrelay.apimachinery.names import is_fully_qualified_domain_name, is_valid_label_value, name_is_dns_subdomain
from jobrelay.kinds.core.checks import dns_label, dns_subdomain, qualified_name
from jobrelay.kinds.core.endpoints import validate_endpoint_ip
from jobrelay.kinds.generation import bump_generation, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
MAX_ENDPOINTS: Final = 1000
MAX_ADDRESSES: Final = 100
MAX_PORTS: Final = 20000
MAX_HINTS: Final = 8
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_FQDN_WARNING: Final = "spec.addressType: FQDN endpoints are deprecated"


def default(obj: Obj) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _drop_topology(obj: Obj) -> None:
    for endpoint in obj.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def prepare_create(obj: Obj) -> None:
    start_generation(obj)
    _drop_topology(obj)


def prepare_update(new: Obj, old: Obj) -> None:
    fields = ("addressType", "endpoints", "ports")
    changed = any(new.get(name) != old.get(name) for name in fields)
    changed = changed or (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {})
    bump_generation(new, old, changed=changed)
    _drop_topology(new)


def validate(obj: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    if not obj["addressType"]:
        errors.append(required(Path("addressType")))
    elif obj["addressType"] not in ADDRESS_TYPES:
        errors.append(not_supported(Path("addressType"), obj["addressType"], ADDRESS_TYPES))
    errors += _validate_ports(obj.get("ports") or [])
    if old is None or old.get("endpoints") != obj.get("endpoints"):
        errors += _validate_endpoints(obj.get("endpoints") or [], obj["addressType"])
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate(new, old) + validate_immutable_field(new["addressType"], old["addressType"], Path("addressType"))


def _validate_ports(ports: list[dict[str, Any]]) -> list[FieldError]:
    if len(ports) > MAX_PORTS:
        return [too_many(Path("ports"), len(ports), MAX_PORTS)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, port in enumerate(ports):
        path = Path("ports").index(i)
        errors += dns_label(port["name"], path.child("name")) if port["name"] else []
        if port["name"] in names:
            errors.append(duplicate(path.child("name"), port["name"]))
        names.add(port["name"])
        errors += one_of(path.child("protocol"), port["protocol"], PROTOCOLS)
        if port.get("appProtocol") is not None:
            errors += qualified_name(port["appProtocol"], path.child("appProtocol"))
    return errors


def _validate_endpoints(endpoints: list[dict[str, Any]], kind: str) -> list[FieldError]:
    if len(endpoints) > MAX_ENDPOINTS:
        return [too_many(Path("endpoints"), len(endpoints), MAX_ENDPOINTS)]
    errors: list[FieldError] = []
    for i, endpoint in enumerate(endpoints):
        errors += _validate_endpoint(endpoint, kind, Path("endpoints").index(i))
    return errors


def _validate_endpoint(endpoint: dict[str, Any], kind: str, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    addresses, place = endpoint.get("addresses") or [], path.child("addresses")
    if not addresses:
        errors.append(required(place, "must contain at least 1 address"))
    elif len(addresses) > MAX_ADDRESSES:
        errors.append(too_many(place, len(addresses), MAX_ADDRESSES))
    for i, address in enumerate(addresses):
        errors += _validate_address(address, kind, place, i)
    if endpoint.get("nodeName") is not None:
        errors += dns_subdomain(endpoint["nodeName"], path.child("nodeName"))
    if endpoint.get("hostname") is not None:
        errors += dns_label(endpoint["hostname"], path.child("hostname"))
    return errors + _validate_hints(endpoint.get("hints") or {}, path.child("hints"))


def _validate_address(address: str, kind: str, path: Path, index: int) -> list[FieldError]:
    if kind == "FQDN":
        return is_fully_qualified_domain_name(path.index(index), address)
    if kind not in ("IPv4", "IPv6"):
        return []
    check = is_valid_ip_for_legacy_field if kind == "IPv4" else is_valid_ip
    if errors := check(path.index(index), address):
        return errors
    wanted = ipaddress.IPv4Address if kind == "IPv4" else ipaddress.IPv6Address
    found = [] if isinstance(parse_ip(address), wanted) else [invalid(path, address, f"must be an {kind} address")]
    return found + validate_endpoint_ip(address, path.index(index))


def _validate_hints(hints: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("forZones", "forNodes"):
        entries = hints.get(field) or []
        if len(entries) > MAX_HINTS:
            return [*errors, too_many(path.child(field), len(entries), MAX_HINTS)]
        names: set[str] = set()
        for i, entry in enumerate(entries):
            name, place = entry["name"], path.child(field).index(i).child("name")
            errors += [duplicate(place, name)] if name in names else []
            names.add(name)
            texts = is_valid_label_value(name) if field == "forZones" else name_is_dns_subdomain(name, False)
            errors += [invalid(place, name, text) for text in texts]
    return errors


def _address_warnings(obj: Obj) -> list[str]:
    if (obj["metadata"].get("labels") or {}).get(MANAGED_BY) in _CONTROLLERS:
        return []
    found: list[str] = []
    for i, endpoint in enumerate(obj.get("endpoints") or ()):
        for j, address in enumerate(endpoint.get("addresses") or ()):
            found += ip_warnings(Path("endpoints").index(i).child("addresses").index(j), address)
    return found


def warnings(obj: Obj) -> list[str]:
    return ([_FQDN_WARNING] if obj["addressType"] == "FQDN" else []) + _address_warnings(obj)


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("discovery.k8s.io", "endpointslices"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(prepare_update, validate_update, lambda new, old: _address_warnings(new)),
    )
}
