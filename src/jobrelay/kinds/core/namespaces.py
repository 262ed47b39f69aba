"""Namespaces: labelled with their own name, held by the `kubernetes` finalizer until their content is gone.

`spec.finalizers` is not metadata: it can only be changed through the `finalize` subresource, and a plain update keeps
it. The phase follows from the deletion timestamp, and is checked against it.
"""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, invalid
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_label
from jobrelay.kinds.core.checks import finalizer_name, unsupported_label
from jobrelay.kinds.generation import keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

NAME_LABEL: Final = "kubernetes.io/metadata.name"
FINALIZER: Final = "kubernetes"
_FINALIZERS: Final = Path("spec.finalizers")


def default(namespace: Obj) -> None:
    namespace["status"].setdefault("phase", "Active")
    if namespace["metadata"].get("name"):
        label_with_name(namespace)


def label_with_name(namespace: Obj) -> None:
    metadata = namespace["metadata"]
    metadata.setdefault("labels", {})[NAME_LABEL] = metadata["name"]


def prepare_create(namespace: Obj) -> None:
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].get("finalizers") or []
    if FINALIZER not in finalizers:
        namespace["spec"]["finalizers"] = [*finalizers, FINALIZER]


def prepare_update(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    keep_status(new, old)


def validate(namespace: Obj) -> list[FieldError]:
    errors = validate_object_meta(namespace["metadata"], namespaced=False, name_fn=name_is_dns_label)
    for name in namespace["spec"].get("finalizers") or ():
        errors += finalizer_name(name, _FINALIZERS)
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate(new) + validate_object_meta_update(new["metadata"], old["metadata"])


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    phase, deleting = new["status"].get("phase", ""), new["metadata"].get("deletionTimestamp")
    path = Path("status.Phase")
    if not deleting and phase != "Active":
        errors.append(invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty"))
    if deleting and phase != "Terminating":
        errors.append(invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
    return errors


def validate_finalize(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    for i, name in enumerate(new["spec"].get("finalizers") or ()):
        errors += finalizer_name(name, _FINALIZERS.index(i))
    return errors


def fields(namespace: Obj) -> dict[str, str]:
    return metadata_fields(namespace) | {"status.phase": namespace["status"].get("phase", "")}


STRATEGIES: Final = {
    ("", "namespaces"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        canonicalize=label_with_name,
        update=UpdateStrategy(prepare_update, validate_update),
        subresources={
            "status": UpdateStrategy(keep_spec, validate_status),
            "finalize": UpdateStrategy(keep_status, validate_finalize),
        },
        fields=fields,
        field_labels=frozenset({"metadata.name", "status.phase"}),
        unsupported_field=unsupported_label,
        reset_fields={"": (("status",),), "status": (("spec",),), "finalize": (("status",),)},
        delete_returns_object=True,
    )
}
