"""What differs between two versions of an object: the fields added, modified and removed.

Parts that are equal are skipped at once, so that an ordinary update costs no more than comparing two dicts. A value that is
there on one side only counts with everything in it. Empty lists and maps, and atomic ones, are single fields.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.apply.fieldset import LEAF, SELF, Fields, recursive_difference, union
from jobrelay.apimachinery.apply.schema import ListType, MapType, Node, atomic
from jobrelay.apimachinery.apply.typed import element_of, elements

ABSENT: Final = object()


class Comparison(NamedTuple):
    """The three sets of fields."""

    added: Fields
    modified: Fields
    removed: Fields

    def without(self, excluded: Fields) -> Comparison:
        if not excluded:
            return self
        return Comparison(*[recursive_difference(fields, excluded) if fields else fields for fields in self])


NOTHING: Final = Comparison(LEAF, LEAF, LEAF)


def compare(old: Any, new: Any, node: Node) -> Comparison:
    """The fields by which two objects of one type differ."""
    result = _Result()
    _compare_maps(old, new, node.map or _ANY, result)
    return result.comparison()


class _Result:
    """The children found to differ so far at one place."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: Fields = {}
        self.modified: Fields = {}
        self.removed: Fields = {}

    def comparison(self) -> Comparison:
        return Comparison(self.added, self.modified, self.removed)

    def take(self, element: str, below: _Result) -> None:
        pairs = (self.added, below.added), (self.modified, below.modified), (self.removed, below.removed)
        for mine, fields in pairs:
            if fields:
                mine[element] = union(mine[element], fields) if element in mine else fields


_ANY: Final = MapType({}, atomic)
_CONTAINERS: Final = frozenset({dict, list})


def everything(value: Any, node: Node) -> Fields:
    """All fields of a value that is there on one side only, its own path included."""
    kind = type(value)
    if kind is dict:
        type_ = node.map
        if not value or type_ is None or type_.atomic:
            return LEAF
        known = type_.known
        out: Fields = {SELF: LEAF}
        for key, item in value.items():
            child = None
            if type(item) in _CONTAINERS:
                child = known.get(key) or type_.field(key)
            out["f:" + key] = LEAF if child is None else everything(item, child)
        return out
    if kind is list:
        return _every_element(value, node.list)
    return LEAF


def _every_element(value: list[Any], type_: ListType | None) -> Fields:
    if not value or type_ is None or type_.atomic:
        return LEAF
    out: Fields = {SELF: LEAF}
    elem = type_.elem
    if not type_.keys:
        for item in value:
            out[element_of(type_, item)] = LEAF
        return out
    for element, items in elements(type_, value).items():
        out[element] = everything(items[0], elem) if len(items) == 1 else LEAF
    return out


def _compare_item(element: str, old: Any, new: Any, node: Node, result: _Result) -> None:
    if old is ABSENT:
        result.added[element] = everything(new, node)
    elif new is ABSENT:
        result.removed[element] = everything(old, node)
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        kind = type(new)
        if kind is not type(old):
            _compare_unequal(element, old, new, node, result)
        elif kind is dict and node.map is not None:
            _descend_map(element, old, new, node, result)
        elif kind is str and node.scalar:
            result.modified[element] = LEAF
        else:
            _compare_unequal(element, old, new, node, result)


def _compare_unequal(element: str, old: Any, new: Any, node: Node, result: _Result) -> None:
    left, right = _shape(old, node), _shape(new, node)
    if left == right == "map":
        _descend_map(element, old, new, node, result)
    elif left == right == "list":
        _descend_list(element, old, new, node, result)
    elif left == right:
        result.modified[element] = LEAF
    else:
        for shape in (left, right):
            if shape == "map":
                _descend_map(element, old, new, node, result)
            elif shape == "list":
                _descend_list(element, old, new, node, result)
            else:
                result.modified[element] = LEAF


def _shape(value: Any, node: Node) -> str:
    """Which part of a type a value uses; null uses the first that there is."""
    if isinstance(value, dict) and node.map is not None:
        return "map"
    if isinstance(value, list) and node.list is not None:
        return "list"
    if value is not None and not isinstance(value, (dict, list)) and node.scalar:
        return "scalar"
    return "map" if node.map is not None else "scalar" if node.scalar else "list"


def _descend_map(element: str, old: Any, new: Any, node: Node, result: _Result) -> None:
    assert node.map is not None
    left = old if isinstance(old, dict) else {}
    right = new if isinstance(new, dict) else {}
    if node.map.atomic or (not left and not right):
        if old != new:
            result.modified[element] = LEAF
        return
    below = _Result()
    _compare_maps(left, right, node.map, below)
    result.take(element, below)


def _compare_maps(old: dict[str, Any], new: dict[str, Any], type_: MapType, result: _Result) -> None:
    for key, value in new.items():
        before = old.get(key, ABSENT)
        if before is value:
            continue
        child = type_.known.get(key) or type_.field(key)
        if child is None:
            continue
        if before is ABSENT and type(value) not in _CONTAINERS:
            result.added["f:" + key] = LEAF
        else:
            _compare_item("f:" + key, before, value, child, result)
    for key, value in old.items():
        if key not in new:
            child = type_.field(key)
            if child is not None:
                result.removed["f:" + key] = everything(value, child)


def _descend_list(element: str, old: Any, new: Any, node: Node, result: _Result) -> None:
    assert node.list is not None
    left = old if isinstance(old, list) else []
    right = new if isinstance(new, list) else []
    if node.list.atomic or (not left and not right):
        if old != new:
            result.modified[element] = LEAF
        return
    below = _Result()
    _compare_lists(left, right, node.list, below)
    result.take(element, below)


def _compare_lists(old: list[Any], new: list[Any], type_: ListType, result: _Result) -> None:
    before, after = elements(type_, old), elements(type_, new)
    elem = type_.elem
    for element in before | after:
        left, right = before.get(element, []), after.get(element, [])
        if len(left) <= 1 and len(right) <= 1:
            _compare_item(element, left[0] if left else ABSENT, right[0] if right else ABSENT, elem, result)
        elif len(left) > 1 and len(right) > 1:
            if left != right:
                result.modified[element] = LEAF
        elif len(left) > 1:
            if right:
                result.added[element] = everything(right[0], elem)
            result.removed[element] = LEAF
        else:
            if left:
                result.removed[element] = everything(left[0], elem)
            result.added[element] = LEAF
