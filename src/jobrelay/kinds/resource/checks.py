"""Checks that claims, classes and slices share: bounded lists, sets, names of drivers and pools, configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.cel.checker import CompileError, compile_expression
from jobrelay.apimachinery.cel.types import DYN, STRING, map_of, read_type
from jobrelay.apimachinery.field import FieldError, Path, duplicate, invalid, required, too_long, too_many
from jobrelay.apimachinery.names import is_c_identifier, size
from jobrelay.kinds.admissionregistration.expressions import object_type, type_text
from jobrelay.kinds.core.checks import dns_subdomain
from jobrelay.kinds.storage.csi import driver_name

MAX_SELECTORS: Final = 32
MAX_CONFIGS: Final = 32
MAX_EXPRESSION: Final = 10 * 1024
MAX_PARAMETERS: Final = 10 * 1024
MAX_ID: Final = 32
MAX_POOL_NAME: Final = 253
_BIND: Final = "cel.bind("  # a macro of this API alone, which the checker does not know
_DEVICE: Final = object_type(
    "kubernetes.DRADevice",
    {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, DYN)),
        "capacity": map_of(STRING, map_of(STRING, read_type("kubernetes.Quantity"))),
    },
)

Check = Callable[[Any, Path], list[FieldError]]


def each(items: Sequence[Any], limit: int, check: Check, path: Path) -> list[FieldError]:
    """The errors of all items, or only that there are too many."""
    if 0 <= limit < len(items):
        return [too_many(path, len(items), limit)]
    return [error for i, item in enumerate(items) for error in check(item, path.index(i))]


def each_once(
    items: Sequence[Any], limit: int, check: Check, path: Path, key: Callable[[Any], Any] = lambda item: item
) -> list[FieldError]:
    """As `each`, and no two items may have the same key."""
    errors = each(items, limit, check, path)
    if 0 <= limit < len(items):
        return errors
    keys = [key(item) for item in items]
    return errors + [duplicate(path.index(i), found) for i, found in enumerate(keys) if found in keys[:i]]


def pool_name(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, MAX_POOL_NAME)] if size(name) > MAX_POOL_NAME else []
    return errors + [error for part in name.split("/") for error in dns_subdomain(part, path)]


def qualified_name(name: str, path: Path) -> list[FieldError]:
    """The name of an attribute or capacity: an identifier, perhaps behind a domain and a slash."""
    parts = name.split("/")
    if len(parts) == 1:
        return c_identifier(name, path)
    if len(parts) > 2:
        return []
    domain, rest = parts
    errors = driver_name(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return errors + (c_identifier(rest, path) if rest else [invalid(path, "", "the name must not be empty")])


def fully_qualified_name(name: str, path: Path) -> list[FieldError]:
    errors = qualified_name(name, path)
    if "/" not in name:
        errors.append(invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash"))
    return errors


def c_identifier(name: str, path: Path) -> list[FieldError]:
    errors = [too_long(path, MAX_ID)] if size(name) > MAX_ID else []
    return errors + [invalid(path, name, text) for text in is_c_identifier(name)]


def selectors(items: Sequence[dict[str, Any]], path: Path) -> list[FieldError]:
    return each(items, MAX_SELECTORS, _selector, path)


def _selector(selector: dict[str, Any], path: Path) -> list[FieldError]:
    cel = selector.get("cel")
    if cel is None:
        return [required(path.child("cel"))]
    expression, place = cel["expression"], path.child("cel", "expression")
    if size(expression) > MAX_EXPRESSION:
        return [too_long(place, MAX_EXPRESSION)]
    return [] if _BIND in expression else _expression(expression, place)


def _expression(source: str, path: Path) -> list[FieldError]:
    try:
        found = compile_expression(source, {"device": _DEVICE}).result
    except CompileError as error:
        return [invalid(path, source, f"compilation failed: {error}")]
    if found.kind in ("bool", "dyn"):
        return []
    return [invalid(path, source, f"must evaluate to bool or the unknown type, not {type_text(found)}")]


def device_configuration(config: dict[str, Any], path: Path) -> list[FieldError]:
    opaque = config.get("opaque")
    if opaque is None:
        return [required(path.child("opaque"))]
    errors = driver_name(opaque["driver"], path.child("opaque", "driver"))
    return errors + raw_object(opaque.get("parameters"), path.child("opaque", "parameters"), MAX_PARAMETERS)


def raw_object(value: Any, path: Path, limit: int) -> list[FieldError]:
    """A free-form value, which must be a JSON object of bounded size."""
    if value is None:
        return [required(path)]
    if len(msgspec.json.encode(value)) > limit:
        return [too_long(path, limit)]
    return [] if isinstance(value, dict) else [invalid(path, "<value omitted>", "must be a valid JSON object")]
