"""Checks that many core kinds share.

The metadata checks here are those of the kinds that Kubernetes itself ships: beside what every object must satisfy, a
finalizer without a domain must be one of the three standard ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jobrelay.kinds import meta
from jobrelay.kinds.field import FieldError, Path, invalid
from jobrelay.kinds.names import (
    NameFn,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_qualified_name,
    is_valid_port_name,
    is_valid_port_num,
)

STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def unsupported_label(label: str, kind: str) -> str:
    """The text of the kinds that list their field labels themselves."""
    return f"field label not supported: {label}"


def validate_object_meta(metadata: Mapping[str, Any], *, namespaced: bool, name_fn: NameFn) -> list[FieldError]:
    errors = meta.validate_object_meta(metadata, namespaced=namespaced, name_fn=name_fn)
    return errors + _finalizers(metadata)


def validate_object_meta_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    return meta.validate_object_meta_update(new, old) + _finalizers(new)


def _finalizers(metadata: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, name in enumerate(metadata.get("finalizers") or ()):
        errors += standard_finalizer(name, meta.METADATA.child("finalizers").index(i))
    return errors


def standard_finalizer(name: str, path: Path) -> list[FieldError]:
    if "/" in name or name in STANDARD_FINALIZERS:
        return []
    return [invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]


def finalizer_name(name: str, path: Path) -> list[FieldError]:
    return qualified_name(name, path) + standard_finalizer(name, path)


def dns_label(value: str, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in is_dns1123_label(value)]


def dns_subdomain(value: str, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in is_dns1123_subdomain(value)]


def qualified_name(value: str, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in is_qualified_name(value)]


def port_number(value: int, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in is_valid_port_num(value)]


def port_number_or_name(value: int | str, path: Path) -> list[FieldError]:
    texts = is_valid_port_num(value) if isinstance(value, int) else is_valid_port_name(value)
    return [invalid(path, value, text) for text in texts]
