"""NetworkPolicies: who may talk to the selected pods, and whom they may talk to."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, one_of, required
from jobrelay.apimachinery.gostruct import json_value
from jobrelay.apimachinery.ips import cidr_warnings, is_valid_cidr_for_legacy_field, parse_cidr
from jobrelay.apimachinery.meta import validate_label_selector, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_valid_port_name, is_valid_port_num, name_is_dns_subdomain
from jobrelay.kinds.generation import count_spec_changes, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
POLICY_TYPES: Final = ("Ingress", "Egress")
_SPEC: Final = Path("spec")
_DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))


def default(obj: Obj) -> None:
    spec = obj["spec"]
    for direction, _ in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                if port.get("protocol") is None:
                    port["protocol"] = "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def validate(obj: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + _validate_spec(obj["spec"], _allows_bad_values(old))


def _allows_bad_values(old: Obj | None) -> bool:
    return old is not None and bool(validate_label_selector(old["spec"].get("podSelector"), Path()))


def _validate_spec(spec: dict[str, Any], lenient: bool) -> list[FieldError]:
    errors = validate_label_selector(spec.get("podSelector"), _SPEC.child("podSelector"), allow_invalid_values=lenient)
    for direction, peers in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            path = _SPEC.child(direction).index(i)
            for j, port in enumerate(rule.get("ports") or ()):
                errors += _validate_port(port, path.child("ports").index(j))
            for j, peer in enumerate(rule.get(peers) or ()):
                errors += _validate_peer(peer, path.child(peers).index(j), lenient)
    types = spec.get("policyTypes") or []
    if len(types) > len(POLICY_TYPES):
        text = "may not specify more than two policyTypes"
        return [*errors, invalid(_SPEC.child("policyTypes"), json_value(types), text)]
    for i, kind in enumerate(types):
        errors += one_of(_SPEC.child("policyTypes").index(i), kind, POLICY_TYPES)
    return errors


def _validate_port(port: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    errors += one_of(path.child("protocol"), port["protocol"], PROTOCOLS)
    number, end, place = port.get("port"), port.get("endPort"), path.child("endPort")
    if number is None:
        if end is not None:
            errors.append(invalid(place, end, "may not be specified when `port` is not specified"))
    elif isinstance(number, str):
        if end is not None:
            errors.append(invalid(place, end, "may not be specified when `port` is non-numeric"))
        errors += [invalid(path.child("port"), number, text) for text in is_valid_port_name(number)]
    else:
        errors += [invalid(path.child("port"), number, text) for text in is_valid_port_num(number)]
        if end is not None:
            if end < number:
                errors.append(invalid(place, number, "must be greater than or equal to `port`"))
            errors += [invalid(place, end, text) for text in is_valid_port_num(end)]
    return errors


def _validate_peer(peer: dict[str, Any], path: Path, lenient: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("podSelector", "namespaceSelector"):
        if peer.get(field) is not None:
            errors += validate_label_selector(peer[field], path.child(field), allow_invalid_values=lenient)
    block = peer.get("ipBlock")
    if block is not None:
        errors += _validate_block(block, path.child("ipBlock"))
    others = sum(peer.get(field) is not None for field in ("podSelector", "namespaceSelector"))
    if block is None and not others:
        errors.append(required(path, "must specify a peer"))
    elif block is not None and others:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _validate_block(block: dict[str, Any], path: Path) -> list[FieldError]:
    if not block["cidr"]:
        return [required(path.child("cidr"))]
    errors = is_valid_cidr_for_legacy_field(path.child("cidr"), block["cidr"])
    outer = parse_cidr(block["cidr"])
    if outer is None:
        return errors
    for i, text in enumerate(block.get("except") or ()):
        place = path.child("except").index(i)
        errors += is_valid_cidr_for_legacy_field(place, text)
        inner = parse_cidr(text)
        if inner is not None and not _strictly_inside(inner, outer):
            errors.append(invalid(place, text, "must be a strict subset of `cidr`"))
    return errors


def _strictly_inside(inner: tuple[Any, int], outer: tuple[Any, int]) -> bool:
    if inner[0].version != outer[0].version or outer[1] >= inner[1]:
        return False
    start = ipaddress.ip_network(inner, strict=False).network_address
    return start in ipaddress.ip_network(outer, strict=False)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    """The server validates the spec twice on this way, which shows in the list of causes."""
    errors = validate(new, old) + validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + _validate_spec(new["spec"], _allows_bad_values(old))


def _blocks(spec: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for direction, peers in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            for j, peer in enumerate(rule.get(peers) or ()):
                if peer.get("ipBlock") is not None:
                    path = _SPEC.child(direction).index(i).child(peers).index(j).child("ipBlock")
                    yield path, peer["ipBlock"]


def warnings(obj: Obj) -> list[str]:
    found: list[str] = []
    for path, block in _blocks(obj["spec"]):
        found += cidr_warnings(path.child("cidr"), block["cidr"])
        for i, text in enumerate(block.get("except") or ()):
            found += cidr_warnings(path.child("except").index(i), text)
    return found


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("networking.k8s.io", "networkpolicies"): Strategy(
        default=default,
        prepare_create=start_generation,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(count_spec_changes, validate_update, lambda new, old: warnings(new)),
    )
}
