"""The kinds of storage behind a persistent volume, each with its few checks, in the order in which the server looks.

Exactly one may be given. `SOURCES` maps a field of the spec to the path that errors name (not always the field) and its
check; flexVolume is the exception that is checked even when another source came first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, required, too_long
from jobrelay.apimachinery.names import is_dns1123_subdomain, is_in_range, name_is_dns_label, size
from jobrelay.kinds.core.checks import dns_label, dns_subdomain

Source = Mapping[str, Any]
Check = Callable[[Source, Path], list[FieldError]]
HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
ONE_TYPE: Final = "may not specify more than 1 volume type"
_IQN: Final = re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+", re.ASCII)
_EUI: Final = re.compile(r"eui.[A-Za-z0-9]{16}", re.ASCII)
_NAA: Final = re.compile(r"naa.[A-Za-z0-9]{32}", re.ASCII)
_INITIATORS: Final = {"iqn": _IQN, "eui": _EUI, "naa": _NAA}
_PARTITION: Final = "must be between 1 and 255, inclusive"
_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"


def needs(*names: str) -> Check:
    """A check that some fields are given."""
    return lambda source, path: [required(path.child(name)) for name in names if not source.get(name)]


def no_backsteps(value: str, path: Path) -> list[FieldError]:
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def host_path(source: Source, path: Path) -> list[FieldError]:
    if not source.get("path"):
        return [required(path.child("path"))]
    errors = no_backsteps(source["path"], path.child("path"))
    if source.get("type", "") not in HOST_PATH_TYPES:
        errors.append(not_supported(path.child("type"), source["type"], HOST_PATH_TYPES))
    return errors


def _local(source: Source, path: Path) -> list[FieldError]:
    if not source.get("path"):
        return [required(path.child("path"))]
    return no_backsteps(source["path"], path.child("path"))


def disk(id_field: str) -> Check:
    def check(source: Source, path: Path) -> list[FieldError]:
        errors = needs(id_field)(source, path)
        if not 0 <= source.get("partition", 0) <= 255:
            errors.append(invalid(path.child("partition"), source["partition"], _PARTITION))
        return errors

    return check


def _glusterfs(source: Source, path: Path) -> list[FieldError]:
    errors = needs("endpoints", "path")(source, path)
    if "endpointsNamespace" in source:
        namespace, at = source["endpointsNamespace"], path.child("endpointsNamespace")
        texts = name_is_dns_label(namespace, False)
        if not namespace:
            texts = ["if the endpointnamespace is set, it must be a valid namespace name"]
        errors += [invalid(at, namespace, text) for text in texts]
    return errors


def flocker(source: Source, path: Path) -> list[FieldError]:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    errors: list[FieldError] = []
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        errors.append(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in name:
        errors.append(invalid(path.child("datasetName"), name, "must not contain '/'"))
    return errors


def nfs(source: Source, path: Path) -> list[FieldError]:
    errors = needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        errors.append(invalid(path.child("path"), source.get("path", ""), "must be an absolute path"))
    return errors


def quobyte(source: Source, path: Path) -> list[FieldError]:
    registry = source.get("registry", "")
    errors: list[FieldError] = []
    if not registry:
        errors.append(required(path.child("registry"), _PAIRS))
    elif size(source.get("tenant", "")) >= 65:
        errors.append(required(path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
    else:
        bad = [pair for pair in registry.split(",") if not re.fullmatch(r"([^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*", pair)]
        errors += [invalid(path.child("registry"), registry, _PAIRS)] * len(bad)
    return errors + needs("volume")(source, path)


def _initiator(value: str, path: Path) -> list[FieldError]:
    pattern = _INITIATORS.get(value[:3])
    good = pattern is not None and pattern.fullmatch(value)
    return [] if good else [invalid(path, value, "must be valid format")]


def _iscsi(source: Source, path: Path, volume: str = "") -> list[FieldError]:
    errors = needs("targetPortal")(source, path)
    if "initiatorName" in source and size(f"{volume}:{source.get('targetPortal', '')}") > 64:
        text = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters"
            " if iscsi.initiatorName is specified."
        )
        errors.append(invalid(path.child("targetportal"), source.get("targetPortal", ""), text))
    iqn, lun = source.get("iqn", ""), source.get("lun", 0)
    errors += _initiator(iqn, path.child("iqn")) if iqn else [required(path.child("iqn"))]
    errors += [invalid(path.child("lun"), lun, text) for text in is_in_range(lun, 0, 255)]
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        errors.append(required(path.child("secretRef")))
    if "secretRef" in source and not source["secretRef"].get("name"):
        errors.append(required(path.child("secretRef", "name")))
    if "initiatorName" in source:
        errors += _initiator(source["initiatorName"], path.child("initiatorname"))
    return errors


def _secret_reference(source: Source, path: Path) -> list[FieldError]:
    reference = source.get("secretRef")
    return [] if reference is None else needs("name", "namespace")(reference, path.child("secretRef"))


def _cinder(source: Source, path: Path) -> list[FieldError]:
    return needs("volumeID")(source, path) + _secret_reference(source, path)


def fc(source: Source, path: Path) -> list[FieldError]:
    names, ids, lun = source.get("targetWWNs") or [], source.get("wwids") or [], source.get("lun")
    at = path.child("targetWWNs")
    errors: list[FieldError] = []
    if not names and not ids:
        errors.append(required(at, "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        errors.append(invalid(at, names, "targetWWNs and wwids can not be specified simultaneously"))
    if names and lun is None:
        errors.append(required(path.child("lun"), "lun is required if targetWWNs is specified"))
    elif names and lun is not None:
        errors += [invalid(path.child("lun"), lun, text) for text in is_in_range(lun, 0, 255)]
    return errors


def flex(source: Source, path: Path) -> list[FieldError]:
    errors = needs("driver")(source, path)
    for key in sorted(source.get("options") or ()):
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(path.child("options").key(key), key, text))
    return errors


def _azure_file(source: Source, path: Path) -> list[FieldError]:
    errors = needs("secretName", "shareName")(source, path)
    if source.get("secretNamespace") == "":
        errors.append(required(path.child("secretNamespace")))
    return errors


_CACHING: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_URI: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def azure_disk(source: Source, path: Path) -> list[FieldError]:
    errors = needs("diskName", "diskURI")(source, path)
    for name, known in (("cachingMode", _CACHING), ("kind", _DISK_KINDS)):
        if source.get(name, known[0]) not in known:
            errors.append(not_supported(path.child(name), source[name], known))
    uri, kind = source.get("diskURI", ""), source.get("kind")
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(path.child("diskURI"), uri, [_MANAGED_URI]))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        errors.append(not_supported(path.child("diskURI"), uri, [_BLOB_URI]))
    return errors


def _storage_os(source: Source, path: Path) -> list[FieldError]:
    name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
    errors = dns_label(name, path.child("volumeName")) if name else [required(path.child("volumeName"))]
    if namespace:
        errors += dns_label(namespace, path.child("volumeNamespace"))
    return errors + _secret_reference(source, path)


def validate_csi_driver_name(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if size(name) > 63 else []
    return errors + [invalid(path, name, text) for text in is_dns1123_subdomain(name.lower())]


def _csi(source: Source, path: Path) -> list[FieldError]:
    errors = validate_csi_driver_name(source.get("driver", ""), path.child("driver"))
    errors += needs("volumeHandle")(source, path)
    for field in (
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ):
        if field in source:
            name, namespace = source[field].get("name", ""), source[field].get("namespace", "")
            at = path.child(field)
            errors += dns_subdomain(name, at.child("name")) if name else [required(at.child("name"))]
            errors += dns_label(namespace, at.child("namespace")) if namespace else [required(at.child("namespace"))]
    return errors


SOURCES: Final[dict[str, tuple[str, str, Check]]] = {
    # field: (name when it is one too many, name in its own errors, check)
    "hostPath": ("hostPath", "hostPath", host_path),
    "gcePersistentDisk": ("gcePersistentDisk", "persistentDisk", disk("pdName")),
    "awsElasticBlockStore": ("awsElasticBlockStore", "awsElasticBlockStore", disk("volumeID")),
    "glusterfs": ("glusterfs", "glusterfs", _glusterfs),
    "flocker": ("flocker", "flocker", flocker),
    "nfs": ("nfs", "nfs", nfs),
    "rbd": ("rbd", "rbd", needs("monitors", "image")),
    "quobyte": ("quobyte", "quobyte", quobyte),
    "cephfs": ("cephFS", "cephfs", needs("monitors")),
    "iscsi": ("iscsi", "iscsi", _iscsi),
    "cinder": ("cinder", "cinder", _cinder),
    "fc": ("fc", "fc", fc),
    "flexVolume": ("", "flexVolume", flex),
    "azureFile": ("azureFile", "azureFile", _azure_file),
    "vsphereVolume": ("vsphereVolume", "vsphereVolume", needs("volumePath")),
    "photonPersistentDisk": ("photonPersistentDisk", "photonPersistentDisk", needs("pdID")),
    "portworxVolume": ("portworxVolume", "portworxVolume", needs("volumeID")),
    "azureDisk": ("azureDisk", "azureDisk", azure_disk),
    "scaleIO": ("scaleIO", "scaleIO", needs("gateway", "system", "volumeName")),
    "local": ("local", "local", _local),
    "storageos": ("storageos", "storageos", _storage_os),
    "csi": ("csi", "csi", _csi),
}


def validate_sources(spec: dict[str, Any], volume: str, path: Path) -> list[FieldError]:
    """Exactly one source, and what that one must satisfy."""
    errors: list[FieldError] = []
    found = 0
    for field, (extra, name, check) in SOURCES.items():
        if field not in spec:
            continue
        if found and extra:
            errors.append(forbidden(path.child(extra), ONE_TYPE))
            continue
        found += 1
        at = path.child(name)
        errors += _iscsi(spec[field], at, volume) if field == "iscsi" else check(spec[field], at)
        if field == "local" and "nodeAffinity" not in spec:
            errors.append(required(path.child("nodeAffinity"), "Local volume requires node affinity"))
    return errors if found else [*errors, required(path, "must specify a volume type")]
