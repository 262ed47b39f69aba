"""Walks over a value along its schema: check it, list its fields, remove some of them.

What a list element is called follows from the schema: by its key fields when the list is keyed, by its value when it is a
set. A value of a type that the schema does not foresee is one leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from jobrelay.apimachinery.apply.fieldset import (
    LEAF,
    SELF,
    Fields,
    element_text,
    is_member,
    key_element,
    name_element,
    value_element,
)
from jobrelay.apimachinery.apply.schema import ListType, MapType, Node
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.patch.errors import go_float, go_format

_GO_TYPES: Final = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool"}


class TypedError(ValueError):
    """Values that do not fit their schema; the text is that of the real server."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        texts = [f"{path}: {text}" if path else text for path, text in errors]
        super().__init__(texts[0] if len(texts) == 1 else "\n  ".join(["errors:", *texts]))


class ElementError(ValueError):
    """An element of a list that its schema cannot name."""


def element_of(type_: ListType, item: Any) -> str:
    """The path element of an element of a list that is not atomic; raises ElementError with the server's words."""
    if not type_.keys:
        if isinstance(item, dict):
            raise ElementError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise ElementError("not supported: associative list with lists as elements")
        if item is None:
            raise ElementError("associative list without keys has an element that's an explicit null")
        return value_element(item)
    if item is None:
        raise ElementError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ElementError("associative list with keys may not have non-map elements")
    if len(type_.keys) == 1 and type(item.get(type_.keys[0])) is str:
        return name_element(type_.keys[0], item[type_.keys[0]])
    return key_element(_keys(type_, item))


def _keys(type_: ListType, item: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name in type_.keys:
        if name in item:
            found[name] = item[name]
            continue
        members = type_.elem.map
        node = members.field(name) if members is not None else None
        if node is not None and node.default is not None:
            found[name] = node.default
    if not found:
        names = "[" + " ".join(go_quote(name) for name in type_.keys) + "]"
        raise ElementError(
            f"associative list with keys has an element that omits all key fields {names}"
            " (and doesn't have default values for any key fields)"
        )
    return found


def elements(type_: ListType, items: list[Any]) -> dict[str, list[Any]]:
    """The elements of a list by their path elements, in order; more than one where the list has duplicates."""
    found: dict[str, list[Any]] = {}
    for index, item in enumerate(items):
        try:
            found.setdefault(element_of(type_, item), []).append(item)
        except ElementError as error:
            raise TypedError([("", f"element {index}: {error}")]) from None
    return found


def validate(value: Any, node: Node) -> None:
    """Raises TypedError when a configuration does not fit its schema."""
    errors = list(_check(value, node, ""))
    if errors:
        raise TypedError(errors)


def _check(value: Any, node: Node, path: str) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if isinstance(value, dict) and node.map is not None:
        yield from _check_map(value, node.map, path)
    elif isinstance(value, list) and node.list is not None:
        yield from _check_list(value, node.list, path)
    elif node.map is not None and (isinstance(value, (dict, list)) or not node.scalar):
        yield path, f"expected map, got &{{{go_format(value)}}}"
    elif node.scalar:
        wrong = _check_scalar(value, node.scalar)
        if wrong:
            yield path, wrong
    else:
        yield path, f"expected list, got &{{{go_format(value)}}}"


def _check_map(value: dict[str, Any], type_: MapType, path: str) -> Iterator[tuple[str, str]]:
    for key in sorted(value):
        child = type_.field(key)
        if child is None:
            yield f"{path}.{key}", "field not declared in schema"
            return
        yield from _check(value[key], child, f"{path}.{key}")


def _check_list(value: list[Any], type_: ListType, path: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if not type_.atomic:
            try:
                element = element_of(type_, item)
            except ElementError as error:
                yield path, f"element {index}: {error}"
                return
            place = element_text(element)
            if element in seen:
                yield path, f"duplicate entries for key {place}"
            seen.add(element)
        yield from _check(item, type_.elem, path + place)


def _check_scalar(value: Any, scalar: str) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if scalar == "numeric" and not number:
        return f"expected numeric (int or float), got {_GO_TYPES[type(value)]}"
    if scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    if scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{go_format(value)}}}"
    if scalar == "untyped" and isinstance(value, (dict, list)):
        return f"expected any scalar, got &{{{go_format(value)}}}"
    return ""


def go_syntax(value: Any) -> str:
    """A value as Go's %#v prints it."""
    if isinstance(value, dict):
        members = ", ".join(f"{go_quote(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{members}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)


def field_set(value: Any, node: Node) -> Fields:
    """The fields that a configuration names: leaves, elements of lists, keys of maps, but not the structs above them."""
    return _set(value, node)[1]


def _set(value: Any, node: Node) -> tuple[bool, Fields]:
    """Whether the value's own path belongs to the set, and the set below it."""
    if isinstance(value, dict) and node.map is not None:
        return (True, LEAF) if node.map.atomic else (False, _set_map(value, node.map))
    if isinstance(value, list) and node.list is not None:
        return (True, LEAF) if node.list.atomic else (False, _set_list(value, node.list))
    if value is None and not node.scalar:
        kind = node.map or node.list
        return kind is not None and kind.atomic, LEAF
    return True, LEAF


def _set_map(value: dict[str, Any], type_: MapType) -> Fields:
    out: Fields = {}
    for key, item in value.items():
        child = type_.field(key)
        if child is None:
            continue
        own, below = _set(item, child)
        if own or item is None or item == {} or not type_.declares(key):
            out["f:" + key] = {SELF: LEAF, **below} if below else LEAF
        elif below:
            out["f:" + key] = below
    return out


def _set_list(value: list[Any], type_: ListType) -> Fields:
    out: Fields = {}
    for element, items in elements(type_, value).items():
        below = LEAF if len(items) > 1 else _set(items[0], type_.elem)[1]
        out[element] = {SELF: LEAF, **below} if below else LEAF
    return out


def with_named_fields(fields: Fields, node: Node | None) -> Fields:
    """The set with the structs above its fields added: those that the schema declares by name."""
    out: Fields = {}
    for element, below in fields.items():
        if element == SELF:
            continue
        child: Node | None = None
        named = False
        if node is not None and element[0] == "f" and node.map is not None:
            named = node.map.declares(element[2:])
            child = node.map.field(element[2:])
        elif node is not None and element[0] == "k" and node.list is not None:
            child = node.list.elem
        inner = with_named_fields(below, child) if below else LEAF
        out[element] = {SELF: LEAF, **inner} if inner and (named or is_member(below)) else inner
    return out


def remove(value: Any, fields: Fields, node: Node) -> Any:
    """The value without the fields of a set; None when nothing of it is left."""
    if isinstance(value, dict) and node.map is not None:
        return None if node.map.atomic or not value else _remove_from_map(value, fields, node.map)
    if isinstance(value, list) and node.list is not None:
        return None if node.list.atomic or not value else _remove_from_list(value, fields, node.list)
    return value if node.scalar else None


def _remove_from_map(value: dict[str, Any], fields: Fields, type_: MapType) -> Any:
    out = {}
    for key, item in value.items():
        below = fields.get("f:" + key)
        if below is None:
            out[key] = item
        elif not is_member(below):
            child = type_.field(key)
            out[key] = remove(item, below, child) if child is not None else item
    return out or None


def _remove_from_list(value: list[Any], fields: Fields, type_: ListType) -> Any:
    out = []
    for item in value:
        below = fields.get(element_of(type_, item))
        if below is None:
            out.append(item)
        elif not is_member(below):
            out.append(remove(item, below, type_.elem))
    return out or None
