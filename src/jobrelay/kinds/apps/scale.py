"""The scale subresource: a small view on objects with replicas, and how a changed view goes back into the object."""

from __future__ import annotations

from typing import Any

from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.meta import validate_non_negative, validate_object_meta
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.apimachinery.selectors import selector_from_labels, selector_from_object
from jobrelay.kinds.strategy import Obj

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: Obj) -> dict[str, Any]:
    """The autoscaling/v1 Scale of a Deployment, ReplicaSet, StatefulSet or ReplicationController."""
    metadata, spec = obj["metadata"], obj["spec"]
    replicas = spec.get("replicas", 0)
    status: dict[str, Any] = {"replicas": (obj.get("status") or {}).get("replicas", 0)}
    if selector := _selector_text(spec.get("selector")):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector_text(selector: dict[str, Any] | None) -> str:
    """A ReplicationController selects by plain labels, the others by a label selector."""
    if selector and not all(isinstance(value, str) for value in selector.values()):
        return str(selector_from_object(selector))
    return str(selector_from_labels(selector)) if selector else ""


def validate_scale(scale: dict[str, Any]) -> list[FieldError]:
    errors = validate_object_meta(scale["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + validate_non_negative(scale["spec"].get("replicas", 0), Path("spec.replicas"))


def apply_scale(obj: Obj, scale: dict[str, Any]) -> None:
    """Writes a scale's replicas into the object. A resourceVersion in the scale becomes the object's precondition."""
    obj["spec"]["replicas"] = scale["spec"].get("replicas", 0)
    version = scale["metadata"].get("resourceVersion", "")
    if version:
        obj["metadata"]["resourceVersion"] = version
    else:
        obj["metadata"].pop("resourceVersion", None)
