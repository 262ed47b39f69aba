"""Where the elements of a merged list go: a strategic merge patch leads, the live list fills in.

Elements are told apart by their merge key, or by their value when they are scalars. Those that the patch names come in the
patch's order; each of the others goes before the first of them that followed it in the live list.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from jobrelay.kinds.patch.errors import failure, go_format, go_type

Identity = tuple[type, Hashable]


def identity(value: Any) -> Identity:
    """What Go compares: values of different types are never equal."""
    return type(value), value if isinstance(value, (str, int, float, bool)) or value is None else repr(value)


def key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise failure(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if key not in item:
        raise failure(f"map: {go_format(item)} does not contain declared merge key: {key}")
    return item[key]


def has_key(item: Any, key: str, value: Any) -> bool:
    return isinstance(item, dict) and key in item and identity(item[key]) == identity(value)


def unique(items: list[Any]) -> list[Any]:
    """The items without repetitions, each where it stands first."""
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

    def name(item: Any) -> Identity:
        return identity(key_of(item, key) if key else item)

    named = sorted((item for item in items if name(item) in first), key=lambda item: first[name(item)])
    others = sorted((item for item in items if name(item) not in first), key=lambda item: then.get(name(item), -1))
    arranged: list[Any] = []
    left = 0
    for item in named:
        place = then.get(name(item))
        while place is not None and left < len(others) and then.get(name(others[left]), place) < place:
            arranged.append(others[left])
            left += 1
        arranged.append(item)
    return arranged + others[left:]


def check_wanted(changes: list[Any], wanted: list[Any], key: str, marker: str) -> None:
    """The elements of the patch have to stand in the order that the patch itself asks for."""
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
