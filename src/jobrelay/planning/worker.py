"""One worker of a plan: nodes with what is free on them, bound pods, and pods that wait for a node.

A pod goes to the node with the largest share of CPU and memory left, as the embedded scheduler chooses
(`jobrelay.cluster.node.nodechoice`). Amounts are integers in thousandths, as in placement.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final

from jobrelay.planning.fleet import WorkerDescription
from jobrelay.planning.shapes import JobShape
from jobrelay.relay.model import Capacity, Claimant, NodeFacts, State, WorkerFacts
from jobrelay.relay.placement.amounts import floor_milli

Requests = tuple[tuple[str, int], ...]
Bound = tuple[tuple[int, int], ...]
"""On which nodes how many pods of one kind were bound."""
_NO_LABELS: Final[dict[str, str]] = {}
_SPREAD: Final = 1e-6
"""What each pod counts for between nodes that are free to the same share."""


class _Node:
    __slots__ = ("allocatable", "facts", "free", "pods", "total")

    def __init__(self, name: str, allocatable: dict[str, Fraction]) -> None:
        self.allocatable = allocatable
        self.total = {resource: floor_milli(amount) for resource, amount in allocatable.items()}
        self.free = dict(self.total)
        self.pods = 0
        self.facts: NodeFacts | None = NodeFacts(name, _NO_LABELS, (), allocatable, {})

    def score(self, requests: Requests, scored: Sequence[tuple[str, int]]) -> float | None:
        """How good it is for a pod; None if the pod does not fit."""
        free, total = self.free, self.total
        for name, amount in requests:
            if free.get(name, 0) < amount:
                return None
        share = -self.pods * _SPREAD
        for name, amount in scored:
            if name in total:
                share += (free[name] - amount) / total[name]
        return share

    def take(self, requests: Requests, pods: int) -> None:
        """Bind pods, or unbind them if the number is negative."""
        for name, amount in requests:
            self.free[name] -= amount * pods
        self.pods += pods
        self.facts = None


class PlannedWorker:
    """The state of one worker; `position` is its place in the fleet."""

    def __init__(self, position: int, plan: WorkerDescription) -> None:
        self.position, self.plan, self.name = position, plan, plan.name
        self._nodes = [_Node(f"node-{number}", dict(each)) for number, each in enumerate(plan.nodes, 1)]
        self._capacity = Capacity(0, self._node_facts())
        self._changed = False
        self.state = State.OPEN
        self.lost_since: datetime | None = None
        self.stopped = False
        """Whether an outage has stopped its pods."""
        self.pending = 0
        """How many pods wait for a node."""

    @property
    def connected(self) -> bool:
        return self.lost_since is None

    def bind(self, shape: JobShape, count: int) -> Bound:
        """Bind as many pods of a shape as fit, one after the other."""
        found: dict[int, int] = {}
        requests, scored = shape.requests, _scored(shape)
        for _ in range(count):
            index = self._choose(requests, scored)
            if index is None:
                break
            self._nodes[index].take(requests, 1)
            found[index] = found.get(index, 0) + 1
        self._changed = self._changed or bool(found)
        return tuple(found.items())

    def unbind(self, shape: JobShape, bound: Bound) -> None:
        for index, pods in bound:
            self._nodes[index].take(shape.requests, -pods)
        self._changed = True

    def _choose(self, requests: Requests, scored: Sequence[tuple[str, int]]) -> int | None:
        best, chosen = 0.0, None
        for index, node in enumerate(self._nodes):
            score = node.score(requests, scored)
            if score is not None and (chosen is None or score > best):
                best, chosen = score, index
        return chosen

    def facts(self, live: int, kept_for: Claimant | None = None) -> WorkerFacts:
        """The worker as placement sees it; `live` is the number of unfinished Jobs that are assigned to it."""
        if self._changed:
            self._capacity = Capacity(self._capacity.version + 1, self._node_facts())
            self._changed = False
        plan = self.plan
        return WorkerFacts(
            name=self.name,
            connected=self.connected,
            lost_since=self.lost_since,
            reason="an outage of the plan" if self.lost_since else "",
            state=self.state,
            labels=plan.labels,
            cost=plan.cost,
            weight=plan.weight,
            capacity=self._capacity,
            live=live,
            pending=self.pending,
            namespaces=plan.namespaces,
            kept_for=kept_for,
        )

    def _node_facts(self) -> tuple[NodeFacts, ...]:
        return tuple(self._read_nodes())

    def _read_nodes(self) -> Iterator[NodeFacts]:
        """Nodes that did not change stay the same objects, by which placement recognises them."""
        for number, node in enumerate(self._nodes, 1):
            if node.facts is None:
                used = {name: _fraction(total - node.free[name]) for name, total in node.total.items()}
                node.facts = NodeFacts(f"node-{number}", _NO_LABELS, (), node.allocatable, used)
            yield node.facts


@functools.lru_cache(4096)
def _scored(shape: JobShape) -> tuple[tuple[str, int], ...]:
    wanted = dict(shape.requests)
    return tuple((name, wanted.get(name, 0)) for name in ("cpu", "memory"))


@functools.lru_cache(65_536)
def _fraction(milli: int) -> Fraction:
    return Fraction(milli, 1000)
