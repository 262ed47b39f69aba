"""How a configuration is laid over the live object: maps merge, keyed lists merge by element, the rest is replaced.

The order of a merged list is the configuration's for the elements that it names; live elements that it does not name
stay where they stood relative to their neighbours.
"""

from __future__ import annotations

from typing import Any

from jobrelay.apimachinery.apply.schema import ListType, MapType, SchemaNode
from jobrelay.apimachinery.apply.typed import element_of, elements


def merge(live: Any, config: Any, node: SchemaNode) -> Any:
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
    """The configuration's elements in its order, each after the live-only ones that precede it in the live list."""
    mine, theirs = elements(type_, live), elements(type_, config)
    passing = _Passing([(element_of(type_, item), item) for item in live], theirs)
    out: list[Any] = []
    for element, items in theirs.items():
        out += passing.up_to(element)
        here = mine.get(element, [])
        out.append(merge(here[0], items[0], type_.elem) if len(here) == 1 else items[0])
    return out + passing.rest()


class _Passing:
    """Walks along the live list, guided by the configuration's elements in turn.

    Elements that only the live list has come out where the walk passes them. It stops before the shared element whose
    turn is next in the configuration, and goes by those that had their turn already or get it later. Once all had
    theirs, what is left of them are repetitions in the live list, and each of these ends a step.
    """

    def __init__(self, live: list[tuple[str, Any]], config: dict[str, list[Any]]) -> None:
        self._live, self._config, self._at = live, config, 0
        present = {element for element, _ in live}
        self._turns = [element for element in config if element in present]

    def up_to(self, wanted: str) -> list[Any]:
        stop = self._turns[0] if self._turns else None
        found = []
        while self._at < len(self._live) and self._live[self._at][0] != stop:
            element, item = self._live[self._at]
            self._at += 1
            if element not in self._config:
                found.append(item)
            elif stop is None:
                break
        if wanted == stop:
            self._turns.pop(0)
            self._at += 1 if self._at < len(self._live) else 0
        return found

    def rest(self) -> list[Any]:
        return [item for element, item in self._live[self._at :] if element not in self._config]
