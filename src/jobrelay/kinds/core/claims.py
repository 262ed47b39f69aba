"""Persistent volume claims: immutable except for what a bound claim may grow.

`dataSource` and `dataSourceRef` mirror each other. A source that is neither a claim nor a snapshot is dropped, and so
is a reference into another namespace, because that feature is off.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from jobrelay.apimachinery import meta
from jobrelay.apimachinery.field import FieldError, Path, forbidden, go_quote, invalid, not_supported, required
from jobrelay.apimachinery.godiff import difference
from jobrelay.apimachinery.names import is_dns1123_subdomain, name_is_dns_label, name_is_dns_subdomain
from jobrelay.kinds.core import resources
from jobrelay.kinds.core.checks import qualified_name
from jobrelay.kinds.generation import keep, keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
PROTECTION: Final = "kubernetes.io/pvc-protection"
STORAGE_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
DEPRECATED_ANNOTATION: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'
RESIZE_STATUSES: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip
_SPEC: Final = Path("spec")
_STORAGE: Final = Path("spec.resources.requests.storage")
_SPEC_IMMUTABLE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def default(claim: Obj) -> None:
    claim["status"].setdefault("phase", "Pending")
    default_claim_spec(claim["spec"])
    for name in ("capacity", "allocatedResources"):
        resources.round_amounts(claim["status"].get(name))


def default_claim_spec(spec: dict[str, Any]) -> None:
    """Also for claim templates."""
    spec.setdefault("volumeMode", "Filesystem")
    resources.round_amounts(spec["resources"].get("limits"))
    resources.round_amounts(spec["resources"].get("requests"))


def prepare_create(claim: Obj) -> None:
    claim["status"] = {"phase": "Pending"}
    _prepare_sources(claim["spec"], {})
    finalizers = claim["metadata"].setdefault("finalizers", [])
    if PROTECTION not in finalizers:
        finalizers.append(PROTECTION)


def prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    _prepare_sources(new["spec"], old["spec"])


def _prepare_sources(spec: dict[str, Any], old: dict[str, Any]) -> None:
    if (spec.get("dataSourceRef") or {}).get("namespace") and "dataSourceRef" not in old:
        del spec["dataSourceRef"]
    if "dataSource" not in old and "dataSourceRef" not in old and "dataSourceRef" not in spec:
        source = spec.get("dataSource") or {}
        known = (source.get("apiGroup") or "", source.get("kind", ""))
        if known not in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")):
            spec.pop("dataSource", None)
    if "dataSource" in spec and "dataSourceRef" not in spec:
        spec["dataSourceRef"] = dict(spec["dataSource"])
    elif "dataSourceRef" in spec and "dataSource" not in spec and not spec["dataSourceRef"].get("namespace"):
        spec["dataSource"] = {key: value for key, value in spec["dataSourceRef"].items() if key != "namespace"}


def validate(claim: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = meta.validate_object_meta(claim["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + validate_claim_spec(claim["spec"], _SPEC, old=old["spec"] if old else None)


def validate_claim_spec(spec: dict[str, Any], path: Path, old: dict[str, Any] | None = None) -> list[FieldError]:
    """Also for claim templates."""
    errors: list[FieldError] = []
    modes = spec.get("accessModes") or []
    if not modes:
        errors.append(required(path.child("accessModes"), "at least 1 access mode is required"))
    lenient = bool(meta.validate_label_selector((old or {}).get("selector"), path))
    errors += meta.validate_label_selector(spec.get("selector"), path.child("selector"), allow_invalid_values=lenient)
    errors += validate_access_modes(modes, path.child("accessModes"))
    errors += _validate_request(spec, path.child("resources").key("storage"))
    if name := spec.get("storageClassName"):
        errors += [invalid(path.child("storageClassName"), name, text) for text in name_is_dns_subdomain(name, False)]
    if spec.get("volumeMode", "Block") not in VOLUME_MODES:
        errors.append(not_supported(path.child("volumeMode"), spec["volumeMode"], VOLUME_MODES))
    errors += _validate_sources(
        spec, path, any((old or {}).get(n, {}).get("apiGroup") for n in ("dataSource", "dataSourceRef"))
    )
    if name := spec.get("volumeAttributesClassName"):
        at = path.child("volumeAttributesClassName")
        errors += [invalid(at, name, text) for text in name_is_dns_subdomain(name, False)]
    return errors


def validate_access_modes(modes: list[str], path: Path) -> list[FieldError]:
    errors = [not_supported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    known = {mode for mode in modes if mode in ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def _validate_request(spec: dict[str, Any], path: Path) -> list[FieldError]:
    amount = (spec["resources"].get("requests") or {}).get("storage")
    if amount is None:
        return [required(path)]
    return resources.validate_positive(amount, path) or resources.validate_amount("storage", amount, path)


def _validate_sources(spec: dict[str, Any], path: Path, allow_bad_group: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("dataSource", "dataSourceRef"):
        if name in spec:
            errors += _validate_source(spec[name], path.child(name), allow_bad_group)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return errors
    if reference.get("namespace"):
        errors.append(invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, {}, "must match dataSourceRef"))
    return errors


def _validate_source(source: dict[str, Any], path: Path, allow_bad_group: bool) -> list[FieldError]:
    errors = [required(path.child(name)) for name in ("name", "kind") if not source.get(name)]
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        errors.append(invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
    if group and not allow_bad_group:
        errors += [invalid(path.child("apiGroup"), group, text) for text in is_dns1123_subdomain(group)]
    if namespace := source.get("namespace"):
        errors += [invalid(path.child("namespace"), namespace, text) for text in name_is_dns_label(namespace, False)]
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"]) + validate(new, old)
    spec, before = copy.deepcopy(new["spec"]), copy.deepcopy(old["spec"])
    _prepare_sources(before, before)
    if not before.get("volumeName"):
        before.pop("volumeName", None)
        if "volumeName" in spec:
            before["volumeName"] = spec["volumeName"]
    errors += _forgive_storage_class(spec, before, new, old)
    bound = new["status"].get("phase") == "Bound"
    if bound and spec["resources"].get("requests") and "storage" in before["resources"].get("requests", {}):
        spec["resources"]["requests"]["storage"] = before["resources"]["requests"]["storage"]
    if bound:
        keep(spec, before, "volumeAttributesClassName")
    if spec != before:
        errors.append(
            forbidden(_SPEC, _SPEC_IMMUTABLE + difference(before, spec, "io.k8s.api.core.v1.PersistentVolumeClaimSpec"))
        )
    new_size, old_size = (resources.number_of(c["spec"]["resources"].get("requests"), "storage") for c in (new, old))
    if new_size < old_size and new_size <= resources.number_of(old["status"].get("capacity"), "storage"):
        errors.append(forbidden(_STORAGE, "field can not be less than status.capacity"))
    mode = Path("volumeMode")
    errors += meta.validate_immutable_field(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), mode)
    return errors + _validate_attributes_class(new, old)


def _forgive_storage_class(spec: dict[str, Any], before: dict[str, Any], new: Obj, old: Obj) -> list[FieldError]:
    """A class may be set once where there was none, or moved from the old annotation to the field."""
    annotated = [(claim["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION) for claim in (old, new)]
    name = spec.get("storageClassName")
    fresh = "storageClassName" not in before and name is not None
    if fresh and annotated[0] is not None and name == annotated[0] and annotated[1] in (None, annotated[0]):
        del spec["storageClassName"]
        return []
    if fresh and annotated[0] in (None, name):
        del spec["storageClassName"]
    if (annotated[0] or "") != (annotated[1] or ""):
        at = Path("metadata.annotations").child(STORAGE_CLASS_ANNOTATION)
        return [invalid(at, annotated[1] or "", meta.IMMUTABLE)]
    return []


def _validate_attributes_class(new: Obj, old: Obj) -> list[FieldError]:
    name = "volumeAttributesClassName"
    if new["spec"].get(name) == old["spec"].get(name) or "currentVolumeAttributesClassName" not in old["status"]:
        return []
    end = "is forbidden when status.currentVolumeAttributesClassName is not nil"
    if new["spec"].get(name) is None:
        return [forbidden(_SPEC.child(name), f"update to nil {end}")]
    return [] if new["spec"][name] else [forbidden(_SPEC.child(name), f"update to empty string {end}")]


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"])
    if not new["metadata"].get("resourceVersion"):
        errors.append(required(Path("resourceVersion")))
    if not new["spec"].get("accessModes"):
        errors.append(required(Path("Spec.accessModes")))
    status = new["status"]
    for name, amount in sorted((status.get("capacity") or {}).items()):
        errors += resources.validate_basic_amount(amount, Path("status.capacity").key(name))
    path = Path("status.allocatedResourceStatuses")
    for name, value in sorted((status.get("allocatedResourceStatuses") or {}).items()):
        errors += _validate_resource_key(name, path)
        if value not in RESIZE_STATUSES:
            errors.append(not_supported(path, name, sorted(RESIZE_STATUSES)))
    path = Path("status.allocatedResources")
    for name, amount in sorted((status.get("allocatedResources") or {}).items()):
        errors += _validate_resource_key(name, path) or (
            resources.validate_basic_amount(amount, path.key(name))
            or resources.validate_amount("storage", amount, path.key(name))
        )
    return errors


def _validate_resource_key(name: str, path: Path) -> list[FieldError]:
    errors = qualified_name(name, path)
    if not errors and resources.is_native(name) and name != "storage":
        errors.append(not_supported(path, name, ["storage"]))
    return errors


def warnings(claim: Obj) -> list[str]:
    texts: list[str] = []
    if STORAGE_CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {}):
        texts.append(f"metadata.annotations[{STORAGE_CLASS_ANNOTATION}]: {DEPRECATED_ANNOTATION}")
    return texts + claim_spec_warnings(claim["spec"], _SPEC)


def claim_spec_warnings(spec: dict[str, Any], path: Path) -> list[str]:
    """Also for claim templates."""
    texts: list[str] = []
    for name in ("requests", "limits"):
        amount = (spec["resources"].get(name) or {}).get("storage", "0")
        if resources.is_fractional(amount):
            at = path.child("resources", name).key("storage")
            texts.append(f"{at}: fractional byte value {go_quote(amount)} is invalid, must be an integer")
    return texts


STRATEGIES: Final = {
    ("", "persistentvolumeclaims"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(prepare_update, validate_update, lambda new, old: warnings(new)),
        subresources={"status": UpdateStrategy(keep_spec, validate_status)},
        reset_fields={"": (("status",),), "status": (("spec",),)},
        delete_returns_object=True,
    )
}
