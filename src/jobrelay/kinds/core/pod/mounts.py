"""Checks on what a container mounts: volume mounts and block devices."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import Path, forbidden, invalid, not_found, not_supported, required
from jobrelay.kinds.core.pod.common import Errors, Fields, local_descending_path
from jobrelay.kinds.core.volumesources import no_backsteps

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")
Volumes = dict[str, Fields]


def validate_volume_mounts(container: Fields, volumes: Volumes, path: Path) -> Errors:
    errors: Errors = []
    devices = {d.get("name", ""): d.get("devicePath", "") for d in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for i, mount in enumerate(container.get("volumeMounts") or ()):
        at = path.index(i)
        name, mount_path = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(at.child("name")))
        if name not in volumes:
            errors.append(not_found(at.child("name"), name))
        if not mount_path:
            errors.append(required(at.child("mountPath")))
        if mount_path in seen:
            errors.append(invalid(at.child("mountPath"), mount_path, "must be unique"))
        seen.add(mount_path)
        if name in devices:
            errors.append(invalid(at.child("name"), name, "must not already exist in volumeDevices"))
        if mount_path in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            errors.append(invalid(at.child("mountPath"), mount_path, detail))
        errors += _validate_sub_path(mount, at, path)
        errors += _validate_propagation(mount, container, path.child("mountPropagation"))
        errors += _validate_recursive_read_only(mount, path.child("recursiveReadOnly"))
    return errors


def _validate_sub_path(mount: Fields, at: Path, path: Path) -> Errors:
    errors: Errors = []
    sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if sub_path:
        errors += local_descending_path(sub_path, path.child("subPath"))
    if expression:
        if sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(at.child("subPathExpr"), expression, detail))
        errors += local_descending_path(expression, path.child("subPathExpr"))
    return errors


def _validate_propagation(mount: Fields, container: Fields, path: Path) -> Errors:
    mode = mount.get("mountPropagation")
    if mode is None:
        return []
    errors = [] if mode in _PROPAGATIONS else [not_supported(path, mode, _PROPAGATIONS)]
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        errors.append(forbidden(path, "Bidirectional mount propagation is available only to privileged containers"))
    return errors


def _validate_recursive_read_only(mount: Fields, path: Path) -> Errors:
    mode = mount.get("recursiveReadOnly")
    if mode is None or mode == "Disabled":
        return []
    if mode not in _RECURSIVE:
        return [not_supported(path, mode, _RECURSIVE)]
    errors: Errors = []
    if not mount.get("readOnly"):
        errors.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def validate_volume_devices(container: Fields, volumes: Volumes, path: Path) -> Errors:
    errors: Errors = []
    mounts = {m.get("name", ""): m.get("mountPath", "") for m in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for i, device in enumerate(container.get("volumeDevices") or ()):
        at = path.index(i)
        name, device_path = device.get("name", ""), device.get("devicePath", "")
        if not name:
            errors.append(required(at.child("name")))
        if name in names:
            errors.append(invalid(at.child("name"), name, "must be unique"))
        if name not in volumes:
            errors.append(not_found(at.child("name"), name))
        elif not ({"persistentVolumeClaim", "ephemeral"} & volumes[name].keys()):
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(at.child("name"), name, detail))
        if not device_path:
            errors.append(required(at.child("devicePath")))
        if device_path in paths:
            errors.append(invalid(at.child("devicePath"), device_path, "must be unique"))
        if no_backsteps(device_path, path):
            errors.append(invalid(at.child("devicePath"), device_path, "can not contain backsteps ('..')"))
        else:
            paths.add(device_path)
        if name in mounts:
            errors.append(invalid(at.child("name"), name, "must not already exist in volumeMounts"))
        if device_path in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            errors.append(invalid(at.child("devicePath"), device_path, detail))
        if name:
            names.add(name)
    return errors
