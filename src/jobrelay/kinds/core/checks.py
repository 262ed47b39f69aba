"""Small checks that many core kinds share, each a list of field errors."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery import names
from jobrelay.apimachinery.field import FieldError, Path, invalid

STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def unsupported_label(label: str, kind: str) -> str:
    """The text of the kinds that list their field labels themselves."""
    return f"field label not supported: {label}"


def standard_finalizer(name: str, path: Path) -> list[FieldError]:
    if "/" in name or name in STANDARD_FINALIZERS:
        return []
    return [invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]


def finalizer_name(name: str, path: Path) -> list[FieldError]:
    return qualified_name(name, path) + standard_finalizer(name, path)


def dns_label(value: str, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in names.is_dns1123_label(value)]


def dns_subdomain(value: str, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in names.is_dns1123_subdomain(value)]


def qualified_name(value: str, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in names.is_qualified_name(value)]


def port_number(value: int, path: Path) -> list[FieldError]:
    return [invalid(path, value, text) for text in names.is_valid_port_num(value)]


def port_number_or_name(value: int | str, path: Path) -> list[FieldError]:
    texts = names.is_valid_port_num(value) if isinstance(value, int) else names.is_valid_port_name(value)
    return [invalid(path, value, text) for text in texts]


def lone_wildcard(values: list[str], path: Path, words: str) -> list[FieldError]:
    alone = "*" not in values or len(values) == 1
    return [] if alone else [invalid(path, values, f"if '*' is present, must not specify other {words}")]
