"""Admission over time: who is next, who is parked, and what wakes them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.queueing.core import Config, PodSetInfo, PreemptionSpec, Scheduler, WaitForPodsReady
from tests.queueing.core.build import admitted, cohort, holder, queue, snapshot, workload


def settle(scheduler: Scheduler, now: float = 0.0) -> list[str]:
    """Who is admitted until nothing changes any more."""
    return [each for decisions in scheduler.settle(now) for each in admitted(decisions)]


def make(*queues: Any, holders: Any = (), config: Config | None = None) -> Scheduler:
    return Scheduler(snapshot(queues, holders), config)


def push(scheduler: Scheduler, *pending: Any, now: float = 0.0) -> None:
    for each in pending:
        scheduler.push(each, now)


def test_workloads_are_admitted_by_priority_and_age() -> None:
    scheduler = make(queue("q", 3))
    push(scheduler, workload("new", "q", 1, 0, 2.0), workload("old", "q", 1, 0, 1.0), workload("high", "q", 1, 5, 3.0))
    assert settle(scheduler) == ["high", "old", "new"]


def test_best_effort_goes_past_a_head_that_does_not_fit() -> None:
    scheduler = make(queue("q", 3), holders=[holder("h", "q", 1)])
    push(scheduler, workload("large", "q", 3, 9), workload("small", "q", 2))
    assert settle(scheduler) == ["small"]
    assert scheduler.counts("q") == (0, 1)


def test_strict_fifo_waits_behind_its_head() -> None:
    scheduler = make(queue("q", 3, strategy="StrictFIFO"), holders=[holder("h", "q", 1)])
    push(scheduler, workload("large", "q", 3, 9), workload("small", "q", 2))
    assert settle(scheduler) == []
    scheduler.release("ns/h")
    assert settle(scheduler) == ["large"]


def test_quota_that_is_given_back_wakes_the_whole_tree() -> None:
    scheduler = make(queue("a", 0, "c"), queue("b", 2, "c"), holders=[holder("h", "b", 2)])
    push(scheduler, workload("x", "a", 2))
    assert settle(scheduler) == []
    scheduler.release("ns/h")
    assert settle(scheduler) == ["x"]


def test_a_changed_queue_wakes_its_own_tree_only() -> None:
    scheduler = make(queue("a", 1), queue("b", 1), holders=[holder("h", "a", 1), holder("i", "b", 1)])
    push(scheduler, workload("x", "a", 1), workload("y", "b", 1))
    assert settle(scheduler) == []
    scheduler.set_queue(queue("b", 1))
    assert (scheduler.counts("a"), scheduler.counts("b")) == ((0, 1), (0, 1))
    scheduler.set_queue(queue("b", 2))
    assert (scheduler.counts("a"), scheduler.counts("b")) == ((0, 1), (1, 0))
    assert settle(scheduler) == ["y"]


def test_a_holder_whose_priority_changes_wakes_those_that_may_preempt_it() -> None:
    preemption = PreemptionSpec("LowerPriority")
    scheduler = make(queue("a", 1, preemption=preemption), holders=[holder("h", "a", 1, 5)])
    push(scheduler, workload("x", "a", 1))
    assert settle(scheduler) == []
    scheduler.hold(holder("h", "a", 1, -1))
    assert [each.target.key for decisions in scheduler.settle(0.0) for each in decisions.preemptions] == ["ns/h"]


def test_a_workload_that_backs_off_is_not_counted() -> None:
    scheduler = make(queue("a", 1))
    push(scheduler, workload("x", "a", 1, requeue_at=9.0, waits=True), workload("y", "a", 1, waits=True))
    assert scheduler.counts("a") == (0, 1)


def test_a_namespace_wakes_the_queues_of_its_workloads() -> None:
    scheduler = make(queue("a", 1), holders=[holder("h", "a", 1)])
    push(scheduler, workload("x", "a", 1))
    assert settle(scheduler) == []
    scheduler.set_namespace("other", {})
    assert scheduler.counts("a") == (0, 1)
    scheduler.set_namespace("ns", {"team": "red"})
    assert scheduler.counts("a") == (1, 0)


def test_what_cannot_help_wakes_nobody() -> None:
    scheduler = make(queue("q", 3), holders=[holder("one", "q", 1), holder("two", "q", 2)])
    push(scheduler, workload("large", "q", 3))
    assert len([*scheduler.settle(0.0)]) == 1
    scheduler.release("ns/one")
    assert [*scheduler.settle(0.0)] == []
    scheduler.release("ns/two")
    assert settle(scheduler) == ["large"]


def test_workloads_of_one_shape_share_the_verdict() -> None:
    scheduler = make(queue("q", 3), holders=[holder("h", "q", 1)])
    push(scheduler, *(workload(f"w{each}", "q", 3, at=float(each)) for each in range(50)))
    assert len([*scheduler.settle(0.0)]) == 1
    push(scheduler, workload("late", "q", 3, at=99.0))
    assert [*scheduler.settle(0.0)] == []
    assert scheduler.counts("q") == (0, 51)


def test_a_preemptor_gets_what_its_victims_leave() -> None:
    """The preemptor stays first in its queue, even before a higher priority that came later."""
    scheduler = make(queue("q", 4, preemption=PreemptionSpec("LowerPriority")), holders=[holder("old", "q", 4)])
    push(scheduler, workload("preemptor", "q", 4, 5))
    (first, *_) = scheduler.settle(0.0)
    assert [each.target.uid for each in first.preemptions] == ["old"]
    push(scheduler, workload("later", "q", 4, 9))
    assert not any(decisions.preemptions for decisions in scheduler.settle(0.0))
    scheduler.release("ns/old")
    assert settle(scheduler) == ["preemptor"]


def test_a_back_off_is_waited_for() -> None:
    scheduler = make(queue("q"))
    push(scheduler, workload("a", "q", requeue_at=60.0), now=1.0)
    assert settle(scheduler, 59.0) == []
    assert scheduler.next_due() == 60.0
    assert settle(scheduler, 60.0) == ["a"]


def test_a_workload_that_waits_for_something_else_is_not_tried() -> None:
    scheduler = make(queue("q"))
    push(scheduler, workload("a", "q", waits=True))
    assert settle(scheduler) == []
    push(scheduler, workload("a", "q"))
    assert settle(scheduler) == ["a"]


def test_more_quota_wakes_who_waits_for_it() -> None:
    scheduler = make(queue("q", 1))
    push(scheduler, workload("a", "q", 2))
    assert settle(scheduler) == []
    scheduler.set_queue(queue("q", 2))
    assert settle(scheduler) == ["a"]


def test_a_cohort_with_quota_wakes_who_waits_for_it() -> None:
    scheduler = make(queue("q", 1, "c"))
    push(scheduler, workload("a", "q", 2))
    assert settle(scheduler) == []
    scheduler.set_cohort(cohort("c", amounts={"default": 1}))
    assert settle(scheduler) == ["a"]
    scheduler.remove_cohort("c")
    assert scheduler.snapshot.queues["q"].available(("default", "cpu")) == -1000


def test_workloads_wait_for_a_queue_that_is_not_there() -> None:
    scheduler = make()
    push(scheduler, workload("a", "q"))
    assert settle(scheduler) == []
    assert [each.uid for each in scheduler.pending("q")] == ["a"]
    scheduler.set_queue(queue("q"))
    assert settle(scheduler) == ["a"]


def test_a_queue_that_comes_back_has_its_workloads() -> None:
    scheduler = make(queue("q", 2), holders=[holder("h", "q", 2)])
    push(scheduler, workload("a", "q"))
    scheduler.remove_queue("q")
    assert settle(scheduler) == []
    scheduler.set_queue(queue("q", 2))
    assert settle(scheduler) == []
    scheduler.release("ns/h")
    assert settle(scheduler) == ["a"]


def test_a_workload_can_change_its_queue() -> None:
    scheduler = make(queue("full", 0), queue("free", 1))
    push(scheduler, workload("a", "full"))
    assert settle(scheduler) == []
    push(scheduler, workload("a", "free"))
    assert settle(scheduler) == ["a"]
    assert scheduler.pending("full") == []


def test_a_flavor_or_a_namespace_that_appears_wakes_everybody() -> None:
    scheduler = Scheduler(snapshot([queue("q")], flavors=[]))
    push(scheduler, workload("a", "q"))
    assert settle(scheduler) == []
    scheduler.set_flavor(next(iter(snapshot([]).flavors.values())))
    scheduler.set_namespace("ns", {"x": "y"})
    assert settle(scheduler) == ["a"]
    scheduler.remove_flavor("default")
    push(scheduler, workload("b", "q"))
    assert settle(scheduler) == []


def test_pods_that_have_ended_give_their_quota_to_others() -> None:
    scheduler = make(queue("q", 2), holders=[holder("h", "q", 2)])
    push(scheduler, workload("a", "q"))
    assert settle(scheduler) == []
    scheduler.hold(holder("h", "q", 1))
    assert settle(scheduler) == ["a"]


def test_ready_pods_let_the_next_one_in() -> None:
    scheduler = make(queue("q", 2), config=Config(wait_for_pods_ready=WaitForPodsReady(block_admission=True)))
    push(scheduler, workload("a", "q"), workload("b", "q", at=1.0))
    assert settle(scheduler) == ["a"]
    held = scheduler.snapshot.holder("ns/a")
    assert held is not None
    scheduler.hold(holder("a", "q"))
    assert settle(scheduler) == ["b"]


def test_the_order_of_a_queue_is_that_of_admission_whether_parked_or_not() -> None:
    scheduler = make(queue("q", 0))
    push(scheduler, workload("low", "q"), workload("high", "q", 2, 7), workload("new", "q", at=5.0, requeue_at=9.0))
    settle(scheduler)
    assert [each.uid for each in scheduler.pending("q")] == ["high", "low", "new"]


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_a_workload_of_a_foreign_namespace_blocks_nobody(strategy: Any) -> None:
    scheduler = make(
        queue("q", strategy=strategy, namespace_selector=selector_from_object({"matchLabels": {"a": "b"}}))
    )
    scheduler.set_namespace("good", {"a": "b"})
    good = workload("x", "q", at=9.0)
    push(scheduler, workload("foreign", "q"), type(good)("good/x", "x", "q", good.pod_sets, 0, 9.0, "good"))
    assert settle(scheduler) == ["x"]


def test_a_workload_that_shrinks_is_looked_at_again() -> None:
    scheduler = make(queue("q", 2))
    push(scheduler, workload("a", "q", 3))
    assert settle(scheduler) == []
    push(scheduler, workload("a", "q", pods=(PodSetInfo("main", 1, {"cpu": 2000}),)))
    assert settle(scheduler) == ["a"]


def test_a_workload_whose_verdict_was_written_is_not_looked_at_again() -> None:
    scheduler = make(queue("q", 3), holders=[holder("h", "q", 2)])
    push(scheduler, workload("a", "q", 2))
    assert settle(scheduler) == []
    push(scheduler, workload("a", "q", 2), workload("small", "q", 1, at=1.0))
    looked_at = [each.workload.uid for decisions in scheduler.settle(0.0) for each in decisions.requeues]
    assert looked_at == []
    assert scheduler.counts("q") == (0, 1)


def test_those_behind_the_first_of_a_parked_line_share_its_verdict() -> None:
    scheduler = make(queue("q", 1), holders=[holder("h", "q", 1)])
    push(scheduler, workload("a", "q"), workload("b", "q", at=1.0), workload("other", "q", 1, 5, requeue_at=9.0))
    settle(scheduler)
    verdict = scheduler.verdict("ns/b")
    assert verdict is not None
    assert "1 more needed" in verdict.message
    assert scheduler.verdict("ns/other") is None


def test_one_that_leaves_before_its_pods_are_ready_lets_the_next_one_in_wherever_it_waits() -> None:
    config = Config(wait_for_pods_ready=WaitForPodsReady(block_admission=True))
    scheduler = make(queue("p", 1), queue("q", 1), config=config)
    push(scheduler, workload("a", "p"))
    assert settle(scheduler) == ["a"]
    push(scheduler, workload("b", "q", at=1.0))
    assert settle(scheduler) == []
    scheduler.release("ns/a")
    assert settle(scheduler) == ["b"]


def test_of_those_admitted_within_a_second_the_last_gives_way_first() -> None:
    policy = PreemptionSpec(within_cluster_queue="LowerPriority")
    scheduler = make(queue("q", 2, preemption=policy))
    for name, now in (("z", 10.2), ("a", 10.7)):
        push(scheduler, workload(name, "q"))
        assert settle(scheduler, now) == [name]
        scheduler.hold(replace(holder(name, "q"), reserved_at=10.0))
    push(scheduler, workload("high", "q", 1, 9))
    gone = [each.target.uid for decisions in scheduler.settle(11.0) for each in decisions.preemptions]
    assert gone == ["a"]


def test_a_queue_that_is_the_same_wakes_nobody() -> None:
    selector = {"matchLabels": {"a": "b"}}
    first, again = (queue("q", 1, namespace_selector=selector_from_object(selector)) for _ in range(2))
    scheduler = make(first, holders=[holder("h", "q", 1)])
    scheduler.set_namespace("ns", {"a": "b"})
    push(scheduler, workload("x", "q"))
    settle(scheduler)
    scheduler.set_queue(again)
    assert scheduler.counts("q") == (0, 1)
