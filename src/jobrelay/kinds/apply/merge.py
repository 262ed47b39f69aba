"""How a configuration is laid over the live object: maps merge, keyed lists merge by element, the rest is replaced.

The order of a merged list is the configuration's for the elements that it names; live elements that it does not name stay
where they stood relative to their neighbours.
"""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.apply.schema import ListType, MapType, Node
from jobrelay.kinds.apply.typed import elements


def merge(live: Any, config: Any, node: Node) -> Any:
    """The live value with a configuration laid over it; what is null in the configuration replaces only leaves."""
    if node.map is not None and isinstance(live, dict) and (isinstance(config, dict) or config is None):
        if node.map.atomic or (not live and not config):
            return config
        return _merge_maps(live, config or {}, node.map)
    if (
        node.list is not None
        and isinstance(live, list)
        and (isinstance(config, list) or (config is None and not node.map))
    ):
        if node.list.atomic or (not live and not config):
            return config
        return _merge_lists(live, config or [], node.list)
    return config


def _merge_maps(live: dict[str, Any], config: dict[str, Any], type_: MapType) -> dict[str, Any]:
    out = dict(live)
    for key, value in config.items():
        child = type_.field(key)
        if child is not None:
            out[key] = merge(out[key], value, child) if key in out else value
    return out


def _merge_lists(live: list[Any], config: list[Any], type_: ListType) -> list[Any]:
    """Interleaves the two lists: shared elements keep the configuration's order."""
    mine, theirs = elements(type_, live), elements(type_, config)
    elem = type_.elem

    def merged(element: str) -> Any:
        here = mine.get(element, [])
        return merge(here[0], theirs[element][0], elem) if len(here) == 1 else theirs[element][0]

    left = _occurrences(type_, live)
    shared = [element for element in theirs if element in mine]
    right, out = list(theirs), []
    done: set[str] = set()
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            element = left[i][0]
            if element == right[j]:
                out.append(merged(element))
                done.add(element)
                shared = shared[1:]
                i, j = i + 1, j + 1
                continue
            if element in theirs and shared and shared[0] != element:
                i += 1
                continue
        if i < len(left):
            element, item = left[i]
            if element not in theirs:
                out.append(item)
                i += 1
                continue
            if element in done:
                i += 1
        if j < len(right):
            element = right[j]
            out.append(merged(element))
            done.add(element)
            if shared and shared[0] == element:
                shared = shared[1:]
            j += 1
    return out


def _occurrences(type_: ListType, items: list[Any]) -> list[tuple[str, Any]]:
    return [(next(iter(elements(type_, [item]))), item) for item in items]
