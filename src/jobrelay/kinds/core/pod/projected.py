"""Checks on projected and downward API volumes, which lay several sources out in one directory."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import Path, forbidden, invalid, required
from jobrelay.kinds.authentication.tokenrequests import MIN_TOKEN_SECONDS
from jobrelay.kinds.core.pod.common import Errors, Fields, file_mode, local_non_reserved_path
from jobrelay.kinds.core.pod.env import VOLUME_FIELDS, validate_field_ref, validate_resource_ref

CONFLICT: Final = "conflicting duplicate paths"


def validate_key_to_path(item: Fields, path: Path) -> Errors:
    errors = [required(path.child(name)) for name in ("key", "path") if not item.get(name)]
    errors += local_non_reserved_path(item.get("path", ""), path.child("path"))
    return errors + file_mode(item.get("mode"), path.child("mode"))


def _downward_api_file(file: Fields, path: Path) -> Errors:
    errors = [] if file.get("path") else [required(path.child("path"))]
    errors += local_non_reserved_path(file.get("path", ""), path.child("path"))
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        errors += validate_field_ref(field, VOLUME_FIELDS, path.child("fieldRef"))
        if resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", detail))
    elif resource is not None:
        errors += validate_resource_ref(resource, path.child("resourceFieldRef"), volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + file_mode(file.get("mode"), path.child("mode"))


def validate_downward_api(source: Fields, path: Path) -> Errors:
    errors = file_mode(source.get("defaultMode"), path.child("defaultMode"))
    for file in source.get("items") or ():
        errors += _downward_api_file(file, path)
    return errors


def validate_projected(source: Fields, path: Path) -> Errors:
    errors = file_mode(source.get("defaultMode"), path.child("defaultMode"))
    taken: set[str] = set()
    for i, projection in enumerate(source.get("sources") or ()):
        errors += _validate_projection(projection, taken, path.child("sources").index(i), path)
    return errors


def _claim(where: str, taken: set[str], value: str, path: Path) -> Errors:
    """Notes a path as used; `value` is what the error shows when it was used before."""
    if where in taken:
        return [invalid(path, value, CONFLICT)]
    taken.add(where)
    return []


def _validate_projection(projection: Fields, taken: set[str], at: Path, path: Path) -> Errors:
    errors: Errors = []
    count = 0
    for name in ("secret", "configMap"):
        source = projection.get(name)
        if source is not None:
            count += 1
            errors += _projected_keys(source, taken, at.child(name), path)
    if (source := projection.get("downwardAPI")) is not None:
        count += 1
        for file in source.get("items") or ():
            errors += _downward_api_file(file, at.child("downwardAPI"))
            if file.get("path"):
                errors += _claim(file["path"], taken, file["path"], path)
    if (source := projection.get("serviceAccountToken")) is not None:
        count += 1
        errors += _projected_token(source, at.child("serviceAccountToken"), path)
    if count > 1:
        errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


def _projected_keys(source: Fields, taken: set[str], at: Path, path: Path) -> Errors:
    name = source.get("name", "")
    errors = [] if name else [required(at.child("name"))]
    for i, item in enumerate(source.get("items") or ()):
        errors += validate_key_to_path(item, at.child("items").index(i))
        if item.get("path"):
            errors += _claim(item["path"], taken, name, path)
    return errors


def _projected_token(source: Fields, at: Path, path: Path) -> Errors:
    errors: Errors = []
    seconds = source.get("expirationSeconds", 0)
    if seconds < MIN_TOKEN_SECONDS:
        detail = "may not specify a duration less than 10 minutes"
        errors.append(invalid(at.child("expirationSeconds"), seconds, detail))
    if seconds > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(at.child("expirationSeconds"), seconds, detail))
    if not source.get("path"):
        errors.append(required(path.child("path")))
    else:
        errors += local_non_reserved_path(source["path"], path.child("path"))
    return errors
