"""Which volume a claim can be bound to."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from jobrelay.apimachinery.quantity import number
from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.kinds.core.admission import class_of

Obj = dict[str, Any]


def storage_class(obj: Obj) -> str:
    """The class of a claim or volume; empty if it has none."""
    return class_of(obj) or ""


def names_claim(volume: Obj, claim: Obj) -> bool:
    """Whether a volume is bound to a claim or reserved for it."""
    reference, metadata = volume["spec"].get("claimRef"), claim["metadata"]
    if not reference:
        return False
    same = (reference.get("namespace"), reference.get("name")) == (metadata["namespace"], metadata["name"])
    return same and reference.get("uid", "") in ("", metadata["uid"])


def mismatch(volume: Obj, claim: Obj) -> str:
    """Why a volume that a claim asks for by its name does not satisfy it; empty if it does."""
    if volume["metadata"].get("deletionTimestamp"):
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if _capacity(volume) < _requested(claim):
        return "requested PV is too small"
    if storage_class(volume) != storage_class(claim):
        return "storageClassName does not match"
    if _attributes_class(volume) != _attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if volume_mode(volume) != volume_mode(claim):
        return "incompatible volumeMode"
    if not _has_modes(volume, claim):
        return "incompatible accessMode"
    return ""


def best_match(claim: Obj, volumes: Iterable[Obj], *, delayed: bool) -> Obj | None:
    """The volume that is reserved for a claim, or else the smallest with the fewest access modes that satisfies it.

    A claim whose binding is delayed is bound to a reserved volume only: the rest is for the scheduler to choose.
    """
    fit = [volume for volume in volumes if _fits(volume, claim)]
    reserved = next((volume for volume in fit if names_claim(volume, claim)), None)
    if reserved is not None or delayed:
        return reserved
    open_ones = [volume for volume in fit if _is_selected(volume, claim)]
    return min(open_ones, key=lambda volume: (len(_modes(volume)), _capacity(volume)), default=None)


def _fits(volume: Obj, claim: Obj) -> bool:
    if volume["spec"].get("claimRef") and not names_claim(volume, claim):
        return False
    return (
        not volume["metadata"].get("deletionTimestamp")
        and _capacity(volume) >= _requested(claim)
        and volume_mode(volume) == volume_mode(claim)
        and _attributes_class(volume) == _attributes_class(claim)
        and _has_modes(volume, claim)
    )


def _is_selected(volume: Obj, claim: Obj) -> bool:
    selector = claim["spec"].get("selector")
    return (
        (volume.get("status") or {}).get("phase") == "Available"
        and storage_class(volume) == storage_class(claim)
        and (selector is None or selector_from_object(selector).matches(volume["metadata"].get("labels") or {}))
    )


def volume_mode(obj: Obj) -> str:
    """The volume mode of a claim or volume."""
    return obj["spec"].get("volumeMode") or "Filesystem"


def _modes(obj: Obj) -> set[str]:
    return set(obj["spec"].get("accessModes") or ())


def _has_modes(volume: Obj, claim: Obj) -> bool:
    return _modes(claim) <= _modes(volume)


def _attributes_class(obj: Obj) -> str:
    return obj["spec"].get("volumeAttributesClassName") or ""


def _capacity(volume: Obj) -> Fraction:
    return number((volume["spec"].get("capacity") or {}).get("storage", "0"))


def _requested(claim: Obj) -> Fraction:
    return number(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0"))
