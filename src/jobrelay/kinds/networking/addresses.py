"""ServiceCIDRs, the ranges that Services get their addresses from, and IPAddresses, the ones that are taken."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.ips import is_valid_cidr, is_valid_ip, parse_cidr
from jobrelay.apimachinery.meta import IMMUTABLE, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain, name_is_path_segment
from jobrelay.kinds.core.checks import dns_subdomain
from jobrelay.kinds.generation import keep_all_but_status
from jobrelay.kinds.networking.ingress import path_segment
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_CIDRS: Final = Path("spec.cidrs")
_PARENT: Final = Path("spec.parentRef")
_ONE_PER_FAMILY: Final = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def validate_cidr(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    return errors + _validate_cidrs(obj["spec"])


def _validate_cidrs(spec: dict[str, Any]) -> list[FieldError]:
    cidrs = spec.get("cidrs") or []
    if not cidrs:
        return [required(_CIDRS, "at least one CIDR required")]
    if len(cidrs) > 2:
        shown = struct_value(spec, "io.k8s.api.networking.v1.ServiceCIDRSpec")
        return [invalid(_CIDRS, shown, "may only hold up to 2 values")]
    errors: list[FieldError] = []
    for i, cidr in enumerate(cidrs):
        errors += is_valid_cidr(_CIDRS.index(i), cidr)
    families = [parsed[0].version for parsed in map(parse_cidr, cidrs) if parsed is not None]
    if len(families) == 2 and families[0] == families[1]:
        errors.append(invalid(_CIDRS, cidrs, _ONE_PER_FAMILY))
    return errors


def validate_cidr_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    before, after = old["spec"].get("cidrs") or [], new["spec"].get("cidrs") or []
    if len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        errors += [invalid(_CIDRS.index(i), to, IMMUTABLE) for i, (was, to) in pairs if was != to]
    elif len(before) == 1 and len(after) == 2:
        if before[0] != after[0]:
            errors.append(invalid(_CIDRS.index(0), after[0], IMMUTABLE))
        errors += _validate_cidrs(new["spec"])
    else:
        errors.append(invalid(_CIDRS, after or None, IMMUTABLE))
    return errors


def _address_name(name: str, prefix: bool) -> list[str]:
    return [error.detail for error in is_valid_ip(Path(), name)]


def validate_address(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=_address_name)
    parent = obj["spec"].get("parentRef")
    if parent is None:
        return [*errors, required(_PARENT)]
    if group := parent.get("group"):
        errors += dns_subdomain(group, _PARENT.child("group"))
    for field in ("resource", "name"):
        errors += path_segment(parent.get(field, ""), _PARENT.child(field))
    namespace = parent.get("namespace", "")
    texts = name_is_path_segment(namespace, False) if namespace else []
    return errors + [invalid(_PARENT.child("namespace"), namespace, text) for text in texts]


def validate_address_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_address(new) + validate_object_meta_update(new["metadata"], old["metadata"])
    if new["spec"].get("parentRef") != old["spec"].get("parentRef"):
        shown = struct_value(new["spec"].get("parentRef"), "io.k8s.api.networking.v1.ParentReference")
        errors.append(invalid(_PARENT, shown, IMMUTABLE))
    return errors


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("networking.k8s.io", "servicecidrs"): Strategy(
        validate_create=validate_cidr,
        update=UpdateStrategy(validate=validate_cidr_update),
        subresources={
            "status": UpdateStrategy(
                keep_all_but_status, lambda new, old: validate_object_meta_update(new["metadata"], old["metadata"])
            )
        },
    ),
    ("networking.k8s.io", "ipaddresses"): Strategy(
        validate_create=validate_address, update=UpdateStrategy(validate=validate_address_update)
    ),
}
