"""ResourceClaims and their templates. The spec is immutable; the allocation is in the status.

Fields of features that are off in this release (tolerations, distinctAttribute, capacity requests, binding conditions,
shares) are dropped before anything else reads them.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import (
    FieldError,
    Path,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from jobrelay.apimachinery.gostruct import json_value, struct_value
from jobrelay.apimachinery.ips import is_valid_interface_address
from jobrelay.apimachinery.meta import IMMUTABLE, validate_conditions, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain, size
from jobrelay.kinds.core.checks import dns_label, dns_subdomain
from jobrelay.kinds.core.nodeselectors import validate_node_selector
from jobrelay.kinds.core.pod.claims import validate_template_metadata
from jobrelay.kinds.generation import keep_all_but_status, keep_status
from jobrelay.kinds.resource import checks
from jobrelay.kinds.storage.csi import driver_name
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

MAX_REQUESTS: Final = 32
MAX_CONSTRAINTS: Final = 32
MAX_ALTERNATIVES: Final = 8
MAX_RESULTS: Final = 32
MAX_RESERVED: Final = 256
MAX_CONDITIONS: Final = 8
MAX_DATA: Final = 10 * 1024
MAX_INTERFACE_NAME: Final = 256
MAX_HARDWARE_ADDRESS: Final = 128
MAX_IPS: Final = 16
_V1: Final = "io.k8s.api.resource.v1."
_REFERENCE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
_STATUS: Final = Path("status")


def _exact_requests(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for request in spec["devices"].get("requests") or ():
        found += [request["exactly"]] if request.get("exactly") is not None else []
        found += request.get("firstAvailable") or []
    return found


def _default_spec(spec: dict[str, Any]) -> None:
    for request in _exact_requests(spec):
        if not request.get("allocationMode"):
            request["allocationMode"] = "ExactCount"
        if request["allocationMode"] == "ExactCount" and not request.get("count"):
            request["count"] = 1


def _drop_disabled(spec: dict[str, Any]) -> None:
    for request in _exact_requests(spec):
        request.pop("tolerations", None)
        request.pop("capacity", None)
    for constraint in spec["devices"].get("constraints") or ():
        constraint.pop("distinctAttribute", None)


def _names(spec: dict[str, Any]) -> dict[str, set[str]]:
    return {
        request["name"]: {alternative["name"] for alternative in request.get("firstAvailable") or ()}
        for request in spec["devices"].get("requests") or ()
    }


def _validate_spec(spec: dict[str, Any], path: Path) -> list[FieldError]:
    devices, names = spec["devices"], _names(spec)

    def constraint(item: dict[str, Any], place: Path) -> list[FieldError]:
        errors = _references(item.get("requests") or [], names, place.child("requests"))
        if item.get("matchAttribute") is None:
            return [*errors, required(place.child("matchAttribute"))]
        return errors + checks.fully_qualified_name(item["matchAttribute"], place.child("matchAttribute"))

    def config(item: dict[str, Any], place: Path) -> list[FieldError]:
        errors = _references(item.get("requests") or [], names, place.child("requests"))
        return errors + checks.device_configuration(item, place)

    path = path.child("devices")
    requests = devices.get("requests") or []
    errors = checks.each_once(
        requests, MAX_REQUESTS, _validate_request, path.child("requests"), lambda item: item["name"]
    )
    errors += checks.each(devices.get("constraints") or [], MAX_CONSTRAINTS, constraint, path.child("constraints"))
    return errors + checks.each(devices.get("config") or [], checks.MAX_CONFIGS, config, path.child("config"))


def _references(items: list[str], names: dict[str, set[str]], path: Path) -> list[FieldError]:
    return checks.each_once(items, MAX_REQUESTS, lambda name, place: _validate_reference(name, names, place), path)


def _validate_reference(name: str, names: dict[str, set[str]], path: Path) -> list[FieldError]:
    parts = name.split("/")
    if len(parts) > 2:
        return [invalid(path, name, _REFERENCE)]
    errors = [error for part in parts for error in dns_label(part, path)]
    known = parts[0] in names and (len(parts) == 1 or parts[1] in names[parts[0]])
    return errors if known else [*errors, invalid(path, name, _REFERENCE)]


def _validate_request(request: dict[str, Any], path: Path) -> list[FieldError]:
    errors = dns_label(request["name"], path.child("name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        return [*errors, required(path, _ONE_OF)]
    if exactly is not None and alternatives:
        return [*errors, invalid(path, None, f"{_ONE_OF}, but multiple fields are set")]
    if exactly is not None:
        return errors + _validate_exact(exactly, path.child("exactly"))

    def alternative(item: dict[str, Any], place: Path) -> list[FieldError]:
        return dns_label(item["name"], place.child("name")) + _validate_exact(item, place)

    place = path.child("firstAvailable")
    return errors + checks.each_once(alternatives, MAX_ALTERNATIVES, alternative, place, lambda item: item["name"])


def _validate_exact(request: dict[str, Any], path: Path) -> list[FieldError]:
    name, place = request["deviceClassName"], path.child("deviceClassName")
    errors = dns_subdomain(name, place) if name else [required(place)]
    errors += checks.selectors(request.get("selectors") or [], path.child("selectors"))
    mode, count = request["allocationMode"], request.get("count", 0)
    if mode == "All":
        if count:
            text = "must not be specified when allocationMode is 'All'"
            errors.append(invalid(path.child("count"), count, text))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(path.child("count"), count, "must be greater than zero"))
    else:
        errors.append(not_supported(path.child("allocationMode"), mode, ("All", "ExactCount")))
    return errors


def prepare_create(obj: Obj) -> None:
    obj["status"] = {}
    _drop_disabled(obj["spec"])


def prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    _drop_disabled(new["spec"])


def _validate_meta(obj: Obj) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)


def validate(obj: Obj) -> list[FieldError]:
    return _validate_meta(obj) + _validate_spec(obj["spec"], Path("spec"))


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = _validate_meta(new) + validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + _unchanged(new["spec"], old["spec"], Path("spec"), "ResourceClaimSpec")


def _unchanged(new: Any, old: Any, path: Path, kind: str) -> list[FieldError]:
    return [] if new == old else [invalid(path, struct_value(new, _V1 + kind), IMMUTABLE)]


def _device_id(device: dict[str, Any]) -> str:
    return f"{device['driver']}/{device['pool']}/{device['device']}"


def _allocated(status: dict[str, Any]) -> set[str]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    return {_device_id(result) for result in results}


def prepare_status(new: Obj, old: Obj) -> None:
    keep_all_but_status(new, old)
    status = new["status"]
    for result in ((status.get("allocation") or {}).get("devices") or {}).get("results") or ():
        for name in ("shareID", "consumedCapacity", "bindingConditions", "bindingFailureConditions"):
            result.pop(name, None)
    gone = _allocated(old.get("status") or {}) - _allocated(status)
    devices = [device for device in status.get("devices") or () if _device_id(device) not in gone]
    for device in devices:
        device.pop("shareID", None)
    status.pop("devices", None)
    if devices:
        status["devices"] = devices


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    status, before = new["status"], old.get("status") or {}
    reserved, path = status.get("reservedFor") or [], _STATUS.child("reservedFor")
    errors += checks.each_once(reserved, MAX_RESERVED, _validate_consumer, path, lambda item: item["uid"])
    allocated = _allocated(status)
    errors += checks.each_once(
        status.get("devices") or [],
        -1,
        lambda device, place: _validate_device(device, allocated, place),
        _STATUS.child("devices"),
        _device_id,
    )
    allocation, was = status.get("allocation"), before.get("allocation")
    if reserved and allocation is None:
        errors.append(forbidden(path, "may not be specified when `allocated` is not set"))
    elif new["metadata"].get("deletionTimestamp") and any(r not in (before.get("reservedFor") or []) for r in reserved):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden(path, text))
    if allocation is not None and was is not None:
        errors += _unchanged(allocation, was, _STATUS.child("allocation"), "AllocationResult")
    elif allocation is not None:
        errors += _validate_allocation(allocation, _names(new["spec"]), _STATUS.child("allocation"))
    return errors


def _validate_consumer(consumer: dict[str, Any], path: Path) -> list[FieldError]:
    return [required(path.child(name)) for name in ("resource", "name", "uid") if not consumer.get(name)]


def _validate_allocation(allocation: dict[str, Any], names: dict[str, set[str]], path: Path) -> list[FieldError]:
    def result(item: dict[str, Any], place: Path) -> list[FieldError]:
        errors = _validate_reference(item["request"], names, place.child("request"))
        return errors + _validate_device_name(item, place)

    def config(item: dict[str, Any], place: Path) -> list[FieldError]:
        source = item["source"]
        errors = [] if source else [required(place.child("source"))]
        if source and source not in ("FromClaim", "FromClass"):
            errors.append(not_supported(place.child("source"), source, ("FromClaim", "FromClass")))
        errors += _references(item.get("requests") or [], names, place.child("requests"))
        return errors + checks.device_configuration(item, place)

    devices, place = allocation.get("devices") or {}, path.child("devices")
    errors = checks.each(devices.get("results") or [], MAX_RESULTS, result, place.child("results"))
    errors += checks.each(devices.get("config") or [], 2 * checks.MAX_CONFIGS, config, place.child("config"))
    if allocation.get("nodeSelector") is not None:
        errors += validate_node_selector(allocation["nodeSelector"], path.child("nodeSelector"))
    return errors


def _validate_device_name(device: dict[str, Any], path: Path) -> list[FieldError]:
    errors = driver_name(device["driver"], path.child("driver"))
    errors += checks.pool_name(device["pool"], path.child("pool"))
    return errors + dns_label(device["device"], path.child("device"))


def _validate_device(device: dict[str, Any], allocated: set[str], path: Path) -> list[FieldError]:
    errors = _validate_device_name(device, path)
    if _device_id(device) not in allocated:
        shown = {"Driver": device["driver"], "Pool": device["pool"], "Device": device["device"], "ShareID": ""}
        errors.append(invalid(path, json_value(shown), "must be an allocated device in the claim"))
    conditions = device.get("conditions") or []
    if len(conditions) > MAX_CONDITIONS:
        errors.append(too_many(path.child("conditions"), len(conditions), MAX_CONDITIONS))
    errors += validate_conditions(conditions, path.child("conditions"))
    if device.get("data") is not None:
        errors += checks.raw_object(device["data"], path.child("data"), MAX_DATA)
    network = device.get("networkData")
    return errors + (_validate_network(network, path.child("networkData")) if network is not None else [])


def _validate_network(network: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, limit in (("interfaceName", MAX_INTERFACE_NAME), ("hardwareAddress", MAX_HARDWARE_ADDRESS)):
        if size(network.get(name, "")) > limit:
            errors.append(too_long(path.child(name), limit))
    ips = network.get("ips") or []
    return errors + checks.each_once(
        ips, MAX_IPS, lambda ip, place: is_valid_interface_address(place, ip), path.child("ips")
    )


def validate_template(obj: Obj) -> list[FieldError]:
    errors = _validate_meta(obj)
    errors += validate_template_metadata(obj["spec"].get("metadata") or {}, Path("spec.metadata"))
    return errors + _validate_spec(obj["spec"]["spec"], Path("spec.spec"))


def validate_template_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_template(new) + validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + _unchanged(new["spec"], old["spec"], Path("spec"), "ResourceClaimTemplateSpec")


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("resource.k8s.io", "resourceclaims"): Strategy(
        delete_returns_object=True,
        default=lambda obj: _default_spec(obj["spec"]),
        prepare_create=prepare_create,
        validate_create=validate,
        update=UpdateStrategy(prepare_update, validate_update),
        subresources={"status": UpdateStrategy(prepare_status, validate_status)},
        reset_fields={"": (("status",),), "status": (("metadata",), ("spec",))},
    ),
    ("resource.k8s.io", "resourceclaimtemplates"): Strategy(
        delete_returns_object=True,
        default=lambda obj: _default_spec(obj["spec"]["spec"]),
        prepare_create=lambda obj: _drop_disabled(obj["spec"]["spec"]),
        validate_create=validate_template,
        update=UpdateStrategy(lambda new, old: _drop_disabled(new["spec"]["spec"]), validate_template_update),
    ),
}
