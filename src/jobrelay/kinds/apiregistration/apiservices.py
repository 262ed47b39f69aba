"""APIServices: which server answers for a group and version. Those without a service are answered by this one."""

from __future__ import annotations

import base64
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, go_quote, invalid, not_supported, required
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_dns1035_label, is_valid_port_num, name_is_path_segment
from jobrelay.kinds.context import request_time
from jobrelay.kinds.core.checks import dns_subdomain
from jobrelay.kinds.generation import keep, keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

STATUSES: Final = ("True", "False", "Unknown")
MAX_GROUP_PRIORITY: Final = 20000
MAX_VERSION_PRIORITY: Final = 1000
_SPEC: Final = Path("spec")
_KEPT_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")


def default(obj: Obj) -> None:
    service = obj["spec"].get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def prepare_create(obj: Obj) -> None:
    obj["status"] = {}
    if obj["spec"].get("service") is None:
        obj["status"]["conditions"] = [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": request_time(),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]


def validate(obj: Obj) -> list[FieldError]:
    spec = obj["spec"]
    group, version = spec.get("group", ""), spec.get("version", "")

    def name_check(name: str, prefix: bool) -> list[str]:
        wanted = f"{version}.{group}"
        texts = name_is_path_segment(name, False)
        return texts or ([] if name == wanted else [f'must be `spec.version+"."+spec.group`: {go_quote(wanted)}'])

    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=name_check, known_finalizers=False)
    if not group and version != "v1":
        text = "only v1 may have an empty group and it better be legacy kube"
        errors.append(required(_SPEC.child("group"), text))
    errors += dns_subdomain(group, _SPEC.child("group")) if group else []
    errors += [invalid(_SPEC.child("version"), version, text) for text in is_dns1035_label(version)]
    for name, limit in (("groupPriorityMinimum", MAX_GROUP_PRIORITY), ("versionPriority", MAX_VERSION_PRIORITY)):
        if not 0 < spec[name] <= limit:
            errors.append(invalid(_SPEC.child(name), spec[name], f"must be positive and less than {limit}"))
    return errors + _validate_service(spec)


def _validate_service(spec: dict[str, Any]) -> list[FieldError]:
    service, insecure = spec.get("service"), spec.get("insecureSkipTLSVerify", False)
    bundle = base64.b64decode(spec.get("caBundle") or "")
    errors: list[FieldError] = []
    if service is None:
        if bundle:
            shown = f"{len(bundle)} bytes"
            errors.append(invalid(_SPEC.child("caBundle"), shown, "local APIServices may not have a caBundle"))
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid(_SPEC.child("insecureSkipTLSVerify"), True, text))
        return errors
    path = _SPEC.child("service")
    errors += [required(path.child(name)) for name in ("namespace", "name") if not service.get(name)]
    if texts := is_valid_port_num(service["port"]):
        errors.append(invalid(path.child("port"), service["port"], "port is not valid: " + ", ".join(texts)))
    if insecure and bundle:
        text = "may not be true if caBundle is present"
        errors.append(invalid(_SPEC.child("insecureSkipTLSVerify"), True, text))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False) + validate(new)


def prepare_status(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    for name in _KEPT_METADATA:
        keep(new["metadata"], old["metadata"], name)


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
    for i, condition in enumerate(new["status"].get("conditions") or ()):
        if condition.get("status") not in STATUSES:
            path = Path("status.conditions").index(i).child("status")
            errors.append(not_supported(path, condition.get("status", ""), STATUSES))
    return errors


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("apiregistration.k8s.io", "apiservices"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        update=UpdateStrategy(keep_status, validate_update),
        subresources={"status": UpdateStrategy(prepare_status, validate_status)},
        unconditional_update=False,
        reset_fields={"": (("status",),), "status": (("spec",), ("metadata",))},
    )
}
