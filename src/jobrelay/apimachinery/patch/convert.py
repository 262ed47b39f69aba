"""Converts the result of a strategic merge patch or an apply to the input of `decode`.

The real server does not go through JSON text after such a merge: it converts values directly. So integers that are too
large wrap around, 2.0 is a valid integer, and errors name types instead of fields. The first error in the order of the
Go fields is the one that is told.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.decode import DecodeError, decode
from jobrelay.apimachinery.types import Type

_KINDS: Final = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64"}
_GO: Final = {"s": "string", "b": "bool", "i32": "int32", "i64": "int64", "f64": "float64"}


class UnstructuredConversionError(ValueError):
    """A value of the wrong type in a patched object; the message is Go's."""


def convert(value: Any, type_: Type) -> Any:
    """The value with numbers brought into their types; raises ConversionError."""
    if value is None:
        return None
    match type_.kind:
        case "struct":
            return _struct(value, type_)
        case "list":
            return _list(value, type_)
        case "map":
            return _map(value, type_)
        case "s" | "b" | "f64":
            return _scalar(value, type_)
        case "bytes":
            if not isinstance(value, (str, list)):
                raise UnstructuredConversionError(f"cannot restore slice from {_kind(value)}")
            return _checked(value, type_, "error decoding from json: ")
        case _ if type_.kind[1:].isdigit():
            return _integer(value, type_)
    return _checked(value, type_)


def _checked(value: Any, type_: Type, prefix: str = "") -> Any:
    """The value itself, if its type's own decoder takes it."""
    try:
        decode(value, type_)
    except DecodeError as error:
        raise UnstructuredConversionError(f"{prefix}{error}") from None
    return value


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "float64")


def _struct(value: Any, type_: Type) -> Any:
    if not isinstance(value, dict):
        raise UnstructuredConversionError(f"cannot restore struct from: {_kind(value)}")
    made = dict(value)
    for name, field in type_.fields.items():
        item = value.get(name)
        if item is not None:
            made[name] = convert(item, field.type)
    return made


def _list(value: Any, type_: Type) -> Any:
    assert type_.elem is not None
    if not isinstance(value, list):
        raise UnstructuredConversionError(f"cannot restore slice from {_kind(value)}")
    elem = type_.elem
    return [convert(item, elem) for item in value]


def _map(value: Any, type_: Type) -> Any:
    assert type_.elem is not None
    if not isinstance(value, dict):
        raise UnstructuredConversionError(f"cannot restore map from {_kind(value)}")
    elem = type_.elem
    return {key: convert(item, elem) for key, item in value.items()}


def _scalar(value: Any, type_: Type) -> Any:
    wanted = {"s": str, "b": bool, "f64": float}[type_.kind]
    if isinstance(value, wanted):
        return value
    if wanted is float and type(value) is int:
        return float(value)
    raise _unconvertible(value, type_)


def _integer(value: Any, type_: Type) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int:
        raise _unconvertible(value, type_)
    bits = int(type_.kind[1:])
    wrapped: int = value & (2**bits - 1)
    return wrapped - 2**bits if type_.kind[0] == "i" and wrapped >= 2 ** (bits - 1) else wrapped


def _unconvertible(value: Any, type_: Type) -> UnstructuredConversionError:
    """Go distinguishes conversions that exist for constants (number to string, number to number) from others."""
    kind, source = type_.kind, _kind(value)
    numeric = kind not in ("s", "b")
    if (kind == "s" and source == "int64") or (numeric and source in ("int64", "float64")):
        return UnstructuredConversionError(f"cannot convert {source} to {type_.go}")
    if kind == "s" and source == "slice":
        return UnstructuredConversionError("unrecognized type: string")
    return UnstructuredConversionError(f"unrecognized type: {_GO.get(kind, 'uint' + kind[1:])}")
