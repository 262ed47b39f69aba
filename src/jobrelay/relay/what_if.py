"""What would become of a workload if a worker had more room: `worker=w4:cpu=64,memory=256Gi`.

The same placement decides once more, with one more worker, or one more node of a worker that there is. Nothing is
changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.quantity import QuantityError, number
from jobrelay.relay.model import Capacity, NodeFacts, WorkerFacts
from jobrelay.relay.snapshot import WorkloadSnapshot

WORKER: Final = "worker="
"""What a change of a worker begins with."""
_CHANGE: Final = re.compile(r"worker=(?P<name>[a-z0-9]([a-z0-9.-]*[a-z0-9])?):(?P<resources>.+)")
_PODS: Final = Fraction(110)
"""How many pods a node takes unless something else is said."""
_NODE: Final = "supposed"


def place_with_changes(snapshot: WorkloadSnapshot, changes: Sequence[str]) -> dict[str, Any]:
    """Where a workload would be placed with these changes, as JSON values; raises ValueError for one that cannot be
    read."""
    workers = dict(snapshot.workers)
    for text in changes:
        name, node = _parse(text)
        workers[name] = _with_node(workers.get(name, WorkerFacts(name, connected=True)), node)
    placement = msgspec.structs.replace(snapshot, workers=workers).place()
    return {"changes": list(changes), "placed": placement.chosen or "", "sentence": placement.sentence}


def _parse(text: str) -> tuple[str, NodeFacts]:
    match = _CHANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a change of a worker: write worker=NAME:cpu=64,memory=256Gi")
    amounts = dict(_amount(text, each) for each in match["resources"].split(","))
    return match["name"], NodeFacts(_NODE, {}, (), {"pods": _PODS, **amounts}, {})


def _amount(text: str, part: str) -> tuple[str, Fraction]:
    resource, _, amount = part.partition("=")
    try:
        return resource.strip(), number(amount.strip())
    except QuantityError:
        raise ValueError(f"{text!r}: {part!r} is not an amount: write RESOURCE=AMOUNT, such as cpu=64") from None


def _with_node(worker: WorkerFacts, node: NodeFacts) -> WorkerFacts:
    capacity = worker.capacity
    more = Capacity(capacity.version + 1, (*capacity.nodes, node))
    return msgspec.structs.replace(worker, capacity=more)
