"""Dotted paths into custom resources: the scale subresource's fields, selectable fields, with Go's error texts."""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.apiextensions.checks import go_number


class PathError(ValueError):
    """A value of the wrong type on the way or at the end of a path; the message is the server's."""


def split(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def nested(obj: Any, path: str) -> Any:
    """The value at a path, or None when it is not there; raises PathError where something else than an object is."""
    names, value = split(path), obj
    for count, name in enumerate(names):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _wrong(names[: count + 1], value, "map[string]interface{}")
        value = value.get(name)
    return value


def nested_int(obj: Any, path: str) -> int | None:
    value = nested(obj, path)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise _wrong(split(path), value, "int64")


def nested_text(obj: Any, path: str) -> str | None:
    value = nested(obj, path)
    if value is None or isinstance(value, str):
        return value
    raise _wrong(split(path), value, "string")


def set_nested(obj: dict[str, Any], path: str, value: Any) -> None:
    """Sets a value, making objects on the way; raises PathError where something else is."""
    names = split(path)
    for count, name in enumerate(names[:-1]):
        inner = obj.setdefault(name, {})
        if not isinstance(inner, dict):
            raise PathError(
                f"value cannot be set because .{'.'.join(names[: count + 1])} is not a map[string]interface{{}}"
            )
        obj = inner
    obj[names[-1]] = value


def _wrong(names: list[str], value: Any, wanted: str) -> PathError:
    shown, what = go_print(value)
    return PathError(f".{'.'.join(names)} accessor error: {shown} is of the type {what}, expected {wanted}")


def go_print(value: Any) -> tuple[str, str]:
    """A JSON value as Go's %v prints it, and its Go type."""
    if value is None:
        return "<nil>", "<nil>"
    if isinstance(value, str):
        return value, "string"
    if isinstance(value, bool):
        return str(value).lower(), "bool"
    if isinstance(value, int):
        return str(value), "int64"
    if isinstance(value, float):
        return go_number(value), "float64"
    if isinstance(value, list):
        return f"[{' '.join(go_print(item)[0] for item in value)}]", "[]interface {}"
    pairs = (f"{key}:{go_print(value[key])[0]}" for key in sorted(value))
    return f"map[{' '.join(pairs)}]", "map[string]interface {}"
