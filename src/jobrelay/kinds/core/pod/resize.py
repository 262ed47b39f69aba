"""The resize subresource: cpu and memory of running containers may change, nothing else."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from jobrelay.apimachinery.field import forbidden, invalid
from jobrelay.apimachinery.meta import validate_object_meta_update
from jobrelay.kinds.core.pod.common import MIRROR_ANNOTATION, WHOLE, Errors, is_sidecar
from jobrelay.kinds.core.pod.lifecycle import SPEC, Obj, validate_metadata_and_spec
from jobrelay.kinds.core.pod.resources import qos_class


def take_only_resizes(new: Obj, old: Obj) -> None:
    """Keeps of an update only the containers' resources and resize policies."""
    spec, stored = new["spec"], old["spec"]
    for name in ("containers", "initContainers"):
        if len(spec.get(name) or ()) != len(stored.get(name) or ()):
            return
    merged = {name: _merge(spec.get(name), stored.get(name)) for name in ("containers", "initContainers")}
    new["spec"] = {**stored, **{name: value for name, value in merged.items() if value}}
    new["status"] = old.get("status", {})


def _merge(new: list[Obj] | None, old: list[Obj] | None) -> list[Obj]:
    out = []
    for ours, theirs in zip(new or (), old or (), strict=True):
        if ours.get("name") != theirs.get("name"):
            return new or []
        kept = {key: value for key, value in theirs.items() if key not in ("resources", "resizePolicy")}
        out.append(kept | {key: ours[key] for key in ("resources", "resizePolicy") if key in ours})
    return out


def validate_resize(new: Obj, old: Obj) -> Errors:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += validate_metadata_and_spec(new)
    if MIRROR_ANNOTATION in (old["metadata"].get("annotations") or {}):
        return [forbidden(WHOLE, "static pods cannot be resized")]
    if (old["spec"].get("os") or {}).get("name") == "windows":
        return [forbidden(WHOLE, "windows pods cannot be resized")]
    status = new.get("status") or {}
    if ((old.get("status") or {}).get("qosClass") or qos_class(old["spec"])) != qos_class(new["spec"]):
        text = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid(SPEC, status.get("qosClass", ""), text))
    if not _node_can_resize(old):
        errors.append(forbidden(SPEC, "Pod running on node without support for resize"))
    if _has_pod_level_resources(old) or _has_pod_level_resources(new):
        text = (
            "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled"
        )
        return [*errors, forbidden(WHOLE, f"{text} feature gate is disabled")]
    if ordering := _validate_ordering(new["spec"], old["spec"]):
        return errors + ordering
    errors += _validate_no_removals(new["spec"], old["spec"])
    munged = copy.deepcopy(new["spec"])
    errors += _validate_only_compute(munged, old["spec"])
    if not errors and munged != old["spec"]:
        errors.append(forbidden(SPEC, "only cpu and memory resources are mutable"))
    return errors


def _node_can_resize(pod: Obj) -> bool:
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _has_pod_level_resources(pod: Obj) -> bool:
    resources = pod["spec"].get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _validate_ordering(new: Obj, old: Obj) -> Errors:
    errors: Errors = []
    for name in ("containers", "initContainers"):
        ours, theirs = new.get(name) or (), old.get(name) or ()
        if len(ours) != len(theirs):
            errors.append(forbidden(SPEC.child(name), f"{name} may not be added or removed on resize"))
            continue
        for i, (container, stored) in enumerate(zip(ours, theirs, strict=True)):
            if container.get("name") != stored.get("name"):
                at = SPEC.child(name).index(i).child("name")
                errors.append(forbidden(at, f"{name} may not be renamed or reordered on resize"))
    return errors


def _validate_no_removals(new: Obj, old: Obj) -> Errors:
    errors: Errors = []
    for name in ("initContainers", "containers"):
        for i, stored in enumerate(old.get(name) or ()):
            if name == "initContainers" and not is_sidecar(stored):
                continue
            ours, theirs = new[name][i].get("resources") or {}, stored.get("resources") or {}
            for which in ("requests", "limits"):
                if (theirs.get(which) or {}).keys() - (ours.get(which) or {}).keys():
                    at = SPEC.child(name).index(i).child("resources", which)
                    errors.append(forbidden(at, f"resource {which} cannot be removed"))
    return errors


def _validate_only_compute(munged: Obj, old: Obj) -> Errors:
    """Puts the old cpu and memory back into `munged`; whatever still differs may not change."""
    errors: Errors = []
    for name in ("containers", "initContainers"):
        for container, stored in zip(munged.get(name) or (), old.get(name) or (), strict=True):
            if name == "containers":
                text = "only cpu and memory resources are mutable"
            elif is_sidecar(container):
                text = "only cpu and memory resources for sidecar containers are mutable"
            else:
                text = "resources for non-sidecar init containers are immutable"
            if name == "containers" or is_sidecar(container):
                container["resources"] = _with_old_compute(
                    container.get("resources") or {}, stored.get("resources") or {}
                )
            if container != stored:
                errors.append(forbidden(SPEC, text))
    return errors


def _with_old_compute(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for which in ("limits", "requests"):
        kept = {name: value for name, value in (new.get(which) or {}).items() if name not in ("cpu", "memory")}
        kept |= {name: value for name, value in (old.get(which) or {}).items() if name in ("cpu", "memory")}
        if kept:
            out[which] = kept
    return out
