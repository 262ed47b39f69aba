"""CSIDrivers, CSINodes and CSIStorageCapacities."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import meta, quantity
from jobrelay.apimachinery.field import FieldError, Path, duplicate, invalid, not_supported, one_of, required, too_long
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, struct_value
from jobrelay.apimachinery.names import is_dns1123_subdomain, name_is_dns_subdomain, size
from jobrelay.kinds.core.checks import qualified_name
from jobrelay.kinds.core.nodeselectors import DEPRECATED_LABELS
from jobrelay.kinds.generation import count_spec_changes
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

FS_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES: Final = ("Persistent", "Ephemeral")
TOKENS_IN_SECRETS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)
MAX_NODE_ID: Final = 256
MAX_DRIVER_NAME: Final = 63
_DRIVER_DEFAULTS: Final[dict[str, Any]] = {
    "attachRequired": True, "podInfoOnMount": False, "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType", "requiresRepublish": False, "seLinuxMount": False,
}  # fmt: skip
_SPEC: Final = Path("spec")
_TEN_MINUTES: Final = 600


def default_driver(obj: Obj) -> None:
    spec = obj["spec"]
    for name, value in _DRIVER_DEFAULTS.items():
        if spec.get(name) is None:
            spec[name] = value
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def validate_driver(obj: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    return errors + _validate_driver_spec(obj["spec"])


def _validate_driver_spec(spec: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    errors += one_of(_SPEC.child("fsGroupPolicy"), spec["fsGroupPolicy"], FS_GROUP_POLICIES)
    errors += _validate_token_requests(spec.get("tokenRequests") or ())
    modes = _SPEC.child("volumeLifecycleModes")
    errors += [
        not_supported(modes, mode, LIFECYCLE_MODES)
        for mode in spec["volumeLifecycleModes"]
        if mode not in LIFECYCLE_MODES
    ]
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        path = _SPEC.child("nodeAllocatableUpdatePeriodSeconds")
        errors.append(invalid(path, period, "must be greater than or equal to 10 seconds"))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid(_SPEC.child("serviceAccountTokenInSecrets"), in_secrets, text))
    return errors


def _validate_token_requests(requests: Any) -> list[FieldError]:
    errors: list[FieldError] = []
    audiences: set[str] = set()
    for i, request in enumerate(requests):
        path = _SPEC.child("tokenRequests").index(i)
        if request["audience"] in audiences:
            errors.append(duplicate(path.child("audience"), request["audience"]))
            continue
        audiences.add(request["audience"])
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _TEN_MINUTES:
            detail = "may not specify a duration less than 10 minutes"
            errors.append(invalid(path.child("expirationSeconds"), seconds, detail))
        if seconds is not None and seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(path.child("expirationSeconds"), seconds, detail))
    return errors


def validate_driver_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"]) + _validate_driver_spec(new["spec"])
    for name, field in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        errors += meta.validate_immutable_field(new["spec"].get(name), old["spec"].get(name), _SPEC.child(field))
    return errors


def driver_warnings(obj: Obj) -> list[str]:
    spec = obj["spec"]
    exposed = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
    return [TOKENS_IN_SECRETS] if exposed else []


def _driver_update_warnings(new: Obj, old: Obj) -> list[str]:
    changed = new["spec"].get("tokenRequests") != old["spec"].get("tokenRequests")
    return driver_warnings(new) if changed else []


def driver_name(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, MAX_DRIVER_NAME)] if size(name) > MAX_DRIVER_NAME else []
    return errors + [invalid(path, name, text) for text in is_dns1123_subdomain(name.lower())]


def validate_node(obj: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    names: set[str] = set()
    for i, driver in enumerate(obj["spec"].get("drivers") or ()):
        path = _SPEC.child("drivers").index(i)
        errors += _validate_node_driver(driver, path, names)
    return errors


def _validate_node_driver(driver: dict[str, Any], path: Path, names: set[str]) -> list[FieldError]:
    errors = driver_name(driver["name"], path.child("name"))
    node_id = driver["nodeID"]
    if not node_id:
        errors.append(required(path.child("nodeID")))
    if size(node_id) > MAX_NODE_ID:
        errors.append(invalid(path.child("nodeID"), node_id, f"must be {MAX_NODE_ID} characters or less"))
    count = (driver.get("allocatable") or {}).get("count")
    if count is not None:
        errors += meta.validate_non_negative(count, path.child("allocatable", "count"))
    if driver["name"] in names:
        errors.append(duplicate(path.child("name"), driver["name"]))
    names.add(driver["name"])
    keys: set[str] = set()
    for key in driver.get("topologyKeys") or ():
        errors += [] if key else [required(path)]
        errors += [duplicate(path, key)] if key in keys else []
        keys.add(key)
        errors += qualified_name(key, path)
    return errors


def validate_node_update(new: Obj, old: Obj) -> list[FieldError]:
    """The server validates the object twice on this way, which shows in the list of causes."""
    errors = validate_node(new) * 2
    for before in old["spec"].get("drivers") or ():
        for after in new["spec"].get("drivers") or ():
            if before["name"] != after["name"]:
                continue
            fixed = {key: value for key, value in after.items() if key != "allocatable"}
            if fixed != {key: value for key, value in before.items() if key != "allocatable"}:
                shown = struct_value(fixed, "io.k8s.api.storage.v1.CSINodeDriver")
                errors.append(invalid(_SPEC.child("drivers"), shown, meta.IMMUTABLE))
    return errors


def validate_capacity(obj: Obj, *, allow_invalid_values: bool = False) -> list[FieldError]:
    errors = meta.validate_object_meta(obj["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    errors += meta.validate_label_selector(
        obj.get("nodeTopology"), Path("nodeTopology"), allow_invalid_values=allow_invalid_values
    )
    name = obj["storageClassName"]
    errors += [invalid(Path("storageClassName"), name, text) for text in is_dns1123_subdomain(name)]
    if obj.get("capacity") is not None and quantity.number(obj["capacity"]) < 0:
        errors.append(invalid(Path("capacity"), obj["capacity"], "must be greater than or equal to 0"))
    return errors


def validate_capacity_update(new: Obj, old: Obj) -> list[FieldError]:
    lenient = bool(meta.validate_label_selector(old.get("nodeTopology"), Path("nodeTopology")))
    errors = validate_capacity(new, allow_invalid_values=lenient)
    errors += meta.validate_object_meta_update(new["metadata"], old["metadata"])
    if new.get("nodeTopology") != old.get("nodeTopology"):
        shown = struct_value(new.get("nodeTopology"), LABEL_SELECTOR)
        errors.append(invalid(Path("nodeTopology"), shown, meta.IMMUTABLE))
    if new["storageClassName"] != old["storageClassName"]:
        errors.append(invalid(Path("storageClassName"), new["storageClassName"], meta.IMMUTABLE))
    return errors


def capacity_warnings(obj: Obj) -> list[str]:
    selector = obj.get("nodeTopology") or {}
    path = Path("nodeTopology")
    found = []
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        if (text := DEPRECATED_LABELS.get(expression["key"])) is not None:
            found.append(f"{path.child('matchExpressions').index(i).child('key')}: {expression['key']} is {text}")
    labels = [label for label in selector.get("matchLabels") or {} if label in DEPRECATED_LABELS]
    return found + [f"{path.child('matchLabels').child(label)}: {DEPRECATED_LABELS[label]}" for label in labels]


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("storage.k8s.io", "csidrivers"): Strategy(
        delete_returns_object=True,
        default=default_driver,
        validate_create=validate_driver,
        warn_create=driver_warnings,
        update=UpdateStrategy(count_spec_changes, validate_driver_update, _driver_update_warnings),
        unconditional_update=False,
    ),
    ("storage.k8s.io", "csinodes"): Strategy(
        delete_returns_object=True,
        validate_create=validate_node,
        update=UpdateStrategy(validate=validate_node_update),
        unconditional_update=False,
    ),
    ("storage.k8s.io", "csistoragecapacities"): Strategy(
        validate_create=validate_capacity,
        warn_create=capacity_warnings,
        update=UpdateStrategy(validate=validate_capacity_update, warn=lambda new, old: capacity_warnings(new)),
        unconditional_update=False,
    ),
}
