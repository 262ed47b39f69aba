"""Nodes: taints, pod CIDRs, capacities. A new node is not ready.

The singular `podCIDR` and the first of `podCIDRs` are one value. A node may get its CIDRs and provider id once and
keeps them. Only the status subresource changes the status, but a node can be created with one.
"""

from __future__ import annotations

import ipaddress
import re
from itertools import zip_longest
from typing import Any, Final

from jobrelay.apimachinery.field import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    go_quote,
    internal,
    invalid,
    not_supported,
    required,
)
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.ips import cidr_warnings, is_valid_cidr_for_legacy_field, parse_cidr
from jobrelay.apimachinery.meta import validate_label_name, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_valid_label_value, name_is_dns_subdomain, size
from jobrelay.kinds.core.checks import unsupported_label
from jobrelay.kinds.core.resources import round_amounts, validate_amount
from jobrelay.kinds.generation import keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*", re.ASCII)
_FEATURE_TEXT: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/'"
    " (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_CIDR_ONCE: Final = 'node updates may not change podCIDR except from "" to valid'
_ID_ONCE: Final = 'node updates may not change providerID except from "" to valid'


def default(node: Obj) -> None:
    spec, status = node["spec"], node["status"]
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])
    round_amounts(status.get("capacity"))
    round_amounts(status.get("allocatable"))
    single, several = spec.get("podCIDR", ""), spec.get("podCIDRs") or []
    if single and several[:1] != [single]:
        spec["podCIDRs"] = [single]
    elif several:
        spec["podCIDR"] = several[0]


def prepare_create(node: Obj) -> None:
    node["spec"].pop("configSource", None)
    for name in ("config", "declaredFeatures"):
        node["status"].pop(name, None)
    taints = node["spec"].setdefault("taints", [])
    if not any(taint.get("key") == NOT_READY["key"] and taint.get("effect") == NOT_READY["effect"] for taint in taints):
        taints.append(dict(NOT_READY))


def prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    new["spec"].pop("configSource", None)


def prepare_status(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    new["status"].pop("config", None)


def validate(node: Obj) -> list[FieldError]:
    errors = validate_object_meta(node["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    errors += validate_taints(node["spec"].get("taints") or [], Path("metadata.taints"))
    errors += _validate_amounts(node["status"])
    swap = (node["status"].get("nodeInfo") or {}).get("swap") or {}
    if swap.get("capacity", 1) <= 0:
        errors.append(invalid(Path("metadata.nodeSwapStatus.capacity"), swap["capacity"], "must be greater than zero"))
    return errors + _validate_cidrs(node["spec"].get("podCIDRs") or [])


def validate_taints(taints: list[dict[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        at, key, effect = path.index(i), taint.get("key", ""), taint.get("effect", "")
        errors += validate_label_name(key, at.child("key"))
        if texts := is_valid_label_value(taint.get("value", "")):
            errors.append(invalid(at.child("value"), taint["value"], ";".join(texts)))
        if not effect:
            errors.append(required(at.child("effect")))
        elif effect not in TAINT_EFFECTS:
            errors.append(not_supported(at.child("effect"), effect, TAINT_EFFECTS))
        if (effect, key) in seen:
            value = struct_value(taint, "io.k8s.api.core.v1.Taint")
            detail = "taints must be unique by key and effect pair"
            errors.append(FieldError("FieldValueDuplicate", str(at), value, detail))
        seen.add((effect, key))
    return errors


def _validate_amounts(status: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("capacity", "allocatable"):
        for name, amount in sorted((status.get(field) or {}).items()):
            errors += validate_amount(name, amount, _STATUS.child(field, name))
    return errors


def _validate_features(features: list[str]) -> list[FieldError]:
    """Dropped from new nodes while the feature is off, but the status subresource lets them in."""
    path = _STATUS.child("declaredFeatures")
    errors: list[FieldError] = []
    for i, (feature, following) in enumerate(zip_longest(features, features[1:])):
        if size(feature) > 253:
            text = f"invalid feature name {go_quote(feature)}: must be no more than 253 characters"
            errors.append(invalid(path.index(i), feature, text))
        elif not _FEATURE.fullmatch(feature):
            errors.append(invalid(path.index(i), feature, f"invalid feature name {go_quote(feature)}: {_FEATURE_TEXT}"))
        if following == feature:
            errors.append(duplicate(path.index(i + 1), following))
        elif following is not None and feature > following:
            errors.append(invalid(path.index(i + 1), following, "list must be sorted alphabetically"))
    return errors


def _validate_cidrs(cidrs: list[str]) -> list[FieldError]:
    path = _SPEC.child("podCIDRs")
    errors: list[FieldError] = []
    for i, cidr in enumerate(cidrs):
        errors += is_valid_cidr_for_legacy_field(path.index(i), cidr)
    if len(cidrs) < 2:
        return errors
    families = [_family(cidr) for cidr in cidrs]
    if 0 in families:
        first = families.index(0)
        text = f"invalid CIDR[{first}]: <nil> (invalid CIDR address: {cidrs[first]})"
        errors.append(internal(path, f"invalid PodCIDRs. failed to check with dual stack with error:{text}"))
    if len(cidrs) > 2 or set(families) != {4, 6}:
        errors.append(invalid(path, cidrs, "may specify no more than one CIDR for each IP family"))
    return errors


def _family(cidr: str) -> int:
    parsed = parse_cidr(cidr)
    return 0 if parsed is None else (6 if isinstance(parsed[0], ipaddress.IPv6Address) else 4)


def validate_changes(new: Obj, old: Obj) -> list[FieldError]:
    """What any update must satisfy, of the node or of its status."""
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += _validate_amounts(new["status"])
    errors += _validate_features(new["status"].get("declaredFeatures") or [])
    seen: list[dict[str, Any]] = []
    for i, address in enumerate(new["status"].get("addresses") or ()):
        if address in seen:
            value = struct_value(address, "io.k8s.api.core.v1.NodeAddress")
            errors.append(duplicate(_STATUS.child("addresses").index(i), value))
        seen.append(address)
    errors += _validate_set_once(new["spec"], old["spec"])
    errors += validate_taints(new["spec"].get("taints") or [], Path("metadata.taints"))
    if new["spec"].get("externalID", "") != old["spec"].get("externalID", ""):
        errors.append(forbidden(_SPEC.child("externalID"), "may not be updated"))
    return errors


def _validate_set_once(new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    before, after = old.get("podCIDRs") or [], new.get("podCIDRs") or []
    changes = 1 if len(before) != len(after) else sum(a != b for a, b in zip(before, after, strict=True))
    if before:
        errors += [forbidden(_SPEC.child("podCIDRs"), _CIDR_ONCE)] * changes
    if old.get("providerID") and old["providerID"] != new.get("providerID", ""):
        errors.append(forbidden(_SPEC.child("providerID"), _ID_ONCE))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate(new) + validate_changes(new, old)


def warnings(node: Obj) -> list[str]:
    spec, texts = node["spec"], []
    if "configSource" in spec:
        texts.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        texts.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for i, cidr in enumerate(spec.get("podCIDRs") or ()):
        texts += cidr_warnings(_SPEC.child("podCIDRs").index(i), cidr)
    return texts


def fields(node: Obj) -> dict[str, str]:
    return metadata_fields(node) | {"spec.unschedulable": "true" if node["spec"].get("unschedulable") else "false"}


STRATEGIES: Final = {
    ("", "nodes"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(prepare_update, validate_update, lambda new, old: warnings(new)),
        subresources={"status": UpdateStrategy(prepare_status, validate_changes)},
        fields=fields,
        field_labels=frozenset({"metadata.name", "spec.unschedulable"}),
        unsupported_field=unsupported_label,
        reset_fields={"": (("status",),), "status": (("spec",),)},
    )
}
