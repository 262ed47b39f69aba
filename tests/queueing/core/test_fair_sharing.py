"""Fair sharing: shares, the order of admission, and preemption by share."""

from __future__ import annotations

import pytest

from jobrelay.queueing.core import Config, FairSharing, PreemptionSpec, Scheduler
from jobrelay.queueing.core.config import FairStrategy
from jobrelay.queueing.core.shares import share
from tests.queueing.core.build import admitted, cohort, decide, holder, preempted, queue, snapshot, workload

FAIR = Config(fair_sharing=FairSharing())
POLICY = PreemptionSpec("LowerPriority", "Any")


def test_the_share_is_what_is_borrowed_of_what_the_cohort_could_lend() -> None:
    on = snapshot([queue("q", 2, "c"), queue("other", 6, "c")], [holder("old", "q", 4)])
    found = share(on.queues["q"])
    assert (found.key, found.resource, found.rounded) == ((0, 250.0), "cpu", 250)
    assert share(on.queues["other"]).rounded == 0


@pytest.mark.parametrize(("weight", "rounded"), [(2.0, 125), (0.5, 500), (3.0, 84), (0.0, 2**63 - 1)])
def test_the_share_is_divided_by_the_weight(weight: float, rounded: int) -> None:
    on = snapshot([queue("q", 2, "c", weight=weight), queue("other", 6, "c")], [holder("old", "q", 4)])
    assert share(on.queues["q"]).rounded == rounded


def test_the_smallest_share_after_admission_comes_first() -> None:
    queues = [queue(each, 0, "c") for each in ("a", "b")] + [queue("lender", 4, "c")]
    on = snapshot(queues, [holder("old", "a", 1)])
    heads = workload("x", "a", 2, 9, 0.0), workload("y", "b", 2, 0, 9.0)
    assert admitted(decide(on, *heads)) == ["x"]
    assert admitted(decide(on, *heads, config=FAIR)) == ["y"]


def test_who_does_not_borrow_comes_before_who_does() -> None:
    queues = [queue("a", 0, "c", weight=1000.0), queue("b", 2, "c"), queue("lender", 2, "c")]
    on = snapshot(queues)
    decided = decide(on, workload("x", "a", 3, 9), workload("y", "b", 2), config=FAIR)
    assert admitted(decided) == ["y"]


def test_cohorts_are_compared_before_their_queues() -> None:
    """Queue `a` alone has little, but its cohort has borrowed more than the other one."""
    queues = [queue("a", 0, "one"), queue("rich", 0, "one"), queue("b", 0, "two"), queue("lender", 5, "org")]
    trees = [cohort("one", "org"), cohort("two", "org"), cohort("org")]
    on = snapshot(queues, [holder("old", "rich", 3), holder("other", "b", 1)], trees)
    assert admitted(decide(on, workload("x", "a", 1), workload("y", "b", 1), config=FAIR)) == ["y"]


def shared(*holders: tuple[str, int], amounts: int = 3) -> object:
    """Three queues with three CPU each; workloads of one CPU."""
    queues = [queue(each, amounts, "c", preemption=POLICY) for each in ("a", "b", "c")]
    running = [holder(f"{of}{number}", of, 1, at=float(number)) for of, count in holders for number in range(count)]
    return snapshot(queues, running)


def test_the_largest_share_gives_way_first() -> None:
    on = shared(("a", 4), ("b", 5))
    found = decide(on, workload("x", "c", 1), config=FAIR)  # type: ignore[arg-type]
    assert preempted(found) == {"b4": "InCohortReclamation"}


def test_borrowed_quota_is_shared_by_preemption() -> None:
    """Queue c has borrowed nothing beyond its three, b has borrowed three of a's: both may have half of them."""
    on = shared(("b", 6), ("c", 3))
    found = decide(on, workload("x", "c", 1), config=FAIR)  # type: ignore[arg-type]
    assert preempted(found) == {"b5": "InCohortFairSharing"}


def test_a_queue_with_an_equal_share_is_left_alone() -> None:
    on = shared(("b", 5), ("c", 4))
    assert preempted(decide(on, workload("x", "c", 1), config=FAIR)) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("strategies", "gone"),
    [
        (("LessThanOrEqualToFinalShare",), False),
        (("LessThanInitialShare",), True),
        (("LessThanOrEqualToFinalShare", "LessThanInitialShare"), True),
    ],
)
def test_strategies_differ_for_large_victims(strategies: tuple[FairStrategy, ...], gone: bool) -> None:
    """After losing its large workload, b has a smaller share than c would have; before, it has a larger one."""
    queues = [queue(each, 3, "c", preemption=POLICY) for each in ("a", "b", "c")]
    on = snapshot(queues, [holder("large", "b", 6), holder("old", "c", 3)])
    config = Config(fair_sharing=FairSharing(strategies))
    assert bool(preempted(decide(on, workload("x", "c", 2), config=config))) is gone


def test_shares_converge_to_weights() -> None:
    """Three quarters of what a lender has go to the queue of three times the weight, though the other came first."""
    queues = [queue("lender", 16, "c")]
    queues += [queue(name, 0, "c", weight=of, preemption=POLICY) for name, of in (("light", 1.0), ("heavy", 3.0))]
    scheduler = Scheduler(snapshot(queues, [holder(f"light-{each}", "light", at=each) for each in range(16)]), FAIR)
    for number in range(16):
        scheduler.push(workload(f"heavy-{number}", "heavy", 1, at=float(number)), 0.0)
    for decisions in scheduler.settle(0.0):
        for each in decisions.preemptions:
            scheduler.release(each.target.key)
    nodes = scheduler.snapshot.queues
    assert (len(nodes["light"].workloads), len(nodes["heavy"].workloads)) == (4, 12)
