"""The order of a merged list: that of the strategic merge patch first, then that of the live list.

Elements are identified by their merge key, or by their value when they are scalars. Those that the patch names come in
the patch's order; each of the others goes before the first of them that followed it in the live list.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from jobrelay.apimachinery.patch.errors import failure, go_format, go_type

Identity = tuple[type, Hashable]
_SCALARS: Final = frozenset({str, int, bool, type(None)})


def identity(value: Any) -> Identity:
    """What Go compares: values of different types are never equal."""
    kind = type(value)
    return kind, value if kind in _SCALARS or isinstance(value, float) else repr(value)


def key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise failure(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if key not in item:
        raise failure(f"map: {go_format(item)} does not contain declared merge key: {key}")
    return item[key]


def has_key(item: Any, key: str, value: Any) -> bool:
    return isinstance(item, dict) and key in item and identity(item[key]) == identity(value)


def unique(items: list[Any]) -> list[Any]:
    """The items without repetitions, each at its first position."""
    found: dict[Identity, Any] = {}
    for item in items:
        found.setdefault(identity(item), item)
    return list(found.values())


def _positions(items: list[Any], key: str) -> dict[Identity, int]:
    positions: dict[Identity, int] = {}
    for index, item in enumerate(items):
        positions.setdefault(identity(key_of(item, key) if key else item), index)
    return positions


def arrange(items: list[Any], wanted: list[Any], live: list[Any], key: str) -> list[Any]:
    """The items in the order wanted, with those that `wanted` does not name at their places in the live order."""
    first, then = _positions(wanted, key), _positions(live, key)
    names = [(identity(key_of(item, key) if key else item), item) for item in items]
    named = sorted((pair for pair in names if pair[0] in first), key=lambda pair: first[pair[0]])
    others = sorted((pair for pair in names if pair[0] not in first), key=lambda pair: then.get(pair[0], -1))
    arranged: list[Any] = []
    left = 0
    for name, item in named:
        place = then.get(name)
        while place is not None and left < len(others) and then.get(others[left][0], place) < place:
            arranged.append(others[left][1])
            left += 1
        arranged.append(item)
    return arranged + [item for _, item in others[left:]]


def check_wanted(changes: list[Any], wanted: list[Any], key: str, marker: str) -> None:
    """Checks that the elements of the patch are in the order that the patch itself specifies."""
    if not changes or not wanted:
        return
    kept = [item for item in changes if not (key and isinstance(item, dict) and item.get(marker) == "delete")]
    position = 0
    for target in wanted:
        while position < len(kept) and isinstance(kept[position], dict) and marker in kept[position]:
            position += 1
        if position == len(kept):
            return
        left = key_of(kept[position], key) if key else kept[position]
        right = key_of(target, key) if key else target
        if identity(left) == identity(right):
            position += 1
    if position < len(kept):
        lists = f"{go_format(changes)}\n doesn't match $setElementOrder list:\n{go_format(wanted)}"
        raise failure(f"The order in patch list:\n{lists}\n")
