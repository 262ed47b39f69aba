"""The same decisions as Kueue 0.19.2: its own scheduler, with a fake client, has decided each of these scenarios.

They were chosen from 2,000 random ones (all equal) for what happens in them: preemption in trees, by share and while
borrowing, victims that two heads want, heads that come too late.
"""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.queueing.core import Head, Scheduler, schedule
from tests.queueing.core import recorded

CYCLES = recorded.read("cycles.jsonl")
TRACES = recorded.read("traces.jsonl")


@pytest.mark.parametrize("number", range(len(CYCLES)))
def test_one_cycle_decides_as_kueue_does(number: int) -> None:
    """Who gets which flavors, who is preempted by which right, and what the others are told."""
    of = CYCLES[number]
    heads = [Head(each) for each in recorded.workloads(of)]
    decided = schedule(recorded.snapshot(of), heads, 10_000.0, recorded.config(of), 1)
    found: dict[str, list[Any]] = {each.workload.uid: ["wait", each.message] for each in decided.requeues}
    found |= {each.target.uid: ["evict", each.reason] for each in decided.preemptions}
    for each in decided.reservations:
        pods = [[one.name, one.count, dict(one.flavors)] for one in each.admission.pod_sets]
        found[each.workload.uid] = ["admit", pods]
    assert found == of["answers"]


@pytest.mark.parametrize("number", range(len(TRACES)))
def test_cycle_follows_cycle_as_in_kueue(number: int) -> None:
    """Victims leave at once; whenever nothing changes any more, the first two holders by name end."""
    of = TRACES[number]
    scheduler = Scheduler(recorded.snapshot(of), recorded.config(of))
    for each in recorded.workloads(of):
        scheduler.push(each, 0.0)
    assert _played(scheduler, 4) == of["trace"]


def _played(scheduler: Scheduler, steps: int) -> list[list[str]]:
    trace = []
    for _ in range(steps):
        for decided in scheduler.settle(10_000.0):
            happened = [f"+{each.workload.uid}" for each in decided.reservations]
            happened += [f"-{each.target.uid}" for each in decided.preemptions]
            for each in decided.preemptions:
                scheduler.release(each.target.key)
            trace += [sorted(happened)] if happened else []
        for uid in sorted(each.uid for each in scheduler.snapshot.holders())[:2]:
            scheduler.release(f"default/{uid}")
    return trace
