"""StorageClasses and VolumeAttributesClasses: names for ways to provision a volume. Almost all of them is immutable."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import field, meta
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.names import name_is_dns_subdomain, size
from jobrelay.kinds.core.checks import qualified_name
from jobrelay.kinds.core.nodeselectors import DEPRECATED_LABELS
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

RECLAIM_POLICIES: Final = ("Delete", "Retain")
BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
MAX_PARAMETERS: Final = 512
MAX_PARAMETERS_SIZE: Final = 256 * 1024
PROTECTION: Final = "kubernetes.io/vac-protection"
_TOPOLOGIES: Final = Path("allowedTopologies")


def default(obj: Obj) -> None:
    if obj.get("reclaimPolicy") is None:
        obj["reclaimPolicy"] = "Delete"
    if obj.get("volumeBindingMode") is None:
        obj["volumeBindingMode"] = "Immediate"


def validate(obj: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    errors += _validate_driver(obj["provisioner"], Path("provisioner"))
    errors += _validate_parameters(obj.get("parameters") or {})
    if obj["reclaimPolicy"] and obj["reclaimPolicy"] not in RECLAIM_POLICIES:
        errors.append(field.not_supported(Path("reclaimPolicy"), obj["reclaimPolicy"], RECLAIM_POLICIES))
    errors += field.one_of(Path("volumeBindingMode"), obj["volumeBindingMode"], BINDING_MODES)
    return errors + _validate_topologies(obj.get("allowedTopologies") or [])


def protect(obj: Obj) -> None:
    """A class that volumes may use is kept until they do not."""
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if PROTECTION not in finalizers:
        finalizers.append(PROTECTION)


def _validate_driver(name: str, path: Path) -> list[FieldError]:
    return qualified_name(name.lower(), path) if name else [field.required(path)]


def _validate_parameters(parameters: dict[str, str]) -> list[FieldError]:
    path = Path("parameters")
    if len(parameters) > MAX_PARAMETERS:
        return [field.too_long(path, MAX_PARAMETERS)]
    errors = [field.invalid(path, key, "field can not be empty.") for key in parameters if not key]
    if sum(size(key) + size(value) for key, value in parameters.items()) > MAX_PARAMETERS_SIZE:
        errors.append(field.too_long(path, MAX_PARAMETERS_SIZE))
    return errors


def _validate_topologies(terms: list[dict[str, Any]]) -> list[FieldError]:
    """Terms must differ. The server compares each with as many empty ones as there are terms, so none may be empty."""
    errors: list[FieldError] = []
    seen: list[dict[str, set[str]]] = [{} for _ in terms]
    for i, term in enumerate(terms):
        path = _TOPOLOGIES.index(i).child("matchLabelExpressions")
        values: dict[str, set[str]] = {}
        for j, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            errors += _validate_requirement(requirement, path.index(j))
            if requirement["key"] in values:
                errors.append(field.duplicate(path.index(j).child("key"), requirement["key"]))
            values[requirement["key"]] = set(requirement.get("values") or ())
        errors += [field.duplicate(path, "") for other in seen if other == values]
        seen.append(values)
    return errors


def _validate_requirement(requirement: dict[str, Any], path: Path) -> list[FieldError]:
    values = requirement.get("values") or []
    errors = [] if values else [field.required(path.child("values"))]
    errors += [field.duplicate(path.child("values").index(i), v) for i, v in enumerate(values) if v in values[:i]]
    return errors + meta.validate_label_name(requirement["key"], path.child("key"))


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate(new) + meta.validate_object_meta_update(new["metadata"], old["metadata"])
    for name in ("parameters", "provisioner", "reclaimPolicy"):
        if (new.get(name) or None) != (old.get(name) or None):
            errors.append(field.forbidden(Path(name), f"updates to {name} are forbidden."))
    return errors + meta.validate_immutable_field(
        new["volumeBindingMode"], old.get("volumeBindingMode"), Path("volumeBindingMode")
    )


def warnings(obj: Obj) -> list[str]:
    found = []
    for i, term in enumerate(obj.get("allowedTopologies") or ()):
        for j, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            if (text := DEPRECATED_LABELS.get(requirement["key"])) is not None:
                found.append(f"{_TOPOLOGIES.index(i).child('matchLabelExpressions').index(j).child('key')}: {text}")
    return found


def validate_attributes_class(obj: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    errors += _validate_driver(obj["driverName"], Path("driverName"))
    errors += _validate_parameters(obj.get("parameters") or {})
    if not obj.get("parameters"):
        errors.append(field.required(Path("parameters"), "must contain at least one key/value pair"))
    return errors


def validate_attributes_class_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"])
    for name in ("driverName", "parameters"):
        if (new.get(name) or None) != (old.get(name) or None):
            errors.append(field.forbidden(Path(name), f"updates to {name} are forbidden."))
    return errors + validate_attributes_class(new)


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("storage.k8s.io", "storageclasses"): Strategy(
        delete_returns_object=True,
        default=default,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(validate=validate_update, warn=lambda new, old: warnings(new)),
    ),
    ("storage.k8s.io", "volumeattributesclasses"): Strategy(
        delete_returns_object=True,
        prepare_create=protect,
        validate_create=validate_attributes_class,
        update=UpdateStrategy(validate=validate_attributes_class_update),
    ),
}
