"""The hooks of ReplicationControllers."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.meta import validate_non_negative, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_dns1123_label, is_long_name
from jobrelay.kinds.core.checks import unsupported_label
from jobrelay.kinds.core.pod.defaults import default_pod_template, drop_disabled_template_fields
from jobrelay.kinds.core.pod.spec import validate_pod_template_spec
from jobrelay.kinds.core.pod.warnings import pod_template_warnings
from jobrelay.kinds.generation import bump_generation, count_spec_changes, keep_spec, keep_status, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_SPEC: Final = Path("spec")
_TEMPLATE: Final = Path("spec.template")
_COUNTS: Final = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")


def _default(obj: Obj) -> None:
    spec = obj["spec"]
    template = spec.get("template")
    if template is not None:
        labels = template["metadata"].get("labels")
        if labels and not spec.get("selector"):
            spec["selector"] = dict(labels)
        if labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
        default_pod_template(template)
    spec.setdefault("replicas", 1)


def _prepare_create(obj: Obj) -> None:
    obj["status"] = {"replicas": 0}
    start_generation(obj)
    drop_disabled_template_fields(obj["spec"].get("template"))


def _name_fn(name: str, prefix: bool) -> list[str]:
    """Only the finished name is checked."""
    return [] if prefix else is_long_name(name)


def _validate_create(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, name_fn=_name_fn)
    return errors + _validate_spec(obj["spec"])


def _validate_spec(spec: dict[str, Any]) -> list[FieldError]:
    errors = validate_non_negative(spec.get("minReadySeconds", 0), _SPEC.child("minReadySeconds"))
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        errors.append(required(_SPEC.child("selector")))
    errors += validate_non_negative(spec.get("replicas", 0), _SPEC.child("replicas"))
    if template is None:
        return [*errors, required(_TEMPLATE)]
    labels = template["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        at = _TEMPLATE.child("metadata", "labels")
        errors.append(invalid(at, labels or None, "`selector` does not match template `labels`"))
    errors += validate_pod_template_spec(template, _TEMPLATE)
    policy = template["spec"].get("restartPolicy", "")
    if policy != "Always":
        errors.append(not_supported(_TEMPLATE.child("spec", "restartPolicy"), policy, ("Always",)))
    if template["spec"].get("activeDeadlineSeconds") is not None:
        at = _TEMPLATE.child("spec", "activeDeadlineSeconds")
        errors.append(forbidden(at, "activeDeadlineSeconds in ReplicationController is not Supported"))
    return errors


def _warn_create(obj: Obj) -> list[str]:
    warnings = []
    if texts := is_dns1123_label(obj["metadata"].get("name", "")):
        warnings.append(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS "
            f"label is recommended: [{' '.join(texts)}]"
        )
    return warnings + pod_template_warnings(obj["spec"].get("template"), _TEMPLATE)


def _prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    drop_disabled_template_fields(new["spec"].get("template"), old["spec"].get("template"))
    count_spec_changes(new, old)


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(new["metadata"], old["metadata"]) + _validate_spec(new["spec"])


def _warn_update(new: Obj, old: Obj) -> list[str]:
    """The real server checks the stored template here."""
    return pod_template_warnings(old["spec"].get("template"), _TEMPLATE) if new["spec"] != old["spec"] else []


def _prepare_status(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    bump_generation(new, old, changed=False)


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    status, path = new.get("status") or {}, Path("status")
    replicas, labelled, ready, available, _ = (status.get(name, 0) for name in _COUNTS)
    for name in _COUNTS:
        errors += validate_non_negative(status.get(name, 0), path.child(name))
    for name, count in (("fullyLabeledReplicas", labelled), ("readyReplicas", ready), ("availableReplicas", available)):
        if count > replicas:
            errors.append(invalid(path.child(name), count, "cannot be greater than status.replicas"))
    if available > ready:
        errors.append(invalid(path.child("availableReplicas"), available, "cannot be greater than readyReplicas"))
    return errors


def _fields(obj: Obj) -> dict[str, str]:
    metadata = obj["metadata"]
    return {
        "metadata.name": metadata.get("name", ""),
        "metadata.namespace": metadata.get("namespace", ""),
        "status.replicas": str((obj.get("status") or {}).get("replicas", 0)),
    }


_UPDATE: Final = UpdateStrategy(_prepare_update, _validate_update, _warn_update)
REPLICATION_CONTROLLERS: Final = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate_create=_validate_create,
    warn_create=_warn_create,
    update=_UPDATE,
    subresources={"scale": _UPDATE, "status": UpdateStrategy(_prepare_status, _validate_status)},
    fields=_fields,
    field_labels=frozenset({"metadata.name", "metadata.namespace", "status.replicas"}),
    unsupported_field=unsupported_label,
    default_propagation="Orphan",
    reset_fields={"": (("status",),), "status": (("spec",),)},
)
