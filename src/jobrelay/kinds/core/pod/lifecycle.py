"""Checks on a whole pod: when it is created, and what may change afterwards (the image and little else)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import Path, forbidden, invalid, required
from jobrelay.apimachinery.godiff import difference
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_in_range, name_is_dns_subdomain
from jobrelay.kinds.core.pod.common import CORE, MIRROR_ANNOTATION, WHOLE, Errors, Fields
from jobrelay.kinds.core.pod.containers import validate_image_spaces
from jobrelay.kinds.core.pod.remembered import remember_silence
from jobrelay.kinds.core.pod.scheduling import validate_tolerations
from jobrelay.kinds.core.pod.security import APPARMOR, validate_annotations_match_fields
from jobrelay.kinds.core.pod.spec import validate_pod_annotations, validate_pod_spec
from jobrelay.kinds.generation import keep

Obj = dict[str, Any]
SPEC: Final = Path("spec")
ANNOTATIONS: Final = Path("metadata.annotations")
_MAX_INT32: Final = 2**31 - 1
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_metadata_and_spec(pod: Obj) -> Errors:
    """What holds for a pod at any time."""
    metadata, spec = pod["metadata"], pod["spec"]
    errors = validate_object_meta(metadata, namespaced=True, name_fn=name_is_dns_subdomain)
    errors += validate_pod_annotations(metadata.get("annotations") or {}, spec, ANNOTATIONS)
    errors += _validate_spec(spec, metadata)
    if not spec.get("serviceAccountName"):
        for i, volume in enumerate(spec.get("volumes") or ()):
            for j, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if source.get("serviceAccountToken") is not None:
                    at = SPEC.child("volumes").index(i).child("projected", "sources").index(j)
                    text = "must not be specified when serviceAccountName is not set"
                    errors.append(forbidden(at.child("serviceAccountToken"), text))
    for name in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(name) or ()):
            errors += validate_image_spaces(container, SPEC.child(name).index(i))
    return errors


def _validate_spec(spec: Fields, metadata: Fields) -> Errors:
    """What is wrong with a spec; only claims make that depend on the pod that has it."""
    if spec.get("resourceClaims") or any(volume.get("ephemeral") for volume in spec.get("volumes") or ()):
        return validate_pod_spec(spec, SPEC, metadata)
    return _validate_claimless(spec, SPEC)


_validate_claimless = remember_silence(lambda spec, path: validate_pod_spec(spec, path, {}))


def validate_pod_create(pod: Obj) -> Errors:
    spec = pod["spec"]
    errors = validate_metadata_and_spec(pod)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden(SPEC.child("ephemeralContainers"), "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden(SPEC.child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
    return errors + validate_annotations_match_fields(pod["metadata"].get("annotations") or {}, spec, SPEC)


def validate_annotation_updates(new: Obj, old: Obj) -> Errors:
    errors: Errors = []
    ours, theirs = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    for key, value in theirs.items():
        if ours.get(key) == value:
            continue
        if key.startswith(APPARMOR):
            errors.append(forbidden(ANNOTATIONS.key(key), "may not remove or update AppArmor annotations"))
        if key == MIRROR_ANNOTATION:
            errors.append(forbidden(ANNOTATIONS.key(key), "may not remove or update mirror pod annotation"))
    for key in ours.keys() - theirs.keys():
        if key.startswith(APPARMOR):
            errors.append(forbidden(ANNOTATIONS.key(key), "may not add AppArmor annotations"))
        if key == MIRROR_ANNOTATION:
            errors.append(forbidden(ANNOTATIONS.key(key), "may not add mirror pod annotation"))
    return errors + validate_pod_annotations(ours, new["spec"], ANNOTATIONS)


def validate_pod_update(new: Obj, old: Obj) -> Errors:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    spec, stored = new["spec"], old["spec"]
    if spec == stored and new["metadata"].get("annotations") == old["metadata"].get("annotations"):
        metadata, before = new["metadata"], old["metadata"]
        return errors + validate_object_meta(metadata, namespaced=True, name_fn=name_is_dns_subdomain, old=before)
    errors += validate_metadata_and_spec(new)
    errors += validate_annotation_updates(new, old)
    for name in ("containers", "initContainers"):
        found = _validate_container_updates(spec.get(name) or (), stored.get(name) or (), SPEC.child(name))
        errors += found
        if len(spec.get(name) or ()) != len(stored.get(name) or ()):
            return errors
    deadline, known = spec.get("activeDeadlineSeconds"), stored.get("activeDeadlineSeconds")
    at = SPEC.child("activeDeadlineSeconds")
    if deadline is not None and (texts := is_in_range(deadline, 0, _MAX_INT32)):
        return [*errors, invalid(at, deadline, texts[0])]
    if deadline is not None and known is not None and known < deadline:
        return [*errors, invalid(at, deadline, "must be less than or equal to previous value")]
    if deadline is None and known is not None:
        errors.append(invalid(at, None, "must not update from a positive integer to nil value"))
    errors += _validate_only_added_tolerations(spec, stored)
    errors += _validate_only_deleted_gates(spec, stored)
    return errors if spec == stored else errors + _validate_rest_unchanged(spec, stored)


def _validate_container_updates(new: Sequence[Fields], old: Sequence[Fields], path: Path) -> Errors:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")]
    errors: Errors = []
    for i, container in enumerate(new):
        if not container.get("image"):
            errors.append(required(path.index(i).child("image")))
        errors += validate_image_spaces(container, path.index(i))
    return errors


def _validate_only_added_tolerations(new: Obj, old: Obj) -> Errors:
    path = SPEC.child("tolerations")
    tolerations = new.get("tolerations") or []
    kept = [_without_seconds(toleration) for toleration in tolerations]
    if any(_without_seconds(toleration) not in kept for toleration in old.get("tolerations") or ()):
        return [forbidden(path, "existing toleration can not be modified except its tolerationSeconds")]
    return validate_tolerations(tolerations, path)


def _without_seconds(toleration: Fields) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _validate_only_deleted_gates(new: Obj, old: Obj) -> Errors:
    known = {gate.get("name", "") for gate in old.get("schedulingGates") or ()}
    added = {
        gate.get("name", ""): i
        for i, gate in enumerate(new.get("schedulingGates") or ())
        if gate.get("name", "") not in known
    }
    return [
        forbidden(
            SPEC.child("schedulingGates").index(i).child("name"),
            f"only deletion is allowed, but found new scheduling gate '{name}'",
        )
        for name, i in added.items()
    ]


def _validate_rest_unchanged(new: Obj, old: Obj) -> Errors:
    """Undoes every change that is allowed and shows what is left as a difference."""
    spec = copy.deepcopy(new)
    errors: Errors = []
    for name in ("containers", "initContainers"):
        for container, stored in zip(spec.get(name) or (), old.get(name) or (), strict=True):
            container["image"] = stored.get("image", "")
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        keep(spec, old, name)
    if old.get("schedulingGates"):
        errors += _validate_gated_changes(spec, old)
    if spec != old:
        changes = difference(old, spec, CORE + "PodSpec")
        errors.append(forbidden(SPEC, f"pod updates may not change fields other than {_UPDATABLE}\n{changes}"))
    return errors


def _validate_gated_changes(spec: Obj, old: Obj) -> Errors:
    """A gated pod may get narrower node selectors; `spec` gets the old ones back."""
    errors: Errors = []
    ours, theirs = spec.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if ours != theirs:
        if any(ours.get(key) != value for key, value in theirs.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(invalid(SPEC.child("nodeSelector"), spec.get("nodeSelector"), text))
        keep(spec, old, "nodeSelector")
    affinity, stored = spec.get("affinity") or {}, old.get("affinity") or {}
    node, stored_node = affinity.get("nodeAffinity"), stored.get("nodeAffinity")
    if node != stored_node:
        errors += _validate_node_affinity_change(node, stored_node)
        restored = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
        if stored_node is not None:
            restored["nodeAffinity"] = stored_node
        if restored or "affinity" in old:
            spec["affinity"] = restored
        else:
            spec.pop("affinity", None)
    return errors


def _validate_node_affinity_change(new: Fields | None, old: Fields | None) -> Errors:
    if old is None or old.get(_REQUIRED) is None:
        return []
    path = SPEC.child("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    old_terms = old[_REQUIRED].get("nodeSelectorTerms") or []
    terms = ((new or {}).get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    if old_terms and len(terms) != len(old_terms):
        shown = struct_value(terms or None, f"[{CORE}NodeSelectorTerm")
        return [invalid(path, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")]
    return [
        invalid(
            path.index(i),
            struct_value(term, CORE + "NodeSelectorTerm"),
            "only additions are allowed (no mutations or deletions)",
        )
        for i, (term, stored) in enumerate(zip(terms, old_terms, strict=True))
        if not _only_adds(term, stored)
    ]


def _only_adds(new: Fields, old: Fields) -> bool:
    lists = [(new.get(name) or [], old.get(name) or []) for name in ("matchExpressions", "matchFields")]
    if not any(stored for _, stored in lists):
        return not any(given for given, _ in lists)
    return all(given[: len(stored)] == stored for given, stored in lists)


def validate_ephemeral_containers_update(new: Obj, old: Obj) -> Errors:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += validate_metadata_and_spec(new)
    errors += validate_annotation_updates(new, old)
    if MIRROR_ANNOTATION in (old["metadata"].get("annotations") or {}):
        return [forbidden(WHOLE, "static pods do not support ephemeral containers")]
    path = SPEC.child("ephemeralContainers")
    ours = {c.get("name", ""): c for c in new["spec"].get("ephemeralContainers") or ()}
    for stored in old["spec"].get("ephemeralContainers") or ():
        name = stored.get("name", "")
        if name not in ours:
            errors.append(forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif ours[name] != stored:
            changes = difference(stored, ours[name], CORE + "EphemeralContainer")
            errors.append(forbidden(path, f'existing ephemeral containers "{name}" may not be changed\n{changes}'))
    return errors
