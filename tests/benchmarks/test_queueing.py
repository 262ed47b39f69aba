"""The loads of the queueing bench are played to their end, and known in advance what they take."""

from __future__ import annotations

from bench.queueing import BASELINE, LARGE, Load, WorkloadClass, many, play


def test_the_loads_are_those_of_kueue() -> None:
    assert (BASELINE.workloads, LARGE.workloads) == (15_000, 50_000)
    assert (BASELINE.lower_bound, round(LARGE.lower_bound, 3)) == (66.0, 4.025)


def test_workloads_that_fill_their_quota_take_the_lower_bound() -> None:
    load = Load(1, 2, (WorkloadClass("large", 5, 0, 1000, 1, 20),))
    run = play(load)
    assert run.makespan == load.lower_bound == 5.0
    assert len(run.waits["large"]) == 10


def test_what_is_preempted_runs_again() -> None:
    low, high = WorkloadClass("low", 1, 0, 1000, 1, 20), WorkloadClass("high", 2, 1500, 1000, 2, 20)
    run = play(Load(1, 1, (low, high)))
    assert (run.makespan, run.preempted, len(run.waits["low"])) == (3.5, 1, 2)


def test_decisions_are_counted() -> None:
    rate, took, decided = many(10, 100)
    assert decided >= 40
    assert abs(rate * took - decided) < 1
