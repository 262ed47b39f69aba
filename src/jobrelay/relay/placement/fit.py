"""How many pods of a kind a worker's nodes can hold: now, and if nothing else ran there.

Each node is asked for itself, since eight free CPUs on eight nodes hold no pod that needs two. A node that is cordoned or has
a taint of Kubernetes' own (not ready, under pressure) is out of service for now but counts for what could ever fit.

What workloads on their way will take is known only as a sum. It is taken off twice, from the free amounts and from the places
for pods of this size, and the stricter counts; nodes that are of no use to these pods carry their share of it.

What was added up for a worker belongs to one capacity object; only the nodes that differ in the next one are looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from jobrelay.relay.model import Capacity

from .amounts import down
from .needs import Needs
from .tally import Room, Tally

__all__ = ["Fit", "Sum", "fit"]

_REMEMBERED: Final = 512
_workers: dict[str, _Known] = {}


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


class Fit(NamedTuple):
    """What a worker's nodes can do for a workload."""

    pods: int
    """How many pods it wants at the same time."""
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


class _Known:
    """What was added up for one worker, as of its last capacity."""

    __slots__ = ("capacity", "fits", "rooms")

    def __init__(self) -> None:
        self.capacity: Capacity | None = None
        self.rooms: list[Room] = []
        self.fits: dict[bytes, tuple[Tally, Fit]] = {}

    def update(self, capacity: Capacity) -> None:
        nodes = capacity.nodes
        if len(nodes) == len(self.rooms):
            pairs = zip(self.rooms, nodes, strict=True)
            self.rooms = [room if room.node is node else Room(node) for room, node in pairs]
        else:
            by_name = {room.node.name: room for room in self.rooms}
            found = [(by_name.get(node.name), node) for node in nodes]
            self.rooms = [room if room is not None and room.node is node else Room(node) for room, node in found]
        self.capacity = capacity


def fit(needs: Needs, worker: str, capacity: Capacity) -> Fit | None:
    """What a worker's nodes can do; None if they are not known."""
    if capacity.unknown or not capacity.nodes:
        return None
    known = _workers.get(worker)
    if known is None:
        known = _workers[worker] = _Known()
    if known.capacity is not capacity:
        known.update(capacity)
    found = known.fits.get(needs.key)
    if found is not None and found[0].rooms is known.rooms:
        return found[1]
    if found is None and len(known.fits) >= _REMEMBERED:
        known.fits.clear()
    tally = found[0] if found is not None else Tally(needs)
    tally.update(known.rooms)
    fresh = _fit(needs, tally)
    known.fits[needs.key] = (tally, fresh)
    return fresh


def _fit(needs: Needs, tally: Tally) -> Fit:
    eligible, serving, now, ever = tally.head
    sums = tuple(Sum(*resource, *tally.sums(index)) for index, resource in enumerate(tally.resources))
    loads = [(one.has - one.free + one.need) / one.has if one.has else 1.0 for one in sums]
    load = min(max(loads, default=1.0), 1.0)
    return Fit(needs.pods, eligible, serving, now, ever, load, sums, tally.preference())
