"""Where a workload would be placed if there were another worker, or a larger one: the same placement, other workers.

`worker=w4:cpu=64,memory=256Gi` supposes a worker with one empty node of that size. If there is a worker of that name,
that node takes the place of its nodes, and all else about it stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import quantity
from jobrelay.relay.model import Capacity, NodeFacts, WorkerFacts
from jobrelay.relay.snapshot import WorkloadSnapshot

PREFIX: Final = "worker="
_PODS: Final = Fraction(110)
"""How many pods a node takes unless that is said too, as a kubelet has it."""


def suppose_workers(snapshot: WorkloadSnapshot, changes: Iterable[str]) -> dict[str, Any]:
    """Where it would be placed with these workers; raises ValueError for one that cannot be read."""
    supposed = tuple(changes)
    workers: dict[str, WorkerFacts] = dict(snapshot.workers)
    for text in supposed:
        name, capacity = _read(text)
        known = workers.get(name) or WorkerFacts(name, connected=True)
        workers[name] = msgspec.structs.replace(known, capacity=capacity)
    placement = msgspec.structs.replace(snapshot, workers=workers).place()
    return {"changes": supposed, "worker": placement.chosen or "", "sentence": placement.sentence}


def _read(text: str) -> tuple[str, Capacity]:
    name, _, size = text.removeprefix(PREFIX).partition(":")
    amounts = dict(_amount(text, part) for part in size.split(",")) if name and size else {}
    if not amounts:
        raise _unreadable(text)
    node = NodeFacts("supposed", {}, (), {"pods": _PODS, **amounts}, {})
    return name, Capacity(0, (node,))


def _amount(text: str, part: str) -> tuple[str, Fraction]:
    resource, _, amount = part.partition("=")
    try:
        return resource, quantity.number(amount)
    except ValueError as error:
        raise _unreadable(text) from error


def _unreadable(text: str) -> ValueError:
    return ValueError(
        f"{text!r} is not a worker: write worker=NAME:RESOURCE=AMOUNT, such as worker=w4:cpu=64,memory=256Gi"
    )


def split(changes: Iterable[str]) -> Mapping[bool, list[str]]:
    """The changes that are about workers (True), and the others."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for each in changes:
        found[each.startswith(PREFIX)].append(each)
    return found
