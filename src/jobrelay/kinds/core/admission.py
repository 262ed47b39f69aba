"""Admission rules that depend on other objects: default storage class, expansion of claims, default priority.

Pure functions of the object and of the other objects. A refusal is the text after `is forbidden: `, empty when the
object is admitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from jobrelay.kinds.core.claims import STORAGE_CLASS_ANNOTATION
from jobrelay.kinds.core.resources import number_of
from jobrelay.kinds.strategy import Obj

DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT_CLASS: Final = "storageclass.beta.kubernetes.io/is-default-class"


def class_of(claim: Mapping[str, Any]) -> str | None:
    """The storage class that a claim names; an empty name means none, on purpose."""
    annotations: dict[str, Any] = claim["metadata"].get("annotations") or {}
    named: str | None = annotations.get(STORAGE_CLASS_ANNOTATION, claim["spec"].get("storageClassName"))
    return named


def attributes_classes(claim: Mapping[str, Any]) -> frozenset[str]:
    """The attributes classes that a claim names, has, or changes to."""
    status = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return frozenset(filter(None, names))


def default_class(storage_classes: Iterable[Mapping[str, Any]]) -> str | None:
    """The newest of the classes that are marked as default."""
    marked = [made["metadata"] for made in storage_classes if _is_default(made)]
    by_name = sorted(marked, key=lambda metadata: str(metadata["name"]))
    newest = sorted(by_name, key=lambda metadata: str(metadata["creationTimestamp"]), reverse=True)
    return newest[0]["name"] if newest else None


def _is_default(storage_class: Mapping[str, Any]) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return "true" in (annotations.get(DEFAULT_CLASS), annotations.get(_BETA_DEFAULT_CLASS))


def fill_in_class(claim: Obj, storage_classes: Iterable[Mapping[str, Any]]) -> None:
    """A new claim that names no class gets the default one, if there is one."""
    if class_of(claim) is None and (name := default_class(storage_classes)) is not None:
        claim["spec"]["storageClassName"] = name


def growth_refusal(claim: Obj, old: Obj, storage_classes: Iterable[Mapping[str, Any]]) -> str:
    """A claim may grow once it is bound, if its class allows it."""
    sizes = [number_of(made["spec"]["resources"].get("requests"), "storage") for made in (claim, old)]
    if sizes[0] <= sizes[1]:
        return ""
    if old["status"].get("phase") != "Bound":
        return "Only bound persistent volume claims can be expanded"
    growing = {made["metadata"]["name"] for made in storage_classes if made.get("allowVolumeExpansion")}
    if class_of(claim) == class_of(old) and class_of(claim) in growing:
        return ""
    return (
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
        "support resize"
    )


def second_default_refusal(priority_class: Obj, others: Iterable[Mapping[str, Any]]) -> str:
    """There is one default priority class; `others` are the stored ones, the object itself among them or not."""
    if not priority_class.get("globalDefault"):
        return ""
    name = priority_class["metadata"].get("name")
    defaults = [other for other in others if other.get("globalDefault") and other["metadata"]["name"] != name]
    if not defaults:
        return ""
    lowest = min(defaults, key=lambda other: int(other.get("value", 0)))
    return f"PriorityClass {lowest['metadata']['name']} is already marked as default. Only one default can exist"
