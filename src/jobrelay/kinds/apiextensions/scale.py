"""The scale subresource of custom resources: an autoscaling/v1 Scale read from, and written to, paths of the object."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.kinds.apiextensions import paths

Obj = dict[str, Any]
_COPIED: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_INT32_MAX: Final = 2**31 - 1


class ScaleError(ValueError):
    """The object has no scale: the text of the server's 500 after `Internal error occurred: `."""


def crd_scale_of(obj: Obj, scale: Obj) -> Obj:
    """The Scale of an object. `scale` is the CRD's subresources.scale. Raises ScaleError or paths.PathError."""
    replicas = paths.nested_int(obj, scale["specReplicasPath"])
    if replicas is None:
        raise ScaleError(f"the spec replicas field {field.go_quote(scale['specReplicasPath'])} does not exist")
    return scale_view(obj, scale)


def scale_view(obj: Obj, scale: Obj) -> Obj:
    """As `crd_scale_of`, but a missing replica count is 0 (the answer to a write)."""
    metadata = obj["metadata"]
    status: Obj = {"replicas": paths.nested_int(obj, scale["statusReplicasPath"]) or 0}
    selector_path = scale.get("labelSelectorPath")
    if selector_path and (selector := paths.nested_text(obj, selector_path)):
        status["selector"] = selector
    spec = {"replicas": replicas} if (replicas := paths.nested_int(obj, scale["specReplicasPath"])) else {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _COPIED if key in metadata},
        "spec": spec,
        "status": status,
    }


def crd_apply_scale(obj: Obj, new: Obj, scale: Obj) -> None:
    """Writes a Scale's replicas (and its resourceVersion, as a precondition) into the object, in place."""
    paths.set_nested(obj, scale["specReplicasPath"], new.get("spec", {}).get("replicas", 0))
    if version := new.get("metadata", {}).get("resourceVersion"):
        obj["metadata"]["resourceVersion"] = version


def spec_errors(obj: Obj, scale: Obj) -> list[FieldError]:
    return _count_errors(obj, scale["specReplicasPath"])


def status_errors(obj: Obj, scale: Obj) -> list[FieldError]:
    errors = _count_errors(obj, scale["statusReplicasPath"])
    if selector_path := scale.get("labelSelectorPath"):
        try:
            paths.nested_text(obj, selector_path)
        except paths.PathError as error:
            errors.append(field.invalid(Path(selector_path), "", str(error)))
    return errors


def _count_errors(obj: Obj, path: str) -> list[FieldError]:
    try:
        count = paths.nested_int(obj, path) or 0
    except paths.PathError as error:
        return [field.invalid(Path(path), 0, str(error))]
    if count < 0:
        return [field.invalid(Path(path), count, "should be a non-negative integer")]
    if count > _INT32_MAX:
        return [field.invalid(Path(path), count, f"should be less than or equal to {_INT32_MAX}")]
    return []
