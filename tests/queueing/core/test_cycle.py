"""One cycle: the order of heads, what keeps one from being looked at, partial admission, checks, pods being ready."""

from __future__ import annotations

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.queueing.core import AdmissionCheckRule, Config, PodSetInfo, PreemptionSpec, WaitForPodsReady
from tests.queueing.core.build import admitted, decide, holder, messages, preempted, queue, snapshot, workload


def test_heads_that_do_not_borrow_come_first_then_priority_then_age() -> None:
    queues = [queue("borrower", 0, "c"), *(queue(each, 4, "c") for each in ("high", "old", "new"))]
    heads = (
        workload("borrows", "borrower", 1, 99),
        workload("young", "new", 1, 0, 2.0),
        workload("aged", "old", 1, 0, 1.0),
        workload("urgent", "high", 1, 5, 3.0),
    )
    assert admitted(decide(snapshot(queues), *heads)) == ["urgent", "aged", "young", "borrows"]


def test_a_head_may_not_fit_any_more_after_those_before_it() -> None:
    on = snapshot([queue("a", 0, "c"), queue("b", 0, "c"), queue("lender", 3, "c")])
    decisions = decide(on, workload("x", "a", 2, at=1.0), workload("y", "b", 2, at=2.0))
    assert admitted(decisions) == ["x"]
    assert messages(decisions) == {"y": "Workload no longer fits after processing another workload"}
    assert decisions.requeues[0].reason == "FailedAfterNomination"


def test_the_snapshot_is_the_same_afterwards() -> None:
    on = snapshot([queue("q", 4, "c", preemption=PreemptionSpec("LowerPriority"))], [holder("old", "q", 3)])
    decide(on, workload("a", "q", 4, 1))
    assert on.queues["q"].usage == on.cohorts["c"].usage == {("default", "cpu"): 3000}


def test_namespaces_that_the_queue_does_not_select_are_refused() -> None:
    spec = queue("q", namespace_selector=selector_from_object({"matchLabels": {"team": "a"}}))
    on = snapshot([spec])
    decisions = decide(on, workload("x", "q"))
    assert messages(decisions) == {"x": "workload namespace doesn't match ClusterQueue selector"}
    assert decisions.requeues[0].reason == "NamespaceMismatch"
    on.set_namespace("ns", {"team": "a"})
    assert admitted(decide(on, workload("x", "q"))) == ["x"]
    on.set_namespace("ns", None)
    assert messages(decide(on, workload("x", "q")))["x"].startswith('workload namespace "ns" does not exist')


def test_a_queue_that_is_stopped_or_missing_admits_nothing() -> None:
    on = snapshot([queue("held", stop_policy="Hold"), queue("broken", active=False)])
    decisions = decide(on, workload("x", "held"), workload("y", "broken"), workload("z", "gone"))
    assert messages(decisions) == {
        "x": "ClusterQueue held is inactive",
        "y": "ClusterQueue broken is inactive",
        "z": "ClusterQueue gone not found",
    }


def test_what_is_wrong_with_a_workload_itself_is_told() -> None:
    on = snapshot([queue("q")])
    wrong, failed = workload("x", "q", problem="resources validation failed"), workload("y", "q", failed_checks=True)
    assert messages(decide(on, wrong)) == {"x": "resources validation failed"}
    assert messages(decide(on, failed)) == {"y": "The workload has failed admission checks"}


def test_a_workload_in_its_back_off_is_not_admitted() -> None:
    early, late = workload("x", "q", requeue_at=100.5), workload("y", "q", requeue_at=100.0)
    on = snapshot([queue("q")])
    assert messages(decide(on, early)) == {"x": "The workload waits for its back-off"}
    assert admitted(decide(on, late)) == ["y"]


def test_a_workload_that_holds_quota_is_left_out() -> None:
    decisions = decide(snapshot([queue("q")], [holder("a", "q")]), workload("a", "q"))
    assert not decisions.reservations
    assert not decisions.requeues


def test_as_many_pods_are_admitted_as_fit_but_not_fewer_than_the_minimum() -> None:
    pods = (PodSetInfo("main", 10, {"cpu": 1000}, min_count=4),)
    for free, count in ((10, 10), (7, 7), (4, 4), (3, None)):
        found = decide(snapshot([queue("q", 12)], [holder("old", "q", 12 - free)]), workload("a", "q", pods=pods))
        assert [each.admission.pod_sets[0].count for each in found.reservations] == ([count] if count else [])


def test_only_the_pod_set_with_a_minimum_shrinks() -> None:
    pods = (PodSetInfo("driver", 1, {"cpu": 1000}), PodSetInfo("workers", 8, {"cpu": 1000}, min_count=2))
    (one,) = decide(snapshot([queue("q", 6)]), workload("a", "q", pods=pods)).reservations
    assert [each.count for each in one.admission.pod_sets] == [1, 5]


def test_all_pods_with_preemption_are_better_than_fewer_without() -> None:
    pods = (PodSetInfo("main", 4, {"cpu": 1000}, min_count=1),)
    on = snapshot([queue("q", 4, preemption=PreemptionSpec("LowerPriority"))], [holder("old", "q", 2)])
    assert preempted(decide(on, workload("a", "q", priority=1, pods=pods))) == {"old": "InClusterQueue"}


def test_checks_are_those_of_the_flavors_that_are_used() -> None:
    checks = (AdmissionCheckRule("all"), AdmissionCheckRule("spot-only", frozenset({"spot"})))
    on = snapshot([queue("q", {"on-demand": 1, "spot": 4}, checks=checks)], flavors=["on-demand", "spot"])
    assert decide(on, workload("a", "q", 1)).reservations[0].checks == ("all",)
    assert decide(on, workload("a", "q", 2)).reservations[0].checks == ("all", "spot-only")


def test_admission_waits_for_pods_to_be_ready_if_it_is_to() -> None:
    config = Config(wait_for_pods_ready=WaitForPodsReady(block_admission=True))
    on = snapshot([queue("q", 4), queue("r", 4)], [holder("old", "q", 1, pods_ready=False)])
    (one,) = decide(on, workload("a", "q"), config=config).requeues
    assert (one.condition_reason, one.message) == (
        "Waiting",
        "waiting for all admitted workloads to be in PodsReady condition",
    )
    on.release("ns/old")
    assert admitted(decide(on, workload("a", "q"), workload("b", "r", at=1.0), config=config)) == ["a"]


def test_resources_that_no_queue_declares_can_be_ignored() -> None:
    pods = (PodSetInfo("main", 1, {"cpu": 1000, "example.com/license": 1}),)
    (one,) = decide(
        snapshot([queue("q")]), workload("a", "q", pods=pods), config=Config(ignore_undeclared_resources=True)
    ).reservations
    assert one.admission.usage() == {("default", "cpu"): 1000}
