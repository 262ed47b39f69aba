"""Flavors: which ones are for a pod set, in which order they are tried, and when the search stops."""

from __future__ import annotations

import pytest

from jobrelay.queueing.core import (
    Decisions,
    FlavorFungibility,
    FlavorSpec,
    Head,
    PodSetInfo,
    PreemptionSpec,
    Snapshot,
    schedule,
)
from tests.queueing.core.build import admitted, decide, holder, messages, preempted, queue, snapshot, workload

SPOT = FlavorSpec("spot", {"instance": "spot"}, ({"key": "spot", "value": "true", "effect": "NoSchedule"},))
ON_DEMAND = FlavorSpec("on-demand", {"instance": "on-demand"})


def flavor_of(decisions: Decisions) -> str:
    return decisions.reservations[0].admission.pod_sets[0].flavors["cpu"]


def test_flavors_are_tried_in_the_order_of_the_queue() -> None:
    on = snapshot([queue("q", {"one": 4, "two": 4})], [holder("old", "q", 3, flavor="one")], flavors=["one", "two"])
    assert flavor_of(decide(on, workload("small", "q", 1))) == "one"
    assert flavor_of(decide(on, workload("large", "q", 2))) == "two"


def test_a_taint_that_nobody_tolerates_excludes_a_flavor() -> None:
    on = snapshot([queue("q", {"spot": 4})], flavors=[SPOT])
    assert messages(decide(on, workload("a", "q")))["a"] == (
        "couldn't assign flavors to pod set main: untolerated taint {spot true NoSchedule <nil>} in flavor spot"
    )


def test_a_toleration_of_the_pod_or_of_the_flavor_lets_it_in() -> None:
    tolerations = ({"key": "spot", "operator": "Exists"},)
    pods = (PodSetInfo("main", 1, {"cpu": 1000}, tolerations=tolerations),)
    assert admitted(decide(snapshot([queue("q", {"spot": 4})], flavors=[SPOT]), workload("a", "q", pods=pods)))
    tolerant = FlavorSpec("spot", {}, SPOT.node_taints, tolerations)
    assert admitted(decide(snapshot([queue("q", {"spot": 4})], flavors=[tolerant]), workload("a", "q")))


def test_a_node_selector_counts_only_for_labels_that_the_flavor_has() -> None:
    on = snapshot([queue("q", {"on-demand": 4, "other": 4})], flavors=[ON_DEMAND, "other"])
    pods = (PodSetInfo("main", 1, {"cpu": 1000}, node_selector={"instance": "spot", "zone": "a"}),)
    decisions = decide(on, workload("a", "q", pods=pods))
    assert flavor_of(decisions) == "other"
    assert decisions.reservations[0].assignment.considered == (
        "main: on-demand(NoFit;flavor on-demand doesn't match node affinity)"
    )


@pytest.mark.parametrize(("values", "fits"), [(["on-demand"], True), (["spot"], False)])
def test_required_node_affinity_selects_flavors(values: list[str], fits: bool) -> None:
    expression = {"key": "instance", "operator": "In", "values": values}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    pods = (
        PodSetInfo("main", 1, {"cpu": 1000}, node_affinity={"requiredDuringSchedulingIgnoredDuringExecution": terms}),
    )
    on = snapshot([queue("q", {"on-demand": 4})], flavors=[ON_DEMAND])
    assert bool(admitted(decide(on, workload("a", "q", pods=pods)))) is fits


def test_a_flavor_that_does_not_exist_is_told() -> None:
    on = snapshot([queue("q", {"gone": 4})], flavors=[])
    assert messages(decide(on, workload("a", "q")))["a"].endswith("flavor gone not found")


def lender(**more: object) -> Snapshot:
    """Queue q has one CPU of each flavor, and may borrow four more of each from its cohort."""
    fungibility = FlavorFungibility(**more)  # type: ignore[arg-type]
    queues = [queue("q", {"one": 1, "two": 2}, "c", fungibility=fungibility), queue("other", {"one": 4, "two": 4}, "c")]
    return snapshot(queues, flavors=["one", "two"])


def test_borrowing_in_the_first_flavor_is_good_enough_by_default() -> None:
    decisions = decide(lender(), workload("a", "q", 2))
    assert flavor_of(decisions) == "one"
    assert decisions.reservations[0].assignment.borrowing == 1


def test_the_search_goes_on_past_borrowing_if_the_queue_says_so() -> None:
    assert flavor_of(decide(lender(when_can_borrow="TryNextFlavor"), workload("a", "q", 2))) == "two"


def test_where_all_flavors_borrow_the_first_of_them_is_taken() -> None:
    assert flavor_of(decide(lender(when_can_borrow="TryNextFlavor"), workload("a", "q", 3))) == "one"


def crowded(**more: object) -> Snapshot:
    """Flavor one is full of a low priority, flavor two has room only by borrowing."""
    spec = queue(
        "q",
        {"one": 4, "two": 0},
        "c",
        fungibility=FlavorFungibility(**more),  # type: ignore[arg-type]
        preemption=PreemptionSpec("LowerPriority"),
    )
    other = queue("other", {"one": (0, 0), "two": 4}, "c")
    return snapshot([spec, other], [holder("old", "q", 4, flavor="one")], flavors=["one", "two"])


def test_a_flavor_without_preemption_is_looked_for_first() -> None:
    assert flavor_of(decide(crowded(), workload("a", "q", 4, priority=1))) == "two"


def test_preemption_in_the_first_flavor_is_enough_if_the_queue_says_so() -> None:
    decisions = decide(crowded(when_can_preempt="MayStopSearch"), workload("a", "q", 4, priority=1))
    assert preempted(decisions) == {"old": "InClusterQueue"}


def test_preemption_is_preferred_to_borrowing_if_the_queue_says_so() -> None:
    on = crowded(
        when_can_borrow="TryNextFlavor", when_can_preempt="TryNextFlavor", preference="PreemptionOverBorrowing"
    )
    assert preempted(decide(on, workload("a", "q", 4, priority=1))) == {"old": "InClusterQueue"}


def test_the_next_cycle_goes_on_behind_the_flavor_that_was_tried() -> None:
    """Two queues want the same spare quota; the one that comes too late tries its other flavor next."""
    policy = PreemptionSpec(reclaim_within_cohort="Any")
    specs = [queue(each, {"one": 0, "two": 4}, "c", preemption=policy) for each in ("a", "b")]
    on = snapshot([*specs, queue("lender", {"one": 2, "two": 0}, "c")], flavors=["one", "two"])
    late = workload("late", "b", 2, at=1.0)
    first = decide(on, workload("early", "a", 2), late)
    assert messages(first)["late"] == "Workload no longer fits after processing another workload"
    assert first.requeues[0].progress is not None
    assert first.requeues[0].progress.unfinished
    again = schedule(on, [Head(late, first.requeues[0].progress)], 100.0, None, 2)
    assert flavor_of(again) == "two"
