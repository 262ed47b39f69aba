"""Whole objects inside custom resources (`x-kubernetes-embedded-resource`): their apiVersion, kind and metadata.

The metadata of an embedded object is decoded by Go's rules, as that of the resource itself, and what it may contain is
checked without knowing the object's kind.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.decode import DecodeError, Notes, decode
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.meta import validate_object_meta
from jobrelay.apimachinery.names import is_dns1035_label, name_is_path_segment
from jobrelay.apimachinery.types import type_of
from jobrelay.kinds.apiextensions.structural import StructuralSchema

KEYWORD: Final = "x-kubernetes-embedded-resource"
OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def decode_metadata(metadata: Any, prefix: str, unknown: list[str]) -> dict[str, Any]:
    """The canonical metadata, and the paths of unknown fields. Raises DecodeError."""
    if metadata is None:
        return {}
    notes = Notes()
    made: dict[str, Any] = decode(metadata, type_of(OBJECT_META), notes)
    marker = 'unknown field "'
    unknown.extend(f"{prefix}.{text.removeprefix(marker)[:-1]}" for text in notes.texts if text.startswith(marker))
    return made


def coerce(
    value: Any, node: StructuralSchema | None, path: Path, unknown: list[str], *, is_resource: bool = False
) -> FieldError | None:
    """Decodes the metadata of every embedded object in place; returns the first thing that is not possible."""
    if node is None:
        return None
    if isinstance(value, dict):
        if (is_resource or node.embedded) and (error := _coerce_meta(value, path, unknown)):
            return error
        for key, item in value.items():
            child = node.named(key)
            if child is not None:
                error = coerce(item, child, path.child(key), unknown)
            else:
                error = coerce(item, node.values, path.key(key), unknown) if node.has_additional else None
            if error:
                return error
    elif isinstance(value, list):
        items = node.items
        for index, item in enumerate(value):
            if error := coerce(item, items, path.index(index), unknown):
                return error
    return None


def _coerce_meta(value: dict[str, Any], path: Path, unknown: list[str]) -> FieldError | None:
    for key in ("apiVersion", "kind"):
        if key in value and not isinstance(value[key], str):
            return field.invalid(path.child(key), value[key], "must be a string")
    if "metadata" not in value:
        return None
    where = path.child("metadata")
    try:
        made = decode_metadata(value["metadata"], str(where), unknown)
    except DecodeError as error:
        return field.invalid(where, value["metadata"], str(error))
    if made.get("creationTimestamp") is None:
        made.pop("creationTimestamp", None)
    value["metadata"] = made
    return None


def validate_embedded(
    value: Any, node: StructuralSchema | None, path: Path, *, is_resource: bool = False
) -> list[FieldError]:
    """What is wrong with the apiVersion, kind and metadata of embedded objects."""
    errors: list[FieldError] = []
    if node is None:
        return errors
    if isinstance(value, dict):
        if is_resource or node.embedded:
            errors += _resource_errors(value, path)
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                child = node.named(key)
                if child is not None:
                    errors += validate_embedded(item, child, path.child(key))
                elif node.has_additional:
                    errors += validate_embedded(item, node.values, path.key(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            errors += validate_embedded(item, node.items, path.index(index))
    return errors


def _resource_errors(value: dict[str, Any], path: Path) -> list[FieldError]:
    errors = [field.required(path.child(key)) for key in ("apiVersion", "kind") if key not in value]
    if "apiVersion" in value:
        errors += _api_version_errors(value["apiVersion"], path.child("apiVersion"))
    if "kind" in value:
        errors += _kind_errors(value["kind"], path.child("kind"))
    if "metadata" in value:
        where = path.child("metadata")
        try:
            metadata = decode_metadata(value["metadata"], "", [])
        except DecodeError as error:
            return [*errors, field.invalid(where, value["metadata"], str(error))]
        named = metadata if metadata.get("name") else {**metadata, "name": "fakename"}
        namespaced = bool(metadata.get("namespace"))
        errors += validate_object_meta(
            named, namespaced=namespaced, name_fn=name_is_path_segment, path=where, known_finalizers=False
        )
    return errors


def _api_version_errors(value: Any, path: Path) -> list[FieldError]:
    if not isinstance(value, str):
        return [field.invalid(path, value, "must be a string")]
    if not value:
        return [field.invalid(path, value, "must not be empty")]
    if value.count("/") > 1:
        return [field.invalid(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind_errors(value: Any, path: Path) -> list[FieldError]:
    if not isinstance(value, str):
        return [field.invalid(path, value, "must be a string")]
    if not value:
        return [field.invalid(path, value, "must not be empty")]
    if wrong := is_dns1035_label(value.lower()):
        return [field.invalid(path, value, "may have mixed case, but should otherwise match: " + ",".join(wrong))]
    return []
