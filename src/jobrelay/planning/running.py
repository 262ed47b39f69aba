"""Runs a trace on a fleet under one policy, on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from jobrelay.planning.clock import VirtualClock
from jobrelay.planning.fleet import FleetDescription, WorkerDisruption
from jobrelay.planning.measures import Measures, PlanResult
from jobrelay.planning.relay import PlannedRelay
from jobrelay.planning.trace import Trace
from jobrelay.planning.worker import PlannedWorker
from jobrelay.relay.settings import LOST_TIMEOUT, Settings


def run_plan(
    fleet: FleetDescription,
    trace: Trace,
    policy: str,
    *,
    lost_timeout: float = LOST_TIMEOUT,
    progress: Callable[[int], None] = lambda jobs: None,
) -> PlanResult:
    """The result of a trace on a fleet; `progress` is called with the number of Jobs created so far.

    `policy` is a text as for `jobrelay relay run --placement`; raises PolicyError if it is not one.
    """
    measures, settings = Measures(fleet), Settings("plan", lost_timeout=lost_timeout)
    workers = [PlannedWorker(position, worker) for position, worker in enumerate(fleet.workers)]
    clock = VirtualClock(lambda: relay.settle())
    relay = PlannedRelay(clock, workers, policy, settings, measures)
    _schedule(clock, fleet.outages, relay.begin_outage, relay.end_outage)
    _schedule(clock, fleet.drains, relay.begin_drain, relay.end_drain)
    for number, job in enumerate(trace):
        clock.run(job.submit)
        relay.submit(number, job)
        progress(number + 1)
    clock.run()
    unfinished = list(relay.unfinished)
    return measures.result(policy, len(unfinished), relay.why(unfinished[0]) if unfinished else "")


def _schedule(
    clock: VirtualClock,
    incidents: Iterable[WorkerDisruption],
    begin: Callable[[WorkerDisruption], None],
    end: Callable[[WorkerDisruption], None],
) -> None:
    for incident in incidents:
        clock.call_later(incident.start, partial(begin, incident))
        clock.call_later(incident.end, partial(end, incident))
