"""The nodes of a worker, added up for one kind of pods, node by node.

Adding up is the costly part of placement, and most of the time one node of many has changed since the last time. Each node's
share is a row of numbers; a tally keeps the sum of the rows, and for a node that changed it takes the old row off and
adds the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from jobrelay.kinds.core import nodematch
from jobrelay.relay.model import NodeFacts

from .amounts import down
from .needs import Need, Needs

__all__ = ["Room", "Tally"]

_TEMPORARY: Final = "node.kubernetes.io/"
_HEAD: Final = 4


class Room:
    """A node in whole thousandths."""

    __slots__ = ("free", "has", "node")

    def __init__(self, node: NodeFacts) -> None:
        self.node = node
        self.has = {name: down(amount) for name, amount in node.allocatable.items()}
        used = {name: down(amount) for name, amount in node.used.items()}
        self.free = {name: max(amount - used.get(name, 0), 0) for name, amount in self.has.items()}


class Tally:
    """The sums for one kind of pods over the rooms of one worker."""

    __slots__ = ("_needs", "_total", "resources", "rooms")

    def __init__(self, needs: Needs) -> None:
        self._needs = needs
        self.resources = _resources(needs)
        """Name, what a pod asks for on average, what all pods ask for."""
        self.rooms: Sequence[Room] = ()
        self._total = [0] * (_HEAD + 4 * len(self.resources))

    def update(self, rooms: Sequence[Room]) -> None:
        """Bring the sums up to date with these rooms."""
        if len(rooms) != len(self.rooms):
            self.rooms, self._total = (), [0] * len(self._total)
        for old, new in zip_longest(self.rooms, rooms):
            if old is new:
                continue
            before = self._row(old) if old is not None else [0] * len(self._total)
            rows = zip(self._total, before, self._row(new), strict=True)
            self._total = [total - less + more for total, less, more in rows]
        self.rooms = rooms

    @property
    def head(self) -> tuple[int, int, int, int]:
        """Nodes that take the pods, those of them in service, and places for pods now and if nothing else ran there."""
        eligible, serving, now, ever = self._total[:_HEAD]
        sets, rooms = self._needs.sets, self.rooms
        if len(sets) == 1:
            return eligible, serving, now, ever
        if not all(any(_takes(need, room.node, ever=True) for room in rooms) for need in sets if need.count):
            return 0, 0, 0, 0
        return eligible, serving, _packed(sets, rooms, ever=False), _packed(sets, rooms, ever=True)

    def sums(self, index: int) -> tuple[int, int, int, int]:
        """Of one resource: what nodes in service have, what is free, for how many pods, and what is free on other nodes."""
        has, free, places, elsewhere = self._total[_HEAD + 4 * index : _HEAD + 4 * index + 4]
        return has, free, places, elsewhere

    def preference(self) -> float:
        """How well the best node in service meets the preferred node affinity: 0 to 1."""
        return max((_preference(need, self.rooms) for need in self._needs.sets), default=0.0)

    def _row(self, room: Room) -> list[int]:
        """A node's share in the sums."""
        node = room.node
        takers = [need for need in self._needs.sets if _takes(need, node, ever=True)]
        plain = node.schedulable and not node.taints
        serving = takers if plain else [need for need in takers if _takes(need, node, ever=False)]
        sums: list[int] = []
        now, ever = [], []
        for name, each, _ in self.resources:
            has, free = room.has.get(name, 0), room.free.get(name, 0)
            ever.append(has // each)
            now.append(free // each)
            sums += (has, free, free // each, 0) if serving else (0, 0, 0, free if node.schedulable else 0)
        return [bool(takers), bool(serving), min(now) if serving else 0, min(ever) if takers else 0, *sums]


def _resources(needs: Needs) -> list[tuple[str, int, int]]:
    wanted: dict[str, int] = {}
    for need in needs.sets:
        for name, amount in need.requests:
            wanted[name] = wanted.get(name, 0) + amount * need.count
    single = dict(needs.sets[0].requests) if len(needs.sets) == 1 else {}
    return [
        (name, single.get(name) or max(-(-total // max(needs.pods, 1)), 1), total) for name, total in wanted.items()
    ]


def _takes(need: Need, node: NodeFacts, *, ever: bool) -> bool:
    """Whether a node takes pods of this need by labels and taints; `ever` overlooks what will pass."""
    if not ever and not node.schedulable and not nodematch.tolerated(nodematch.UNSCHEDULABLE, need.tolerations):
        return False
    if node.taints:
        taints: Iterable[Mapping[str, Any]] = node.taints
        if ever:
            taints = [taint for taint in taints if not str(taint.get("key", "")).startswith(_TEMPORARY)]
        if nodematch.untolerated(taints, need.tolerations):
            return False
    return not need.choosy or nodematch.matches(need.selector, need.affinity, node.name, node.labels)


def _places(requests: Iterable[tuple[str, int]], free: Mapping[str, int]) -> int:
    return min([free.get(name, 0) // amount for name, amount in requests])


def _packed(sets: Sequence[Need], rooms: Sequence[Room], *, ever: bool) -> int:
    """How many of the pods of several sets find a place, set by set and node by node; 0 if one set finds none."""
    left = [dict(room.has if ever else room.free) for room in rooms]
    placed = 0
    for need in sets:
        missing = need.count
        for room, free in zip(rooms, left, strict=True):
            if not missing:
                break
            if not _takes(need, room.node, ever=ever):
                continue
            count = min(_places(need.requests, free), missing)
            for name, amount in need.requests if count else ():
                free[name] -= count * amount
            missing -= count
        if need.count and missing == need.count:
            return 0
        placed += need.count - missing
    return placed


def _preference(need: Need, rooms: Sequence[Room]) -> float:
    preferred = (need.affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution")
    if not preferred:
        return 0.0
    most = sum(term.get("weight", 0) for term in preferred)
    nodes = [room.node for room in rooms if _takes(need, room.node, ever=False)]
    best = max((nodematch.preference(need.affinity, node.name, node.labels) for node in nodes), default=0)
    return best / most if most else 0.0
