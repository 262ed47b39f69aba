"""What holds in the long run, whatever comes and ends: nothing starves, and shares get close to weights."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from jobrelay.queueing.core import Config, FairSharing, PreemptionSpec, Scheduler
from tests.queueing.core.build import holder, queue, snapshot, workload

QUOTA = 6
ROUNDS = 200
RECLAIM = PreemptionSpec(reclaim_within_cohort="Any")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, QUOTA), st.integers(0, QUOTA)), min_size=1, max_size=15))
def test_nothing_starves_under_strict_fifo(waiting: list[tuple[int, int]]) -> None:
    """One ends at each tick, whichever, and a small one arrives that would fit.

    Only those that came before it can have started before it. So each has started at the latest when so many have ended
    as came before it.
    """
    scheduler = Scheduler(snapshot([queue("q", QUOTA, strategy="StrictFIFO")]))
    for number, (size, _) in enumerate(waiting):
        scheduler.push(workload(str(number), "q", size, at=float(number)), 0.0)
    running: list[int] = []
    started: list[int] = []
    for tick, (_, pick) in enumerate(waiting):
        number = len(waiting) + tick
        scheduler.push(workload(str(number), "q", 1, at=float(number)), 0.0)
        new = [int(each.workload.uid) for found in scheduler.settle(0.0) for each in found.reservations]
        running, started = running + new, started + new
        assert started == [*range(len(started))]
        assert len(started) > tick
        scheduler.release(f"ns/{running.pop(pick % len(running))}")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0, 5.0]), st.integers(0, 8)), min_size=2, max_size=4))
def test_shares_converge_to_weights(borrowers: list[tuple[float, int]]) -> None:
    """Whoever had how much at first: nobody could take one more without having more than another one has now."""
    names = [f"q{index}" for index in range(len(borrowers))]
    weights = dict(zip(names, (weight for weight, _ in borrowers), strict=True))
    held = dict(zip(names, (first for _, first in borrowers), strict=True))
    total = max(1, sum(held.values()))
    queues = [queue(name, 0, "c", weight=weights[name], preemption=RECLAIM) for name in names]
    holders = [holder(f"{name}-h{i}", name, at=float(i)) for name in names for i in range(held[name])]
    scheduler = Scheduler(snapshot([queue("lender", total, "c"), *queues], holders), Config(fair_sharing=FairSharing()))
    for name in names:
        for number in range(total):
            scheduler.push(workload(f"{name}-{number}", name, at=float(number)), 0.0)
    _until_nothing_moves(scheduler)
    counts = {name: len(scheduler.snapshot.queues[name].workloads) for name in names}
    assert sum(counts.values()) == total
    for poor in names:
        for rich in names:
            assert (counts[poor] + 1) / weights[poor] >= counts[rich] / weights[rich]


def _until_nothing_moves(scheduler: Scheduler) -> None:
    """Carry out preemptions, and queue again who was preempted, until there are none."""
    for _ in range(ROUNDS):
        gone = []
        for decisions in scheduler.settle(0.0):
            for each in decisions.preemptions:
                scheduler.release(each.target.key)
                gone.append(each.target)
        for target in gone:
            scheduler.push(workload(target.uid, target.cluster_queue, at=target.queued_at), 0.0)
        if not gone:
            return
    raise AssertionError("workloads preempt each other for ever")
