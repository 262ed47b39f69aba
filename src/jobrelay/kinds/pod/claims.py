"""Checks on the spec of a PersistentVolumeClaim, on its own or as the template of an ephemeral volume."""

from __future__ import annotations

from typing import Final

from jobrelay.kinds import quantity
from jobrelay.kinds.field import Path, forbidden, invalid, not_supported, required
from jobrelay.kinds.meta import validate_annotations, validate_label_selector, validate_labels
from jobrelay.kinds.names import is_dns1123_subdomain, name_is_dns_label, name_is_dns_subdomain
from jobrelay.kinds.pod.common import Errors, Fields, invalid_each
from jobrelay.kinds.pod.resources import validate_resource_quantity

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_TEMPLATE_FORBIDDEN: Final = (
    ("name", "name"), ("generateName", "generateName"), ("namespace", "namespace"), ("selfLink", "selfLink"), ("uid", "uID"),
    ("resourceVersion", "resourceVersion"), ("generation", "generation"), ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"), ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"), ("finalizers", "finalizers"), ("managedFields", "managedFields"),
)  # fmt: skip


def validate_template_metadata(metadata: Fields, path: Path) -> Errors:
    """The metadata of a template, which may hold labels and annotations only."""
    errors = validate_annotations(metadata.get("annotations"), path.child("annotations"))
    errors += validate_labels(metadata.get("labels"), path.child("labels"))
    return errors + [
        forbidden(path.child(shown), "cannot be set") for name, shown in _TEMPLATE_FORBIDDEN if metadata.get(name)
    ]


def validate_claim_template(template: Fields, path: Path) -> Errors:
    errors = validate_template_metadata(template.get("metadata") or {}, path.child("metadata"))
    return errors + validate_claim_spec(template.get("spec") or {}, path.child("spec"))


def validate_claim_spec(spec: Fields, path: Path) -> Errors:
    errors: Errors = []
    modes = spec.get("accessModes") or []
    at = path.child("accessModes")
    if not modes:
        errors.append(required(at, "at least 1 access mode is required"))
    errors += validate_label_selector(spec.get("selector"), path.child("selector"))
    errors += [not_supported(at, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        errors.append(forbidden(at, "may not use ReadWriteOncePod with other access modes"))
    errors += _validate_storage(spec, path.child("resources").key("storage"))
    for name in ("storageClassName", "volumeMode"):
        value = spec.get(name)
        if name == "storageClassName" and value:
            errors += invalid_each(path.child(name), value, name_is_dns_subdomain(value, False))
        elif name == "volumeMode" and value is not None and value not in ("Block", "Filesystem"):
            errors.append(not_supported(path.child(name), value, ("Block", "Filesystem")))
    errors += _validate_data_sources(spec, path)
    if attributes := spec.get("volumeAttributesClassName"):
        where = path.child("volumeAttributesClassName")
        errors += invalid_each(where, attributes, name_is_dns_subdomain(attributes, False))
    return errors


def _validate_storage(spec: Fields, path: Path) -> Errors:
    value = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if value is None:
        return [required(path)]
    if quantity.number(value) <= 0:
        return [invalid(path, value, "must be greater than zero")]
    return validate_resource_quantity("storage", value, path)


def _validate_data_sources(spec: Fields, path: Path) -> Errors:
    errors: Errors = []
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        errors += _validate_data_source(source, path.child("dataSource"))
    if reference is not None:
        errors += _validate_data_source(reference, path.child("dataSourceRef"))
        if namespace := reference.get("namespace"):
            where = path.child("dataSourceRef", "namespace")
            errors += invalid_each(where, namespace, name_is_dns_label(namespace, False))
    if source is None or reference is None:
        return errors
    shown: dict[str, str] = {}
    if reference.get("namespace"):
        errors.append(invalid(path, shown, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, shown, "must match dataSourceRef"))
    return errors


def _validate_data_source(source: Fields, path: Path) -> Errors:
    errors = [required(path.child(name)) for name in ("name", "kind") if not source.get(name)]
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, detail))
    if group:
        errors += invalid_each(path.child("apiGroup"), group, is_dns1123_subdomain(group))
    return errors
