"""Persistent volumes: one source of storage that never changes, and a phase with the time of its last change."""

from __future__ import annotations

import copy
import posixpath
from typing import Any, Final

from jobrelay.apimachinery import meta
from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.godiff import difference
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.context import request_time
from jobrelay.kinds.core import claims
from jobrelay.kinds.core.nodeselectors import BETA_TO_STABLE, bad_values, node_selector_warnings, validate_node_selector
from jobrelay.kinds.core.resources import round_amounts, validate_basic_amount, validate_positive
from jobrelay.kinds.core.volumesources import SOURCES, validate_sources
from jobrelay.kinds.generation import keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

PROTECTION: Final = "kubernetes.io/pv-protection"
MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
_SPEC: Final = Path("spec")
_WITH_MOUNT_OPTIONS: Final = frozenset({
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs",
    "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
})  # fmt: skip
_SOURCE_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "hostPath": {"type": ""},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "iscsi": {"iscsiInterface": "default"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_DEPRECATED_SOURCES: Final = {
    # field: (name in the warning, text), in the order of the warnings
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}


def default(volume: Obj) -> None:
    spec = volume["spec"]
    volume["status"].setdefault("phase", "Pending")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_amounts(spec.get("capacity"))
    for field, defaults in _SOURCE_DEFAULTS.items():
        if field in spec:
            spec[field] |= defaults | spec[field]


def prepare_create(volume: Obj) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": request_time()}
    finalizers = volume["metadata"].setdefault("finalizers", [])
    if PROTECTION not in finalizers:
        finalizers.append(PROTECTION)


def prepare_status(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    field = "lastPhaseTransitionTime"
    status, before = new["status"], old["status"]
    if status.get("phase") == before.get("phase"):
        if field not in status and field in before:
            status[field] = before[field]
    elif status.get(field) in (None, before.get(field)):
        status[field] = request_time()


def validate(volume: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = meta.validate_object_meta(volume["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    errors += _validate_spec(volume["spec"], volume["metadata"].get("name", ""), _allows_bad_values(old))
    return errors


def _validate_mount_options(volume: Obj) -> list[FieldError]:
    if (
        MOUNT_OPTIONS not in (volume["metadata"].get("annotations") or {})
        or _WITH_MOUNT_OPTIONS & volume["spec"].keys()
    ):
        return []
    at = Path("metadata.annotations").child(MOUNT_OPTIONS)
    return [forbidden(at, "may not specify mount options for this volume type")]


def validate_create(volume: Obj) -> list[FieldError]:
    return validate(volume) + _validate_mount_options(volume)


def _allows_bad_values(old: Obj | None) -> bool:
    """A volume that already has label values which are refused today may keep them."""
    terms = (((old or {}).get("spec") or {}).get("nodeAffinity") or {}).get("required", {}).get(
        "nodeSelectorTerms"
    ) or []
    return any(bad_values(req, _SPEC) for term in terms for req in term.get("matchExpressions") or ())


def _validate_spec(spec: dict[str, Any], name: str, allow_bad_values: bool) -> list[FieldError]:
    errors = [] if spec.get("accessModes") else [required(_SPEC.child("accessModes"))]
    errors += claims.validate_access_modes(spec.get("accessModes") or [], _SPEC.child("accessModes"))
    errors += _validate_capacity(spec.get("capacity"), _SPEC.child("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    if policy and policy not in RECLAIM_POLICIES:
        errors.append(not_supported(_SPEC.child("persistentVolumeReclaimPolicy"), policy, RECLAIM_POLICIES))
    if "nodeAffinity" in spec:
        at = _SPEC.child("nodeAffinity", "required")
        if "required" in spec["nodeAffinity"]:
            errors += validate_node_selector(
                spec["nodeAffinity"]["required"], at, allow_invalid_values=allow_bad_values
            )
        else:
            errors.append(required(at, "must specify required node constraints"))
    errors += validate_sources(spec, name, _SPEC)
    if policy == "Recycle" and posixpath.normpath((spec.get("hostPath") or {}).get("path") or ".") == "/":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden(_SPEC.child("persistentVolumeReclaimPolicy"), text))
    if class_name := spec.get("storageClassName"):
        at = _SPEC.child("storageClassName")
        errors += [invalid(at, class_name, text) for text in name_is_dns_subdomain(class_name, False)]
    if spec.get("volumeMode", "Block") not in claims.VOLUME_MODES:
        errors.append(not_supported(_SPEC.child("volumeMode"), spec["volumeMode"], claims.VOLUME_MODES))
    return errors + _validate_attributes_class(spec)


def _validate_capacity(given: dict[str, str] | None, path: Path) -> list[FieldError]:
    capacity = given or {}
    errors = [] if capacity else [required(path)]
    if list(capacity) != ["storage"]:
        errors.append(not_supported(path, given, ["storage"]))
    for name, amount in sorted(capacity.items()):
        errors += validate_basic_amount(amount, path.key(name)) + validate_positive(amount, path.key(name))
    return errors


def _validate_attributes_class(spec: dict[str, Any]) -> list[FieldError]:
    if "volumeAttributesClassName" not in spec:
        return []
    name, at = spec["volumeAttributesClassName"], _SPEC.child("volumeAttributesClassName")
    errors = [invalid(at, name, text) for text in name_is_dns_subdomain(name, False)]
    if not name:
        errors = [required(at, "an empty string is disallowed")]
    if "csi" not in spec:
        errors.append(required(_SPEC.child("csi"), "has to be specified when using volumeAttributesClassName"))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate(new, old) + _validate_mount_options(new) + validate(new, old)
    errors += _validate_source_change(new["spec"], old["spec"])
    mode = Path("volumeMode")
    errors += meta.validate_immutable_field(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), mode)
    errors += _validate_affinity_change(new["spec"].get("nodeAffinity"), old["spec"].get("nodeAffinity"))
    name = "volumeAttributesClassName"
    if name in old["spec"] and name not in new["spec"]:
        errors.append(forbidden(_SPEC.child(name), "update from non-nil value to nil is forbidden"))
    return errors


def _validate_source_change(new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    after, before = ({field: spec[field] for field in SOURCES if field in spec} for spec in (new, old))
    if "csi" in before and "csi" in after and "controllerExpandSecretRef" not in before["csi"]:
        after["csi"] = {key: value for key, value in after["csi"].items() if key != "controllerExpandSecretRef"}
    if after == before:
        return []
    shown = difference(before, after, "io.k8s.api.core.v1.PersistentVolumeSource")
    text = f"spec.persistentvolumesource is immutable after creation\n{shown}"
    return [forbidden(_SPEC.child("persistentvolumesource"), text)]


def _validate_affinity_change(new: dict[str, Any] | None, old: dict[str, Any] | None) -> list[FieldError]:
    if old is None:
        return []
    before = copy.deepcopy(old)
    pairs = zip(_requirements(before), _requirements(new or {}), strict=False)
    for earlier, later in pairs:
        if BETA_TO_STABLE.get(earlier.get("key", "")) == later.get("key"):
            earlier["key"] = later["key"]
    if new == before:
        return []
    value = struct_value(new, "io.k8s.api.core.v1.VolumeNodeAffinity")
    return [invalid(Path("nodeAffinity"), value, f"{meta.IMMUTABLE}, except for updating from beta label to GA")]


def _requirements(affinity: dict[str, Any]) -> list[dict[str, Any]]:
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    return [req for term in terms for req in term.get("matchExpressions") or ()]


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"])
    return errors if new["metadata"].get("resourceVersion") else [*errors, required(Path("resourceVersion"))]


def warnings(volume: Obj) -> list[str]:
    spec, annotations = volume["spec"], volume["metadata"].get("annotations") or {}
    texts: list[str] = []
    if claims.STORAGE_CLASS_ANNOTATION in annotations:
        texts.append(f"metadata.annotations[{claims.STORAGE_CLASS_ANNOTATION}]: {claims.DEPRECATED_ANNOTATION}")
    if MOUNT_OPTIONS in annotations:
        texts.append(
            f'metadata.annotations[{MOUNT_OPTIONS}]: deprecated since v1.31; use "mountOptions" attribute instead'
        )
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        texts.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated."
            " Instead, the recommended approach is to use dynamic provisioning."
        )
    affinity = (spec.get("nodeAffinity") or {}).get("required")
    if affinity:
        texts += node_selector_warnings(affinity, _SPEC.child("nodeAffinity", "required"))
    return texts + [f"spec.{name}: {text}" for field, (name, text) in _DEPRECATED_SOURCES.items() if field in spec]


STRATEGIES: Final = {
    ("", "persistentvolumes"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate_create,
        warn_create=warnings,
        update=UpdateStrategy(keep_status, validate_update, lambda new, old: warnings(new)),
        subresources={"status": UpdateStrategy(prepare_status, validate_status)},
        reset_fields={"": (("status",),), "status": (("spec",),)},
        delete_returns_object=True,
    )
}
