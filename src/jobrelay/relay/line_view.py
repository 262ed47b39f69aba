"""The places of waiting workloads in line, and when they will start, for programs and commands."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from fractions import Fraction
from itertools import islice
from typing import Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.relay.estimate import Amounts, LineWork, estimate_starts
from jobrelay.relay.model import State, WorkerFacts
from jobrelay.relay.pending import PendingWorkloads
from jobrelay.relay.state import RelayState
from jobrelay.relay.worker_load import total
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import demand_of

_MOST_ESTIMATED: Final = 500
"""How many in line get an estimate: the further back, the less it would mean."""


class LinePlace(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A place in line: 1 is the first, `of` is the length of the line. Times are empty if durations are not known."""

    place: int
    of: int
    earliest: str = ""
    """When it may start at the earliest, by the durations of earlier runs."""
    latest: str = ""
    claims: str = ""
    """The worker that is kept free for it."""


def line_places(
    state: RelayState, line: PendingWorkloads[WorkloadRef], workers: Iterable[WorkerFacts]
) -> dict[WorkloadRef, LinePlace]:
    """All workloads in line."""
    refs = list(line)
    if not refs:
        return {}
    times = _times(state, [ref for ref in refs if not line.is_stuck(ref)], workers)
    return {
        ref: LinePlace(number, len(refs), *times.get(ref, ("", "")), line.claims.of(ref))
        for number, ref in enumerate(refs, 1)
    }


def _times(
    state: RelayState, refs: Iterable[WorkloadRef], workers: Iterable[WorkerFacts]
) -> dict[WorkloadRef, tuple[str, str]]:
    """When the first ones that wait for room will start, as text."""
    free, now = _free(workers), state.clock.now()
    if free is None:
        return {}
    first = list(islice(refs, _MOST_ESTIMATED))
    waiting = [_work(state, ref, state.kinds[ref.kind].originals.get(ref.key)) for ref in first]
    found = zip(first, estimate_starts(free, state.running_work(), waiting), strict=True)
    ranges = {ref: start for ref, start in found if start is not None and start.latest > 0}
    return {
        ref: (format_time(now + timedelta(seconds=low)), format_time(now + timedelta(seconds=high)))
        for ref, (low, high) in ranges.items()
    }


def _work(state: RelayState, ref: WorkloadRef, original: Object | None) -> LineWork:
    if original is None:
        return LineWork({}, None)
    demand = demand_of(state.kinds[ref.kind].adapter, original, state.dependencies.definitions)
    return LineWork(total(demand), state.durations.of(demand.shape))


def _free(workers: Iterable[WorkerFacts]) -> Amounts | None:
    """What is free on all workers that take new workloads; None if that is not known of one."""
    free: dict[str, Fraction] = {}
    for worker in workers:
        if not worker.connected or worker.state is not State.OPEN:
            continue
        if worker.capacity.unknown:
            return None
        nodes = [node for node in worker.capacity.nodes if node.schedulable]
        for sign, amounts in ((1, [node.allocatable for node in nodes]), (-1, [node.used for node in nodes])):
            for each in amounts:
                for name, amount in each.items():
                    free[name] = free.get(name, Fraction(0)) + sign * amount
        for name, amount in worker.reserved.items():
            free[name] = free.get(name, Fraction(0)) - amount
    return free
