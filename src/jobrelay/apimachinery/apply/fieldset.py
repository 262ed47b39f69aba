"""Sets of fields in the form that managedFields has on the wire, and their algebra.

A set is the plain dict of `fieldsV1`: keys are path elements (`f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`), values the
sets below. A path belongs to the set when its dict is empty or holds the key `.`; otherwise only paths below it do.
Working on this form directly makes most requests cheap, for nothing has to be decoded or encoded. Sets are never
changed in place and share parts freely.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.patch.errors import go_float

Fields = dict[str, Any]
LEAF: Final[Fields] = {}
SELF: Final = "."


class FieldsError(ValueError):
    """A fieldsV1 that cannot be read."""


def is_member(node: Fields) -> bool:
    return not node or SELF in node


def _node(*, member: bool, children: Fields) -> Fields | None:
    if not children:
        return LEAF if member else None
    return {SELF: LEAF, **children} if member else children


def union(left: Fields, right: Fields) -> Fields:
    if not left or not right:
        return left or right
    out = dict(left)
    for key, node in right.items():
        mine = out.get(key)
        out[key] = node if mine is None else _union(mine, node)
    return out


def _union(left: Fields, right: Fields) -> Fields:
    if left == right:
        return left
    if not left or not right:
        more = left or right
        return more if SELF in more else {SELF: LEAF, **more}
    return union(left, right)


def intersection(left: Fields, right: Fields) -> Fields:
    out: Fields = {}
    for key, node in left.items():
        if key == SELF or key not in right:
            continue
        other = right[key]
        both = _node(member=is_member(node) and is_member(other), children=intersection(node, other))
        if both is not None:
            out[key] = both
    return out


def difference(left: Fields, right: Fields) -> Fields:
    """The paths of the left set that are not in the right one, each path for itself."""
    if not right:
        return left
    out: Fields = {}
    for key, node in left.items():
        if key == SELF:
            continue
        other = right.get(key)
        if other is None:
            out[key] = node
            continue
        rest = _node(member=is_member(node) and not is_member(other), children=_children(difference(node, other)))
        if rest is not None:
            out[key] = rest
    return out


def recursive_difference(left: Fields, right: Fields) -> Fields:
    """The left set without the paths of the right one and everything below them."""
    if not right:
        return left
    out: Fields = {}
    for key, node in left.items():
        other = right.get(key)
        if key == SELF or (other is not None and is_member(other)):
            continue
        if other is None:
            out[key] = node
            continue
        rest = _node(member=is_member(node), children=_children(recursive_difference(node, other)))
        if rest is not None:
            out[key] = rest
    return out


def _children(node: Fields) -> Fields:
    return {key: item for key, item in node.items() if key != SELF} if SELF in node else node


def has(fields: Fields, path: tuple[str, ...]) -> bool:
    for key in path:
        found = fields.get(key)
        if found is None:
            return False
        fields = found
    return bool(path) and is_member(fields)


def from_paths(paths: tuple[tuple[str, ...], ...]) -> Fields:
    """The set of some paths of plain field names."""
    out: Fields = {}
    for path in paths:
        node: Fields = LEAF
        for name in reversed(path):
            node = {f"f:{name}": node}
        out = union(out, node)
    return out


def paths(fields: Fields, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All paths of a set in the order that Kubernetes lists them: a level's own before those below."""
    keys = sorted((key for key in fields if key != SELF), key=sort_key)
    for key in keys:
        if is_member(fields[key]):
            yield (*prefix, key)
    for key in keys:
        yield from paths(fields[key], (*prefix, key))


def ordered(fields: Fields) -> Fields:
    """The set with its elements in the order in which the server writes them."""
    keys = sorted(fields)
    if len(keys) > 1 and keys[-1][0] > "f":
        keys.sort(key=lambda key: (-1,) if key == SELF else sort_key(key))
    out: Fields = {}
    for key in keys:
        below = fields[key]
        out[key] = ordered(below) if below else LEAF
    return out


def key_element(values: dict[str, Any]) -> str:
    return "k:" + _json({name: _number(value) for name, value in values.items()})


@functools.lru_cache(4096)
def name_element(name: str, value: str) -> str:
    """The element of a list that is keyed by one text, by far the most frequent one."""
    return "k:" + _json({name: value})


def value_element(value: Any) -> str:
    return "v:" + _json(_number(value))


def _number(value: Any) -> Any:
    """A whole number has one spelling, however the client wrote it."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e21 else float(value)
    return value


def _json(value: Any) -> str:
    text = msgspec.json.encode(value, order="sorted").decode()
    if "&" in text or "<" in text or ">" in text:
        text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return text


@functools.lru_cache(4096)
def parse_element(element: str) -> tuple[str, Any]:
    """The kind of an element (f, k, v, i) and what it holds."""
    if element[1:2] != ":":
        raise FieldsError(f"missing colon: {element}" if len(element) > 1 else "key must be 2 characters long:")
    kind, text = element[0], element[2:]
    try:
        if kind == "f":
            return kind, text
        if kind in "vk":
            value = msgspec.json.decode(text)
            if kind == "k" and not isinstance(value, dict):
                raise FieldsError(f"not an object: {element}")
            return kind, value
        if kind == "i":
            return kind, int(text)
    except (*UNREADABLE, ValueError) as error:
        raise FieldsError(str(error)) from None
    raise FieldsError("unknown path element type")


def canonical(fields: Any) -> Fields:
    """A set as a client sent it, with its elements written as the server writes them."""
    if not isinstance(fields, dict):
        raise FieldsError("fieldsV1 must be an object")
    out: Fields = {}
    for element, node in fields.items():
        if element == SELF:
            out[SELF] = LEAF
            continue
        if element[1:2] == ":" and element[0] not in "fkvi":
            continue
        kind, value = parse_element(element)
        key = key_element(value) if kind == "k" else value_element(value) if kind == "v" else element
        made = canonical(node)
        out[key] = _union(out[key], made) if key in out else made
    return out if len(out) > 1 or SELF not in out else LEAF


@functools.lru_cache(4096)
def sort_key(element: str) -> tuple[Any, ...]:
    kind, value = parse_element(element)
    if kind == "k":
        return ("fkvi".index(kind), [(name, _rank(item)) for name, item in sorted(value.items())])
    return ("fkvi".index(kind), _rank(value) if kind == "v" else value)


def _rank(value: Any) -> tuple[int, Any]:
    """Values of different types in one order: numbers, texts, booleans, the rest."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, _json(value))


def path_text(path: tuple[str, ...]) -> str:
    """A path as error messages show it: `.spec.containers[name="c"].image`."""
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    kind, value = parse_element(element)
    if kind == "f":
        return f".{value}"
    if kind == "k":
        return "[" + ",".join(f"{name}={value_text(value[name])}" for name in sorted(value)) + "]"
    return f"[={value_text(value)}]" if kind == "v" else f"[{value}]"


def value_text(value: Any) -> str:
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, list):
        return "[" + ",".join(map(value_text, value)) + "]"
    return str(value) if isinstance(value, int) else "".join(f"{k}={value_text(v)}" for k, v in value.items())
