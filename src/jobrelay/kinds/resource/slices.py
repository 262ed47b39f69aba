"""ResourceSlices: the devices that a driver offers on a node or for many.

Fields of features that are off in this release (taints, shared counters, node selection per device, binding conditions,
several allocations of one device) are dropped before anything else reads them.
"""

from __future__ import annotations

import re
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, go_quote, invalid, required, too_long
from jobrelay.apimachinery.gostruct import json_value, struct_value
from jobrelay.apimachinery.meta import validate_immutable_field, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain, size
from jobrelay.kinds.core.checks import dns_label, dns_subdomain
from jobrelay.kinds.core.nodeselectors import validate_node_selector
from jobrelay.kinds.generation import count_spec_changes, start_generation
from jobrelay.kinds.resource.checks import each_once, pool_name, qualified_name
from jobrelay.kinds.storage.csi import driver_name
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

MAX_DEVICES: Final = 128
MAX_ATTRIBUTES: Final = 32
MAX_VALUE: Final = 64
MAX_KEY: Final = 63 + 1 + 32
_SPEC: Final = Path("spec")
_PRE_RELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    rf"(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_DISABLED_IN_DEVICE: Final = (
    "taints", "consumesCounters", "nodeName", "nodeSelector", "allNodes", "bindingConditions",
    "bindingFailureConditions", "bindsToNode", "allowMultipleAllocations",
)  # fmt: skip
_ONE_OF: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


def _drop_disabled(obj: Obj) -> None:
    spec = obj["spec"]
    spec.pop("sharedCounters", None)
    spec.pop("perDeviceNodeSelection", None)
    for device in spec.get("devices") or ():
        for name in _DISABLED_IN_DEVICE:
            device.pop(name, None)
        for capacity in (device.get("capacity") or {}).values():
            capacity.pop("requestPolicy", None)


def prepare_create(obj: Obj) -> None:
    start_generation(obj)
    _drop_disabled(obj)


def prepare_update(new: Obj, old: Obj) -> None:
    count_spec_changes(new, old)
    _drop_disabled(new)


def validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    return errors + _validate_spec(obj["spec"], None)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + _validate_spec(new["spec"], old["spec"])


def _validate_spec(spec: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    errors = driver_name(spec["driver"], _SPEC.child("driver")) + _validate_pool(spec["pool"])
    if old is not None:
        errors += validate_immutable_field(spec["pool"]["name"], old["pool"]["name"], _SPEC.child("pool", "name"))
        for name in ("driver", "nodeName"):
            errors += validate_immutable_field(spec.get(name), old.get(name), _SPEC.child(name))
    errors += _validate_place(spec)
    devices = spec.get("devices") or []
    return errors + each_once(
        devices, MAX_DEVICES, _validate_device, _SPEC.child("devices"), lambda device: device["name"]
    )


def _validate_pool(pool: dict[str, Any]) -> list[FieldError]:
    path = _SPEC.child("pool")
    errors = pool_name(pool["name"], path.child("name"))
    if pool["resourceSliceCount"] <= 0:
        detail = "must be greater than zero"
        errors.append(invalid(path.child("resourceSliceCount"), pool["resourceSliceCount"], detail))
    if pool["generation"] < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid(path.child("generation"), pool["generation"], text))
    return errors


def _validate_place(spec: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    given: list[str] = []
    node, selector, everywhere = spec.get("nodeName"), spec.get("nodeSelector"), spec.get("allNodes")
    if node == "":
        errors.append(invalid(_SPEC.child("nodeName"), node, "must be either unset or set to a non-empty string"))
    elif node is not None:
        given.append("`nodeName`")
        errors += dns_subdomain(node, _SPEC.child("nodeName"))
    if selector is not None:
        given.append("`nodeSelector`")
        errors += validate_node_selector(selector, _SPEC.child("nodeSelector"))
        errors += _validate_one_term(selector)
    if everywhere is not None:
        given += ["`allNodes`"] if everywhere else []
        if not everywhere:
            errors.append(invalid(_SPEC.child("allNodes"), False, "must be either unset or set to true"))
    if not given:
        errors.append(required(_SPEC, _ONE_OF))
    elif len(given) > 1:
        errors.append(invalid(_SPEC, "{" + ", ".join(given) + "}", f"{_ONE_OF}, but multiple fields are set"))
    return errors


def _validate_one_term(selector: dict[str, Any]) -> list[FieldError]:
    terms = selector.get("nodeSelectorTerms") or []
    if len(terms) == 1:
        return []
    path = _SPEC.child("nodeSelector", "nodeSelectorTerms")
    shown = [struct_value(term, "io.k8s.api.core.v1.NodeSelectorTerm") for term in terms]
    return [invalid(path, shown, "must have exactly one node selector term")]


def _shortened(key: str) -> str:
    rest = MAX_KEY - len("...")
    return key if size(key) <= MAX_KEY else f"{key[: (rest + 1) // 2]}...{key[len(key) - rest // 2 :]}"


def _validate_device(device: dict[str, Any], path: Path) -> list[FieldError]:
    errors = dns_label(device["name"], path.child("name"))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > MAX_ATTRIBUTES:
        text = f"the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES}"
        errors.append(invalid(path, total, text))
    for key, attribute in attributes.items():
        place = path.child("attributes").key(_shortened(key))
        errors += qualified_name(key, place) + _validate_attribute(attribute, place)
    for key in capacity:
        errors += qualified_name(key, path.child("capacity").key(_shortened(key)))
    return errors


def _validate_attribute(attribute: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None and size(text) > MAX_VALUE:
        errors.append(too_long(path.child("string"), MAX_VALUE))
    if version is not None and not _SEMVER.fullmatch(version):
        detail = "must be a string compatible with semver.org spec 2.0.0"
        errors.append(invalid(path.child("version"), version, detail))
    if version is not None and size(version) > MAX_VALUE:
        errors.append(too_long(path.child("version"), MAX_VALUE))
    if len(attribute) != 1:
        names = (("int", "IntValue"), ("bool", "BoolValue"), ("string", "StringValue"), ("version", "VersionValue"))
        shown = json_value({go: attribute.get(name) for name, go in names}) if attribute else ""
        errors.append(invalid(path, shown, "exactly one value must be specified"))
    return errors


def warnings(obj: Obj) -> list[str]:
    driver = obj["spec"]["driver"]
    if driver == driver.lower():
        return []
    quoted = go_quote(driver)
    return [f"spec.driver: driver names should be lowercase; {quoted} contains uppercase characters"]


def fields(obj: Obj) -> dict[str, str]:
    spec = obj["spec"]
    return {**metadata_fields(obj), "spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec["driver"]}


def _unsupported_field(label: str, kind: str) -> str:
    return f"field label not supported for resource.k8s.io/v1, Kind={kind}: {label}"


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("resource.k8s.io", "resourceslices"): Strategy(
        delete_returns_object=True,
        prepare_create=prepare_create,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(prepare_update, validate_update, lambda new, old: warnings(new)),
        fields=fields,
        field_labels=frozenset({"metadata.name", "spec.nodeName", "spec.driver"}),
        unsupported_field=_unsupported_field,
    )
}
