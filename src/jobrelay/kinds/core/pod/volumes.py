"""Checks on the volumes of a pod: exactly one source each, and the source's own rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import Path, duplicate, forbidden, go_quote, invalid, not_supported, required, too_long
from jobrelay.apimachinery.names import is_dns1123_subdomain, is_in_range, name_is_dns_subdomain, size
from jobrelay.kinds.core.checks import dns_label
from jobrelay.kinds.core.pod.claims import validate_claim_template
from jobrelay.kinds.core.pod.common import Errors, Fields, file_mode, invalid_each, local_descending_path
from jobrelay.kinds.core.pod.projected import validate_downward_api, validate_key_to_path, validate_projected
from jobrelay.kinds.core.volumesources import azure_disk, disk, fc, flex, flocker, host_path, needs, nfs, quobyte

_iqn = re.compile(r"iqn\.\d{4}-\d{2}\.([0-9A-Za-z.-]+)(:[^,;*&$|\s]+)\Z").search
_eui = re.compile(r"eui.[0-9A-Za-z]{16}").fullmatch
_naa = re.compile(r"naa.[0-9A-Za-z]{32}").fullmatch
Check = Callable[[Fields, Path], Errors]


def _git_repo(source: Fields, path: Path) -> Errors:
    return needs("repository")(source, path) + local_descending_path(
        source.get("directory", ""), path.child("directory")
    )


def _items(name: str) -> Check:
    """Secret and ConfigMap volumes: the name, the mode and the keys with their paths."""

    def check(source: Fields, path: Path) -> Errors:
        errors = needs(name)(source, path) + file_mode(source.get("defaultMode"), path.child("defaultMode"))
        for i, item in enumerate(source.get("items") or ()):
            errors += validate_key_to_path(item, path.child("items").index(i))
        return errors

    return check


def _initiator_error(name: str) -> str:
    checks = {"iqn": _iqn, "eui": _eui, "naa": _naa}
    if name[:3] not in checks:
        return "must be valid format starting with iqn, eui, or naa"
    return "" if checks[name[:3]](name) else "must be valid format"


def _iscsi(source: Fields, path: Path) -> Errors:
    errors = needs("targetPortal")(source, path)
    iqn = source.get("iqn", "")
    if not iqn:
        errors.append(required(path.child("iqn")))
    elif detail := _initiator_error(iqn):
        errors.append(invalid(path.child("iqn"), iqn, detail))
    lun = source.get("lun", 0)
    errors += invalid_each(path.child("lun"), lun, is_in_range(lun, 0, 255))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.append(required(path.child("secretRef")))
    initiator = source.get("initiatorName")
    if initiator is not None and (detail := _initiator_error(initiator)):
        errors.append(invalid(path.child("initiatorname"), initiator, detail))
    return errors


def _secret_ref_name(source: Fields, path: Path) -> Errors:
    reference = source.get("secretRef")
    return [] if reference is None or reference.get("name") else [required(path.child("secretRef", "name"))]


def _cinder(source: Fields, path: Path) -> Errors:
    return needs("volumeID")(source, path) + _secret_ref_name(source, path)


def _storage_os(source: Fields, path: Path) -> Errors:
    name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
    errors = dns_label(name, path.child("volumeName")) if name else [required(path.child("volumeName"))]
    if namespace:
        errors += dns_label(namespace, path.child("volumeNamespace"))
    return errors + _secret_ref_name(source, path)


def validate_csi_driver_name(name: str, path: Path) -> Errors:
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if size(name) > 63 else []
    return errors + invalid_each(path, name, is_dns1123_subdomain(name.lower()))


def _csi(source: Fields, path: Path) -> Errors:
    errors = validate_csi_driver_name(source.get("driver", ""), path.child("driver"))
    reference = source.get("nodePublishSecretRef")
    if reference is not None:
        name = reference.get("name", "")
        if not name:
            errors.append(required(path.child("nodePublishSecretRef", "name")))
        errors += invalid_each(path.child("name"), name, name_is_dns_subdomain(name, False)) if name else []
    return errors


def _ephemeral(source: Fields, path: Path) -> Errors:
    template = source.get("volumeClaimTemplate")
    at = path.child("volumeClaimTemplate")
    return [required(at)] if template is None else validate_claim_template(template, at)


# field, place when it is one source too many, place of its own errors, check
_SOURCES: Final[tuple[tuple[str, str, str, Check], ...]] = (
    ("hostPath", "hostPath", "hostPath", host_path),
    ("gitRepo", "gitRepo", "gitRepo", _git_repo),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk", disk("pdName")),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore", disk("volumeID")),
    ("secret", "secret", "secret", _items("secretName")),
    ("nfs", "nfs", "nfs", nfs),
    ("iscsi", "iscsi", "iscsi", _iscsi),
    ("glusterfs", "glusterfs", "glusterfs", needs("endpoints", "path")),
    ("flocker", "flocker", "flocker", flocker),
    ("persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim", needs("claimName")),
    ("rbd", "rbd", "rbd", needs("monitors", "image")),
    ("cinder", "cinder", "cinder", _cinder),
    ("cephfs", "cephFS", "cephfs", needs("monitors")),
    ("quobyte", "quobyte", "quobyte", quobyte),
    ("downwardAPI", "downwarAPI", "downwardAPI", validate_downward_api),
    ("fc", "fc", "fc", fc),
    ("flexVolume", "flexVolume", "flexVolume", flex),
    ("configMap", "configMap", "configMap", _items("name")),
    ("azureFile", "azureFile", "azureFile", needs("secretName", "shareName")),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume", needs("volumePath")),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", needs("pdID")),
    ("portworxVolume", "portworxVolume", "portworxVolume", needs("volumeID")),
    ("azureDisk", "azureDisk", "azureDisk", azure_disk),
    ("storageos", "storageos", "storageos", _storage_os),
    ("projected", "projected", "projected", validate_projected),
    ("scaleIO", "scaleIO", "scaleIO", needs("gateway", "system", "volumeName")),
    ("csi", "csi", "csi", _csi),
    ("ephemeral", "ephemeral", "ephemeral", _ephemeral),
)
SOURCE_NAMES: Final = frozenset({"emptyDir", "image", *(source[0] for source in _SOURCES)})


def validate_volumes(
    volumes: Iterable[Fields], pod_name: str, path: Path, *, is_pod: bool
) -> tuple[dict[str, Fields], Errors]:
    """The good volumes by name, for the mounts, and what is wrong. `pod_name` is empty for templates."""
    errors: Errors = []
    good: dict[str, Fields] = {}
    listed = list(volumes)
    made_claims = (
        {f"{pod_name}-{v.get('name', '')}" for v in listed if v.get("ephemeral") is not None} if pod_name else set()
    )
    for i, volume in enumerate(listed):
        at = path.index(i)
        name = volume.get("name", "")
        found = _validate_source(volume, pod_name, at, is_pod=is_pod)
        found += dns_label(name, at.child("name")) if name else [required(at.child("name"))]
        if name in good:
            found.append(duplicate(at.child("name"), name))
        if not found:
            good[name] = volume
        errors += found
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in made_claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(at.child("persistentVolumeClaim", "claimName"), claim, detail))
    return good, errors


def _validate_source(volume: Fields, pod_name: str, path: Path, *, is_pod: bool) -> Errors:
    errors: Errors = []
    found = False
    if volume.get("emptyDir") is not None:
        found = True
        limit = volume["emptyDir"].get("sizeLimit")
        if limit is not None and quantity.number(limit) < 0:
            detail = "SizeLimit field must be a valid resource quantity"
            errors.append(forbidden(path.child("emptyDir", "sizeLimit"), detail))
    for field, place, own_place, check in _SOURCES:
        source = volume.get(field)
        if source is None:
            continue
        if found:
            errors.append(forbidden(path.child(place), "may not specify more than 1 volume type"))
        else:
            errors += check(source, path.child(own_place))
            errors += _validate_claim_name(volume, pod_name, path) if field == "ephemeral" else []
        found = True
        if field == "iscsi":
            errors += _validate_iscsi_length(volume, path)
    if volume.get("image") is not None:
        if found:
            errors.append(forbidden(path.child("image"), "may not specify more than 1 volume type"))
        else:
            errors += _validate_image(volume["image"], path.child("image"), is_pod=is_pod)
        found = True
    if not found:
        errors.append(required(path, "must specify a volume type"))
    return errors


def _validate_iscsi_length(volume: Fields, path: Path) -> Errors:
    name, source = volume.get("name", ""), volume["iscsi"]
    if source.get("initiatorName") is None or size(f"{name}:{source.get('targetPortal', '')}") <= 64:
        return []
    detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters"
    return [invalid(path.child("name"), name, f"{detail} if iscsi.initiatorName is specified.")]


def _validate_claim_name(volume: Fields, pod_name: str, path: Path) -> Errors:
    name = volume.get("name", "")
    if not pod_name or not name:
        return []
    claim = f"{pod_name}-{name}"
    texts = [f"PVC name {go_quote(claim)}: {text}" for text in name_is_dns_subdomain(claim, False)]
    return invalid_each(path.child("name"), name, texts)


def _validate_image(source: Fields, path: Path, *, is_pod: bool) -> Errors:
    errors = [required(path.child("reference"))] if is_pod and not source.get("reference") else []
    return errors + validate_pull_policy(source.get("pullPolicy", ""), path.child("pullPolicy"))


def validate_pull_policy(policy: str, path: Path) -> Errors:
    if not policy:
        return [required(path)]
    policies = ("Always", "IfNotPresent", "Never")
    return [] if policy in policies else [not_supported(path, policy, policies)]
