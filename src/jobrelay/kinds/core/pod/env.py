"""Checks on environment variables and on references to fields and resources (the downward API)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import Path, invalid, not_supported, required
from jobrelay.apimachinery.names import is_config_map_key, is_relaxed_env_var_name, name_is_dns_subdomain
from jobrelay.kinds.core.checks import dns_label, qualified_name
from jobrelay.kinds.core.pod.common import Errors, Fields, invalid_each
from jobrelay.kinds.core.volumesources import no_backsteps

_ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS: Final = frozenset({
    *_ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase",
})  # fmt: skip
_RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory",
)  # fmt: skip
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_SIZE_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def validate_env(variables: Iterable[Fields], path: Path) -> Errors:
    errors: Errors = []
    for i, variable in enumerate(variables):
        at = path.index(i)
        name = variable.get("name", "")
        if not name:
            errors.append(required(at.child("name")))
        else:
            errors += invalid_each(at.child("name"), name, is_relaxed_env_var_name(name))
        if variable.get("valueFrom") is not None:
            errors += _validate_value_from(variable, at.child("valueFrom"))
    return errors


def _validate_value_from(variable: Fields, path: Path) -> Errors:
    source = variable["valueFrom"]
    errors: Errors = []
    count = 0
    for name, check in (
        ("fieldRef", _env_field), ("resourceFieldRef", _env_resource), ("configMapKeyRef", _key_selector),
        ("secretKeyRef", _key_selector), ("fileKeyRef", _file_key_selector),
    ):  # fmt: skip
        if source.get(name) is not None:
            count += 1
            errors += check(source[name], path.child(name))
    if count == 0:
        errors.append(invalid(
            path, "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ))  # fmt: skip
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _env_field(selector: Fields, path: Path) -> Errors:
    return validate_field_ref(selector, _ENV_FIELDS, path)


def _env_resource(selector: Fields, path: Path) -> Errors:
    return validate_resource_ref(selector, path, volume=False)


def _split_subscript(field_path: str) -> tuple[str, str] | None:
    """`metadata.labels['x']` as its two parts."""
    if not field_path.endswith("']"):
        return None
    base, found, key = field_path[:-2].partition("['")
    return (base, key) if found and base else None


def validate_field_ref(selector: Fields, supported: tuple[str, ...], path: Path) -> Errors:
    version, field_path = selector.get("apiVersion", ""), selector.get("fieldPath", "")
    if not version:
        return [required(path.child("apiVersion"))]
    if not field_path:
        return [required(path.child("fieldPath"))]
    split = _split_subscript(field_path)
    wrong = ""
    if version != "v1":
        wrong = f"unsupported pod version: {version}"
    elif split is not None and split[0] not in ("metadata.annotations", "metadata.labels"):
        wrong = f"field label does not support subscript: {field_path}"
    elif split is None and field_path not in _KNOWN_FIELDS and field_path != "spec.host":
        wrong = f"field label not supported: {field_path}"
    if wrong:
        return [invalid(path.child("fieldPath"), field_path, f"error converting fieldPath: {wrong}")]
    if split is not None:
        return qualified_name(split[1].lower() if split[0] == "metadata.annotations" else split[1], path)
    field_path = "spec.nodeName" if field_path == "spec.host" else field_path
    return [] if field_path in supported else [not_supported(path.child("fieldPath"), field_path, supported)]


def validate_resource_ref(selector: Fields, path: Path, *, volume: bool) -> Errors:
    errors: Errors = []
    resource = selector.get("resource", "")
    if volume and not selector.get("containerName"):
        errors.append(required(path.child("containerName")))
    elif not resource:
        errors.append(required(path.child("resource")))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(path.child("resource"), resource, _RESOURCES))
    return errors + _validate_divisor(resource, selector.get("divisor", "0"), path.child("divisor"))


def _validate_divisor(resource: str, divisor: str, path: Path) -> Errors:
    if quantity.number(divisor) == 0:
        return []
    if resource in ("limits.cpu", "requests.cpu"):
        if divisor in ("1m", "1"):
            return []
        return [invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")]
    kind = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(resource.partition(".")[2], "")
    if resource.startswith(_HUGE_PAGES):
        kind = "hugepages"
    if not kind or divisor in _SIZE_DIVISORS:
        return []
    values = ", ".join(_SIZE_DIVISORS)
    return [invalid(path, resource, f"only divisor's values {values} are supported with the {kind} resource")]


def _key_selector(selector: Fields, path: Path) -> Errors:
    name, key = selector.get("name", ""), selector.get("key", "")
    errors = invalid_each(path.child("name"), name, name_is_dns_subdomain(name, False))
    if not key:
        errors.append(required(path.child("key")))
    else:
        errors += invalid_each(path.child("key"), key, is_config_map_key(key))
    return errors


def _file_key_selector(selector: Fields, path: Path) -> Errors:
    errors: Errors = []
    key, volume, file = selector.get("key", ""), selector.get("volumeName", ""), selector.get("path", "")
    if not key:
        errors.append(required(path.child("key")))
    else:
        errors += invalid_each(path.child("key"), key, is_relaxed_env_var_name(key))
    errors += dns_label(volume, path.child("volumeName")) if volume else [required(path.child("volumeName"))]
    errors += no_backsteps(file, path.child("path")) if file else [required(path.child("path"))]
    return errors


def validate_env_from(sources: Iterable[Fields], path: Path) -> Errors:
    errors: Errors = []
    for i, source in enumerate(sources):
        at = path.index(i)
        if prefix := source.get("prefix", ""):
            errors += invalid_each(at.child("prefix"), prefix, is_relaxed_env_var_name(prefix))
        count = 0
        for name in ("configMapRef", "secretRef"):
            if source.get(name) is None:
                continue
            count += 1
            referred = source[name].get("name", "")
            where = at.child(name, "name")
            errors += (
                invalid_each(where, referred, name_is_dns_subdomain(referred, True)) if referred else [required(where)]
            )
        if count == 0:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif count > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors
