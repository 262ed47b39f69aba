"""Quota in a queue and in trees of cohorts, with the arithmetic of each answer."""

from __future__ import annotations

from jobrelay.queueing.core import FlavorQuotas, PodSetInfo, Quota, ResourceGroup
from jobrelay.queueing.core.model import ClusterQueueSpec
from tests.queueing.core.build import admitted, cohort, decide, holder, messages, queue, snapshot, workload

CPU = ("default", "cpu")


def test_what_is_missing_is_told_in_kueues_words() -> None:
    on = snapshot([queue("q", 4)], [holder("old", "q", 3)])
    assert messages(decide(on, workload("a", "q", 2))) == {
        "a": "couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor default, 1 more needed"
    }


def test_a_workload_that_can_never_fit_is_told_so() -> None:
    assert messages(decide(snapshot([queue("q", 4)]), workload("a", "q", 5))) == {
        "a": "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously "
        "considered podsets requests (0) + current podset request (5) > maximum capacity (4)"
    }


def test_earlier_pod_sets_count_as_used() -> None:
    pods = (PodSetInfo("driver", 1, {"cpu": 3000}), PodSetInfo("workers", 2, {"cpu": 1000}))
    assert messages(decide(snapshot([queue("q", 4)]), workload("a", "q", pods=pods)))["a"].endswith(
        "previously considered podsets requests (3) + current podset request (2) > maximum capacity (4)"
    )


def test_each_decision_keeps_its_arithmetic() -> None:
    on = snapshot([queue("q", 4, "c"), queue("other", 2, "c")], [holder("old", "q", 3)])
    decision = decide(on, workload("a", "q", 2)).reservations[0]
    (check,) = decision.assignment.pod_sets[0].attempts[0].checks
    assert (check.requested, check.available, check.capacity, check.borrowing) == (2000, 3000, 6000, 1)


def test_a_resource_that_the_queue_does_not_cover_is_told() -> None:
    pods = (PodSetInfo("main", 1, {"cpu": 1000, "nvidia.com/gpu": 1}),)
    assert messages(decide(snapshot([queue("q")]), workload("a", "q", pods=pods))) == {
        "a": "couldn't assign flavors to pod set main: resource nvidia.com/gpu unavailable in ClusterQueue"
    }


def test_unused_quota_of_the_cohort_is_borrowed() -> None:
    on = snapshot([queue("q", 2, "c"), queue("other", 2, "c")])
    assert admitted(decide(on, workload("a", "q", 4))) == ["a"]


def test_the_borrowing_limit_holds() -> None:
    on = snapshot([queue("q", {"default": (2, 1)}, "c"), queue("other", 4, "c")])
    assert admitted(decide(on, workload("a", "q", 3))) == ["a"]
    assert not admitted(decide(on, workload("a", "q", 4)))


def test_the_lending_limit_holds() -> None:
    on = snapshot([queue("q", 2, "c"), queue("other", {"default": (4, None, 1)}, "c")])
    assert on.queues["q"].available(CPU) == 3000
    assert on.queues["other"].available(CPU) == 6000
    assert not admitted(decide(on, workload("a", "q", 4)))


def test_what_a_queue_keeps_for_itself_is_used_before_what_it_shares() -> None:
    on = snapshot([queue("q", 0, "c"), queue("other", {"default": (4, None, 1)}, "c")], [holder("old", "other", 3)])
    assert on.cohorts["c"].usage == {}
    assert admitted(decide(on, workload("a", "q", 1))) == ["a"]


def test_cohorts_have_quota_of_their_own_and_lend_it_down() -> None:
    on = snapshot([queue("q", 1, "c")], cohorts=[cohort("c", amounts={"default": 3})])
    assert on.queues["q"].available(CPU) == 4000


def test_quota_comes_from_as_low_in_the_tree_as_possible() -> None:
    queues = [queue("q", 1, "team"), queue("sibling", 1, "team"), queue("far", 4, "org")]
    on = snapshot(queues, cohorts=[cohort("team", "org"), cohort("org")])
    assert [on.queues["q"].level(CPU, amount * 1000)[0] for amount in (1, 2, 3, 6)] == [0, 1, 2, 2]


def test_limits_of_a_cohort_hold_for_all_below_it() -> None:
    queues = [queue("q", 1, "team"), queue("far", 8, "org")]
    on = snapshot(queues, cohorts=[cohort("team", "org", {"default": (0, 2)}), cohort("org")])
    assert on.queues["q"].available(CPU) == 3000


def test_queues_whose_cohorts_form_a_circle_are_inactive() -> None:
    on = snapshot([queue("q", 4, "a"), queue("free", 4)], cohorts=[cohort("a", "b"), cohort("b", "a")])
    decisions = decide(on, workload("x", "q"), workload("y", "free"))
    assert messages(decisions) == {"x": "ClusterQueue q is inactive"}
    assert admitted(decisions) == ["y"]


def test_pods_are_counted_where_a_queue_has_a_quota_for_them() -> None:
    quotas = {"cpu": Quota(100_000), "pods": Quota(3)}
    spec = ClusterQueueSpec("q", (ResourceGroup(("cpu", "pods"), (FlavorQuotas("default", quotas),)),))
    two, four = (PodSetInfo("main", 2, {"cpu": 1000}),), (PodSetInfo("main", 4, {"cpu": 1000}),)
    (one,) = decide(snapshot([spec]), workload("a", "q", pods=two)).reservations
    assert one.admission.usage() == {("default", "cpu"): 2000, ("default", "pods"): 2}
    assert "pods in flavor default" in messages(decide(snapshot([spec]), workload("b", "q", pods=four)))["b"]


def test_each_resource_group_gets_a_flavor_of_its_own() -> None:
    groups = (
        ResourceGroup(("cpu",), (FlavorQuotas("x86", {"cpu": Quota(1000)}), FlavorQuotas("arm", {"cpu": Quota(9000)}))),
        ResourceGroup(("gpu",), (FlavorQuotas("a100", {"gpu": Quota(1)}),)),
    )
    on = snapshot([ClusterQueueSpec("q", groups)], flavors=["x86", "arm", "a100"])
    pods = (PodSetInfo("main", 1, {"cpu": 2000, "gpu": 1}),)
    assert decide(on, workload("a", "q", pods=pods)).reservations[0].admission.pod_sets[0].flavors == {
        "cpu": "arm",
        "gpu": "a100",
    }


def test_pods_that_have_ended_need_no_quota() -> None:
    pods = (PodSetInfo("main", 6, {"cpu": 1000}),)
    on = snapshot([queue("q", 4)])
    assert not admitted(decide(on, workload("a", "q", pods=pods)))
    (one,) = decide(on, workload("a", "q", pods=pods, reclaimable={"main": 2})).reservations
    assert one.admission.pod_sets[0].count == 4
    assert one.admission.usage({"main": 1}) == {CPU: 1000}


def test_a_workload_that_requests_nothing_gets_no_flavor() -> None:
    (one,) = decide(snapshot([queue("q")]), workload("a", "q", pods=(PodSetInfo("main", 1, {}),))).reservations
    assert one.admission.pod_sets[0].flavors == {}
    assert one.checks == ()


def test_holders_that_use_nothing_come_and_go() -> None:
    on = snapshot([queue("q")], [holder("a", "q", 0), holder("b", "q", 0), holder("c", "q", 1)])
    for each in ("a", "c", "b"):
        on.release(f"ns/{each}")
    assert on.queues["q"].usage == on.queues["q"].by_priority == {}
