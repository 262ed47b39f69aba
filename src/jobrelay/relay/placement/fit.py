"""How many pods of a kind a worker's nodes can hold: now, and if nothing else ran there.

Each node is asked for itself, since eight free CPUs on eight nodes hold no pod that needs two. A node that is cordoned or has
a taint of Kubernetes' own (not ready, under pressure) is out of service for now but counts for what could ever fit.

What workloads on their way will take is known only as a sum. It is taken off twice, from the free amounts and from the places
for pods of this size, and the stricter counts; nodes that are of no use to these pods carry their share of it.

A worker's nodes are looked at again only when its capacity has changed: what was counted belongs to one capacity object, and
only the last one of each worker is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

from jobrelay.kinds import nodematch
from jobrelay.relay.model import Capacity, NodeFacts

from .amounts import down
from .needs import Need, Needs

__all__ = ["Fit", "Sum", "fit"]

_REMEMBERED: Final = 512
_workers: dict[str, _Known] = {}
_TEMPORARY: Final = "node.kubernetes.io/"


class Sum(NamedTuple):
    """One resource over all nodes that take the pods, in thousandths."""

    name: str
    each: int
    """What a pod asks for, on average if they differ."""
    need: int
    """What all pods ask for."""
    has: int
    free: int
    places: int
    """For how many pods there is enough of this resource, node by node."""
    elsewhere: int
    """What is free on nodes that do not take these pods."""

    def taken(self, reserved: Mapping[str, Fraction]) -> int:
        """How much of what is free here the workloads on their way will take."""
        amount = reserved.get(self.name)
        if amount is None:
            return 0
        taken = down(amount)
        if taken and self.elsewhere:
            taken = taken * self.free // (self.free + self.elsewhere)
        return min(self.free, taken)


@dataclass(frozen=True, slots=True)
class Fit:
    """What a worker's nodes can do for a workload."""

    pods: int
    """How many pods it wants at the same time."""
    nodes: int
    eligible: int
    """Nodes that take its pods by labels and taints, in service or not."""
    serving: int
    """Those of them that are in service."""
    now: int
    """How many pods fit beside what runs there; more than `pods` if there is room for more."""
    ever: int
    """How many would fit if nothing else ran there."""
    load: float
    """The share of the scarcest resource that is taken with this workload there: 0 to 1."""
    sums: tuple[Sum, ...]
    preference: float
    """How well the best node meets the preferred node affinity: 0 to 1."""

    def after(self, reserved: Mapping[str, Fraction]) -> tuple[int, float]:
        """How many pods fit, and the load, once what is on its way has come."""
        if not reserved:
            return self.now, self.load
        room, load = self.now, self.load
        for one in self.sums:
            if taken := one.taken(reserved):
                room = min(room, one.places - taken // one.each, (one.free - taken) // one.each)
                load = max(load, (one.has - one.free + taken + one.need) / one.has)
        return max(room, 0), min(load, 1.0)


class _Room:
    """A node in whole thousandths."""

    __slots__ = ("free", "has", "node")

    def __init__(self, node: NodeFacts) -> None:
        self.node = node
        self.has = {name: down(amount) for name, amount in node.allocatable.items()}
        used = {name: down(amount) for name, amount in node.used.items()}
        self.free = {name: max(amount - used.get(name, 0), 0) for name, amount in self.has.items()}


class _Known:
    """What was counted for one capacity of one worker."""

    __slots__ = ("capacity", "fits", "rooms")

    def __init__(self, capacity: Capacity, before: _Known | None) -> None:
        self.capacity = capacity
        self.fits: dict[bytes, Fit] = {}
        old = {room.node.name: room for room in before.rooms} if before is not None else {}
        self.rooms: list[_Room] = []
        for node in capacity.nodes:
            room = old.get(node.name)
            self.rooms.append(room if room is not None and room.node is node else _Room(node))


def fit(needs: Needs, worker: str, capacity: Capacity) -> Fit | None:
    """What a worker's nodes can do; None if they are not known."""
    if capacity.unknown or not capacity.nodes:
        return None
    known = _workers.get(worker)
    if known is None or known.capacity is not capacity:
        known = _workers[worker] = _Known(capacity, known)
    found = known.fits.get(needs.key)
    if found is None:
        if len(known.fits) >= _REMEMBERED:
            known.fits.clear()
        found = known.fits[needs.key] = _fit(needs, known.rooms)
    return found


def _fit(needs: Needs, rooms: Sequence[_Room]) -> Fit:
    takers = [[room for room in rooms if _takes(need, room.node, ever=True)] for need in needs.sets]
    serving = [
        [room for room in found if _takes(need, room.node)] for need, found in zip(needs.sets, takers, strict=True)
    ]
    if len(needs.sets) == 1:
        requests = needs.sets[0].requests
        now = sum(_places(requests, room.free) for room in serving[0])
        ever = sum(_places(requests, room.has) for room in takers[0])
    else:
        now = _packed(needs.sets, serving, {room.node.name: dict(room.free) for room in rooms})
        ever = _packed(needs.sets, takers, {room.node.name: dict(room.has) for room in rooms})
    useful = _distinct(serving)
    sums = _sums(needs, useful, rooms)
    loads = [(one.has - one.free + one.need) / one.has if one.has else 1.0 for one in sums]
    return Fit(
        pods=needs.pods,
        nodes=len(rooms),
        eligible=len(_distinct(takers)),
        serving=len(useful),
        now=now,
        ever=ever,
        load=min(max(loads, default=1.0), 1.0),
        sums=sums,
        preference=max(
            (_preference(need, found) for need, found in zip(needs.sets, serving, strict=True)), default=0.0
        ),
    )


def _takes(need: Need, node: NodeFacts, *, ever: bool = False) -> bool:
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


def _packed(sets: Sequence[Need], found: Sequence[Sequence[_Room]], left: dict[str, dict[str, int]]) -> int:
    """How many of the pods of several sets find a place, node by node."""
    placed = 0
    for need, rooms in zip(sets, found, strict=True):
        missing = need.count
        for room in rooms:
            free = left[room.node.name]
            count = min(_places(need.requests, free), missing)
            for name, amount in need.requests if count else ():
                free[name] -= count * amount
            missing -= count
            placed += count
    return placed


def _distinct(found: Sequence[Sequence[_Room]]) -> list[_Room]:
    return list({room.node.name: room for rooms in found for room in rooms}.values())


def _sums(needs: Needs, useful: Sequence[_Room], rooms: Sequence[_Room]) -> tuple[Sum, ...]:
    wanted: dict[str, int] = {}
    for need in needs.sets:
        for name, amount in need.requests:
            wanted[name] = wanted.get(name, 0) + amount * need.count
    single = dict(needs.sets[0].requests) if len(needs.sets) == 1 else {}
    mine = {room.node.name for room in useful}
    others = [room for room in rooms if room.node.schedulable and room.node.name not in mine]
    sums = []
    for name, need_sum in wanted.items():
        each = single.get(name) or max(-(-need_sum // max(needs.pods, 1)), 1)
        free = [room.free.get(name, 0) for room in useful]
        sums.append(
            Sum(
                name,
                each,
                need_sum,
                has=sum([room.has.get(name, 0) for room in useful]),
                free=sum(free),
                places=sum([amount // each for amount in free]),
                elsewhere=sum(room.free.get(name, 0) for room in others),
            )
        )
    return tuple(sums)


def _preference(need: Need, rooms: Sequence[_Room]) -> float:
    preferred = (need.affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution")
    if not preferred:
        return 0.0
    most = sum(term.get("weight", 0) for term in preferred)
    best = max((nodematch.preference(need.affinity, room.node.name, room.node.labels) for room in rooms), default=0)
    return best / most if most else 0.0
