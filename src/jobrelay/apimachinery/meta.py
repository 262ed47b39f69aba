"""Checks on what all objects share: ObjectMeta, labels, annotations, label selectors, conditions, immutable fields."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    go_quote,
    invalid,
    not_supported,
    required,
    too_long,
)
from jobrelay.apimachinery.gostruct import json_value
from jobrelay.apimachinery.names import (
    NameFn,
    is_qualified_name,
    is_valid_label_value,
    name_is_dns_label,
    regex_error,
    size,
)

METADATA: Final = Path("metadata")
IMMUTABLE: Final = "field is immutable"
ANNOTATIONS_MAX: Final = 256 * 1024
_FIELD_MANAGER_MAX: Final = 128
_SUBRESOURCE_MAX: Final = 256
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_FIXED: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_CHECKED_ALONE: Final = frozenset({"labels", "annotations", "ownerReferences"})
_SERVERS_OWN: Final = frozenset({"managedFields", "resourceVersion"})
_NULL_WHEN_UNSET: Final = frozenset({"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"})
_REASON_FMT: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_reason = re.compile(_REASON_FMT).fullmatch


def validate_object_meta(
    metadata: Mapping[str, Any],
    *,
    namespaced: bool,
    name_fn: NameFn,
    path: Path = METADATA,
    known_finalizers: bool = True,
    old: Mapping[str, Any] | None = None,
) -> list[FieldError]:
    """`known_finalizers`: whether finalizers without a domain must be Kubernetes' own, as for all built-in kinds.

    `old` is the stored metadata of an object that is changed: what is still the same there was found good before.
    """
    if old is not None:
        metadata = _changed(metadata, old)
    errors: list[FieldError] = []
    if generate_name := metadata.get("generateName", ""):
        errors += [invalid(path.child("generateName"), generate_name, text) for text in name_fn(generate_name, True)]
    if name := metadata.get("name", ""):
        errors += [invalid(path.child("name"), name, text) for text in name_fn(name, False)]
    else:
        errors.append(required(path.child("name"), "name or generateName is required"))
    namespace = metadata.get("namespace", "")
    if not namespaced:
        if namespace:
            errors.append(forbidden(path.child("namespace"), "not allowed on this type"))
    elif not namespace:
        errors.append(required(path.child("namespace")))
    else:
        errors += [invalid(path.child("namespace"), namespace, text) for text in name_is_dns_label(namespace, False)]
    if metadata.get("generation", 0) < 0:
        errors += validate_non_negative(metadata["generation"], path.child("generation"))
    errors += _labels_annotations_owners(metadata, path)
    if metadata.get("finalizers"):
        errors += validate_finalizers(metadata["finalizers"], path.child("finalizers"))
    if metadata.get("managedFields"):
        errors += validate_managed_fields(metadata["managedFields"], path.child("managedFields"))
    return errors + (_unknown_finalizers(metadata, path) if known_finalizers else [])


def validate_object_meta_update(
    new: Mapping[str, Any], old: Mapping[str, Any], path: Path = METADATA, *, known_finalizers: bool = True
) -> list[FieldError]:
    if unchanged_meta(new, old):
        return []
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        errors += _no_new_finalizers(new.get("finalizers") or [], old.get("finalizers") or [], path.child("finalizers"))
    if not new.get("resourceVersion"):
        errors.append(invalid(path.child("resourceVersion"), "", "must be specified for an update"))
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(invalid(path.child("generation"), new.get("generation", 0), "must not be decremented"))
    for name in _FIXED:
        if new.get(name) == old.get(name):
            continue
        unset = None if name in _NULL_WHEN_UNSET else ""
        errors += validate_immutable_field(new.get(name, unset), old.get(name, unset), path.child(name))
    errors += _labels_annotations_owners(_changed(new, old), path)
    if new.get("managedFields"):
        errors += validate_managed_fields(new["managedFields"], path.child("managedFields"))
    return errors + (_unknown_finalizers(new, path) if known_finalizers else [])


def unchanged_meta(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether metadata is what it was when it was stored, but for what the server itself has written."""
    if not new.get("resourceVersion") or len(new.keys() | _SERVERS_OWN) != len(old.keys() | _SERVERS_OWN):
        return False
    for name, value in new.items():
        if name not in _SERVERS_OWN and (name not in old or old[name] != value):
            return False
    return True


def _changed(new: Mapping[str, Any], old: Mapping[str, Any]) -> Mapping[str, Any]:
    """Metadata without the labels, annotations and owners that it had before."""
    return {name: value for name, value in new.items() if name not in _CHECKED_ALONE or old.get(name) != value}


def _labels_annotations_owners(metadata: Mapping[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if metadata.get("labels"):
        errors += validate_labels(metadata["labels"], path.child("labels"))
    if metadata.get("annotations"):
        errors += validate_annotations(metadata["annotations"], path.child("annotations"))
    if metadata.get("ownerReferences"):
        errors += validate_owner_references(metadata["ownerReferences"], path.child("ownerReferences"))
    return errors


def validate_labels(labels: Mapping[str, str] | None, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in (labels or {}).items():
        if texts := is_qualified_name(key):
            errors += [invalid(path, key, text) for text in texts]
        if texts := is_valid_label_value(value):
            errors += [invalid(path, value, text) for text in texts]
    return errors


def validate_label_name(name: str, path: Path) -> list[FieldError]:
    return [invalid(path, name, text) for text in is_qualified_name(name)]


def validate_annotations(annotations: Mapping[str, str] | None, path: Path) -> list[FieldError]:
    """Keys are label keys of any case; the whole may have 256 KiB."""
    errors: list[FieldError] = []
    total = 0
    for key, value in (annotations or {}).items():
        errors += [invalid(path, key, text) for text in is_qualified_name(key.lower())]
        total += size(key) + size(value)
    if total > ANNOTATIONS_MAX:
        errors.append(too_long(path, ANNOTATIONS_MAX))
    return errors


def validate_owner_references(references: Sequence[Mapping[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for reference in references:
        errors += _validate_owner_reference(reference, path)
        if reference.get("controller"):
            this = f"{reference.get('kind', '')}/{reference.get('name', '')}"
            if controller:
                errors.append(invalid(
                    path, json_value([_ordered(r) for r in references]),
                    'Only one reference can have Controller set to true. Found "true" in references for'
                    f" {controller} and {this}",
                ))  # fmt: skip
            else:
                controller = this
    return errors


def _validate_owner_reference(reference: Mapping[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version = reference.get("apiVersion", "")
    kind = reference.get("kind", "")
    if not api_version.rpartition("/")[2] or api_version.count("/") > 1:
        errors.append(invalid(path.child("apiVersion"), api_version, "version must not be empty"))
    missing = (name for name in ("kind", "name", "uid") if not reference.get(name))
    errors.extend(invalid(path.child(name), "", "must not be empty") for name in missing)
    if (api_version, kind) == ("v1", "Event"):
        detail = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(invalid(path, json_value(_ordered(reference)), detail))
    return errors


def _ordered(reference: Mapping[str, Any]) -> dict[str, Any]:
    return {name: reference[name] for name in _OWNER_FIELDS if name in reference}


def validate_finalizers(finalizers: Sequence[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for finalizer in finalizers:
        errors += validate_label_name(finalizer, path)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.append(invalid(path, list(finalizers), "finalizer orphan and foregroundDeletion cannot be both set"))
    return errors


def _unknown_finalizers(metadata: Mapping[str, Any], path: Path) -> list[FieldError]:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(path.child("finalizers").index(i), name, text)
        for i, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion")
    ]


def _no_new_finalizers(new: Sequence[str], old: Sequence[str], path: Path) -> list[FieldError]:
    extra = sorted(set(new) - set(old))
    if not extra:
        return []
    shown = ", ".join(go_quote(name) for name in extra)
    detail = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
    return [forbidden(path, detail)]


def validate_field_manager(manager: str, path: Path) -> list[FieldError]:
    errors = [too_long(path, _FIELD_MANAGER_MAX)] if size(manager) > _FIELD_MANAGER_MAX else []
    if manager.isprintable():
        return errors
    position = 0
    for char in manager:
        if not char.isprintable():
            errors.append(invalid(path, manager, f"invalid character U+{ord(char):04X} (at position {position})"))
        position += len(char.encode())
    return errors


@functools.lru_cache(1024)
def _usual_manager(manager: str, operation: str, fields_type: str, subresource: str) -> bool:
    """Whether there is nothing wrong with an entry; the few that there are come again with every object."""
    known = operation in ("Apply", "Update") and fields_type in ("", "FieldsV1")
    return known and not validate_field_manager(manager, METADATA) and size(subresource) <= _SUBRESOURCE_MAX


def validate_managed_fields(entries: Sequence[Mapping[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, entry in enumerate(entries):
        operation, fields_type = entry.get("operation", ""), entry.get("fieldsType", "")
        if _usual_manager(entry.get("manager", ""), operation, fields_type, entry.get("subresource", "")):
            continue
        at = path.index(i)
        if operation not in ("Apply", "Update"):
            errors.append(invalid(at.child("operation"), operation, "must be `Apply` or `Update`"))
        if fields_type not in ("", "FieldsV1"):
            errors.append(invalid(at.child("fieldsType"), fields_type, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager", ""), at.child("manager"))
        if size(entry.get("subresource", "")) > _SUBRESOURCE_MAX:
            errors.append(too_long(at.child("subresource"), _SUBRESOURCE_MAX))
    return errors


def validate_immutable_field(new: Any, old: Any, path: Path) -> list[FieldError]:
    """Nothing, empty text, empty list and empty map are the same, as for Go's semantic equality."""
    if new == old or (not new and not old and not isinstance(new, (int, bool)) and not isinstance(old, (int, bool))):
        return []
    return [invalid(path, new, IMMUTABLE)]


def validate_non_negative(value: int, path: Path) -> list[FieldError]:
    return [invalid(path, value, "must be greater than or equal to 0")] if value < 0 else []


def validate_label_selector(
    selector: Mapping[str, Any] | None, path: Path, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    if not selector:
        return []
    errors = validate_labels(selector.get("matchLabels"), path.child("matchLabels"))
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        at = path.child("matchExpressions").index(i)
        errors += validate_label_selector_requirement(requirement, at, allow_invalid_values=allow_invalid_values)
    return errors


def validate_label_selector_requirement(
    requirement: Mapping[str, Any], path: Path, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(path.child("values"), detail))
    else:
        errors.append(invalid(path.child("operator"), operator, "not a valid selector operator"))
    errors += validate_label_name(requirement.get("key", ""), path.child("key"))
    if not allow_invalid_values:
        for i, value in enumerate(values):
            errors += [invalid(path.child("values").index(i), value, text) for text in is_valid_label_value(value)]
    return errors


def validate_conditions(conditions: Sequence[Mapping[str, Any]], path: Path) -> list[FieldError]:
    """Conditions of the common shape (metav1.Condition): one of each type, with status, reason and time."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        if condition.get("type", "") in seen:
            errors.append(duplicate(path.index(i).child("type"), condition.get("type", "")))
        seen.add(condition.get("type", ""))
        errors += validate_condition(condition, path.index(i))
    return errors


def validate_condition(condition: Mapping[str, Any], path: Path) -> list[FieldError]:
    errors = validate_label_name(condition.get("type", ""), path.child("type"))
    status, reason = condition.get("status", ""), condition.get("reason", "")
    if status not in ("False", "True", "Unknown"):
        errors.append(not_supported(path.child("status"), status, ["False", "True", "Unknown"]))
    if condition.get("observedGeneration", 0) < 0:
        at = path.child("observedGeneration")
        errors.append(invalid(at, condition["observedGeneration"], "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        errors.append(required(path.child("lastTransitionTime")))
    if not reason:
        errors.append(required(path.child("reason")))
    elif not _reason(reason):
        errors.append(invalid(path.child("reason"), reason, regex_error(
            "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
            " characters or '_,:', and must end with an alphanumeric character or '_'",
            _REASON_FMT, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB",
        )))  # fmt: skip
    if size(reason) > 1024:
        errors.append(too_long(path.child("reason"), 1024))
    if size(condition.get("message", "")) > 32 * 1024:
        errors.append(too_long(path.child("message"), 32 * 1024))
    return errors
