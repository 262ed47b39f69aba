"""What to do about a claim and about a volume, given all others. Pure functions over objects.

A claim is bound in four writes: the volume names the claim, the volume is Bound, the claim names the volume, the claim
is Bound. After a crash between any two of them the next decision about either object leads to the same end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from jobrelay.cluster.controllers.volumebinder.matching import best_match, mismatch, names_claim, storage_class
from jobrelay.kinds.core.admission import class_of, default_class
from jobrelay.kube import EventNote

Obj = dict[str, Any]
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_BUILT_IN: Final = "kubernetes.io/"
_DELAYED: Final = "WaitForFirstConsumer"


class Bind(NamedTuple):
    """Bind the claim to a volume, or complete its binding."""

    volume: Obj


class SetPhase(NamedTuple):
    """Set the phase of the claim or volume; the event is recorded if it is not `once`, or the phase changes."""

    phase: str
    event: EventNote | None = None
    once: bool = False


class Provision(NamedTuple):
    """Ask an external provisioner for a volume."""

    provisioner: str


class UseClass(NamedTuple):
    """Give the claim the default class, which did not exist when the claim was created."""

    name: str


class Unbind(NamedTuple):
    """Release the volume, whose claim is bound to another one."""


ClaimDecision = Bind | SetPhase | Provision | UseClass
VolumeDecision = SetPhase | Unbind


def has_annotation(obj: Obj, name: str) -> bool:
    return name in (obj["metadata"].get("annotations") or {})


def decide_claim(claim: Obj, volumes: Mapping[str, Obj], classes: Mapping[str, Obj]) -> ClaimDecision:
    """What to do about a claim; `volumes` and `classes` are all there are, by name."""
    name = claim["spec"].get("volumeName", "")
    if has_annotation(claim, BIND_COMPLETED):
        return _decide_bound(claim, name, volumes.get(name))
    if name:
        return _decide_requested(claim, volumes.get(name))
    delayed = _is_delayed(claim, classes)
    found = best_match(claim, volumes.values(), delayed=delayed)
    return Bind(found) if found is not None else _decide_unmatched(claim, classes, delayed=delayed)


def _decide_bound(claim: Obj, name: str, volume: Obj | None) -> ClaimDecision:
    if volume is None:
        what = "its PersistentVolume" if name else "reference to PersistentVolume"
        return _lost("ClaimLost", f"Bound claim has lost {what}. Data on the volume is lost!")
    reference = volume["spec"].get("claimRef")
    if reference and reference.get("uid", "") != claim["metadata"]["uid"]:
        return _lost("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
    return Bind(volume)


def _lost(reason: str, text: str) -> SetPhase:
    return SetPhase("Lost", EventNote(reason, text, "Warning"), once=True)


def _decide_requested(claim: Obj, volume: Obj | None) -> ClaimDecision:
    """The user asks for one volume."""
    if volume is None:
        return SetPhase("Pending")
    name = volume["metadata"]["name"]
    if names_claim(volume, claim):
        return Bind(volume)
    if volume["spec"].get("claimRef"):
        taken = f'volume "{name}" already bound to a different claim.'
        return SetPhase("Pending", EventNote("FailedBinding", taken, "Warning"))
    if why := mismatch(volume, claim):
        text = f'Cannot bind to requested volume "{name}": {why}'
        return SetPhase("Pending", EventNote("VolumeMismatch", text, "Warning"))
    return Bind(volume)


def _decide_unmatched(claim: Obj, classes: Mapping[str, Obj], *, delayed: bool) -> ClaimDecision:
    """No volume is there for it."""
    wanted = storage_class(claim)
    if class_of(claim) is None and (default := default_class(classes.values())) is not None:
        return UseClass(default)
    if delayed and not has_annotation(claim, _SELECTED_NODE):
        text = "waiting for first consumer to be created before binding"
        return SetPhase("Pending", EventNote(_DELAYED, text))
    if not wanted:
        text = "no persistent volumes available for this claim and no storage class is set"
        return SetPhase("Pending", EventNote("FailedBinding", text))
    if wanted not in classes:
        return _not_provisioned(f'storageclass.storage.k8s.io "{wanted}" not found')
    provisioner: str = classes[wanted]["provisioner"]
    if provisioner.startswith(_BUILT_IN):
        return _not_provisioned(f"no volume plugin matched name: {provisioner}")
    return Provision(provisioner)


def _not_provisioned(text: str) -> SetPhase:
    return SetPhase("Pending", EventNote("ProvisioningFailed", text, "Warning"))


def _is_delayed(claim: Obj, classes: Mapping[str, Obj]) -> bool:
    return classes.get(storage_class(claim), {}).get("volumeBindingMode") == _DELAYED


def decide_volume(volume: Obj, claim: Obj | None) -> VolumeDecision | None:
    """What to do about a volume; `claim` is the one of the name that the volume has, if it exists."""
    reference, name = volume["spec"].get("claimRef"), volume["metadata"]["name"]
    if not reference or not reference.get("uid"):
        return SetPhase("Available")
    if claim is None or claim["metadata"]["uid"] != reference["uid"]:
        return _reclaim(volume)
    bound_to = claim["spec"].get("volumeName", "")
    if not bound_to:
        return None  # the binding of the claim goes on
    if bound_to == name:
        return SetPhase("Bound")
    if has_annotation(volume, PROVISIONED_BY) and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return _reclaim(volume)
    return Unbind()


def _reclaim(volume: Obj) -> SetPhase | None:
    """The claim is gone. Nothing here recycles or deletes what is stored in a volume."""
    if (volume.get("status") or {}).get("phase") not in ("Released", "Failed"):
        return SetPhase("Released")
    policy = volume["spec"].get("persistentVolumeReclaimPolicy")
    if policy == "Recycle":
        return _failed("VolumeFailedRecycle", "No recycler plugin found for the volume!")
    if policy == "Delete" and not _is_external(volume):
        return _failed("VolumeFailedDelete", _not_deleted(volume))
    return None


def _not_deleted(volume: Obj) -> str:
    """Why Kubernetes would not delete a volume either; it does delete those of the host below /tmp."""
    spec, name = volume["spec"], volume["metadata"]["name"]
    if path := (spec.get("hostPath") or {}).get("path"):
        return f"host_path deleter only supports /tmp/.+ but received provided {path}"
    found = "no deletable volume plugin matched" if "nfs" in spec else "no volume plugin matched"
    return f'error getting deleter volume plugin for volume "{name}": {found}'


def _failed(reason: str, text: str) -> SetPhase:
    return SetPhase("Failed", EventNote(reason, text, "Warning"), once=True)


def _is_external(volume: Obj) -> bool:
    """Whether another program deletes the volume."""
    annotations = volume["metadata"].get("annotations") or {}
    provisioner = annotations.get(PROVISIONED_BY, "")
    return "csi" in volume["spec"] or bool(provisioner and not provisioner.startswith(_BUILT_IN))
