"""VolumeAttachments: the wish to attach a volume to a node, and what became of it. The wish cannot change."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, required, too_long
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import IMMUTABLE, validate_object_meta
from jobrelay.apimachinery.names import name_is_dns_subdomain, size
from jobrelay.kinds.core.checks import dns_subdomain
from jobrelay.kinds.generation import keep_all_but_status, keep_status
from jobrelay.kinds.storage.csi import driver_name
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

MAX_METADATA_SIZE: Final = 256 * 1024
MAX_MESSAGE_SIZE: Final = 1024
_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def prepare_create(obj: Obj) -> None:
    obj["status"] = {"attached": False}


def validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    spec = obj["spec"]
    if not spec["attacher"]:
        errors.append(required(_SPEC.child("attacher")))
    errors += _validate_source(spec["source"], _SPEC.child("source"))
    errors += dns_subdomain(spec["nodeName"], _SPEC.child("nodeName"))
    return errors + _validate_status(obj.get("status") or {})


def _validate_source(source: dict[str, Any], path: Path) -> list[FieldError]:
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and name is None:
        return [required(path, _ONE_SOURCE)]
    if inline is not None and name is not None:
        return [forbidden(path, _ONE_SOURCE)]
    if name == "":
        return [required(path.child("persistentVolumeName"), "must specify non empty persistentVolumeName")]
    return []


def _validate_status(status: dict[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    metadata = status.get("attachmentMetadata") or {}
    if sum(size(key) + size(value) for key, value in metadata.items()) > MAX_METADATA_SIZE:
        errors.append(too_long(_STATUS.child("attachmentMetadata"), MAX_METADATA_SIZE))
    for name in ("attachError", "detachError"):
        error = status.get(name) or {}
        if size(error.get("message", "")) > MAX_MESSAGE_SIZE:
            errors.append(too_long(_STATUS.child(name, "message"), MAX_METADATA_SIZE))
        if (code := error.get("errorCode")) is not None and code < 0:
            path = _STATUS.child(name, "errorCode")
            errors.append(invalid(path, code, f"must be between 0 and {2**31 - 1}, inclusive"))
    return errors


def validate_create(obj: Obj) -> list[FieldError]:
    errors = validate(obj) + driver_name(obj["spec"]["attacher"], Path("spec.attacher"))
    name = obj["spec"]["source"].get("persistentVolumeName")
    return errors + (dns_subdomain(name, Path("spec.source.persistentVolumeName")) if name is not None else [])


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate(new)
    if new["spec"] != old["spec"]:
        shown = struct_value(new["spec"], "io.k8s.api.storage.v1.VolumeAttachmentSpec")
        errors.append(invalid(_SPEC, shown, IMMUTABLE))
    return errors


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("storage.k8s.io", "volumeattachments"): Strategy(
        delete_returns_object=True,
        prepare_create=prepare_create,
        validate_create=validate_create,
        update=UpdateStrategy(keep_status, validate_update),
        subresources={"status": UpdateStrategy(keep_all_but_status, validate_update)},
        unconditional_update=False,
        reset_fields={"": (("status",),), "status": (("metadata",), ("spec",))},
    )
}
