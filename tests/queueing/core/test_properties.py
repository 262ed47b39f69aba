"""What holds for all trees, queues and workloads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jobrelay.queueing.core import (
    AdmittedWorkload,
    ClusterQueueSpec,
    CohortSpec,
    Config,
    FairSharing,
    FlavorSpec,
    Head,
    PreemptionSpec,
    Scheduler,
    Snapshot,
    WorkloadInfo,
    schedule,
)
from jobrelay.queueing.core.tree import QuotaNode
from tests.queueing.core.build import cohort, holder, queue, workload

FLAVORS = ("one", "two")
limits = st.one_of(st.none(), st.integers(0, 6))
configs = st.sampled_from([Config(), Config(fair_sharing=FairSharing())])


@st.composite
def policies(draw: st.DrawFn) -> PreemptionSpec:
    reclaim: Any = draw(st.sampled_from(["Never", "LowerPriority", "Any"]))
    borrow: Any = draw(st.sampled_from(["Never", "LowerPriority"])) if reclaim != "Never" else "Never"
    within: Any = draw(st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]))
    return PreemptionSpec(within, reclaim, borrow, draw(st.one_of(st.none(), st.integers(0, 3))))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[ClusterQueueSpec], list[CohortSpec]]:
    """Queues in a tree of up to three levels."""
    cohorts = [cohort("root"), cohort("left", "root"), cohort("right", "root"), cohort("deep", "left")]
    cohorts = [
        replace(
            each,
            groups=cohort("x", None, {"one": (draw(st.integers(0, 4)), draw(limits), draw(limits))}).groups
            if each.parent
            else (),
            weight=draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])),
        )
        for each in cohorts
    ]
    queues = []
    for number in range(draw(st.integers(1, 5))):
        amounts = {}
        for flavor in FLAVORS:
            nominal = draw(st.integers(0, 6))
            lending = draw(st.one_of(st.none(), st.integers(0, nominal)))
            amounts[flavor] = (nominal, draw(limits), lending)
        where = draw(st.sampled_from([None, "root", "left", "right", "deep"]))
        if where is None:
            amounts = {flavor: (of[0], None, None) for flavor, of in amounts.items()}
        strategy: Any = draw(st.sampled_from(["StrictFIFO", "BestEffortFIFO"]))
        queues.append(
            queue(
                f"q{number}",
                amounts,
                where,
                strategy=strategy,
                preemption=draw(policies()),
                weight=draw(st.sampled_from([0.0, 1.0, 2.0])),
            )
        )
    return queues, cohorts


@st.composite
def pending(draw: st.DrawFn, queues: list[ClusterQueueSpec], most: int = 12) -> list[WorkloadInfo]:
    return [
        workload(
            f"w{number}",
            draw(st.sampled_from(queues)).name,
            draw(st.integers(1, 6)),
            draw(st.integers(0, 3)),
            float(draw(st.integers(0, 9))),
        )
        for number in range(draw(st.integers(0, most)))
    ]


def make(
    world: tuple[list[ClusterQueueSpec], list[CohortSpec]], holders: list[AdmittedWorkload] | None = None
) -> Snapshot:
    return Snapshot(world[0], world[1], [FlavorSpec(each) for each in FLAVORS], holders or (), {"ns": {}})


def nodes(on: Snapshot) -> list[QuotaNode]:
    return [*on.queues.values(), *on.cohorts.values()]


def state(on: Snapshot) -> dict[str, tuple[object, ...]]:
    return {
        f"{type(each).__name__} {each.name}": (each.usage, each.subtree, each.local, each.height) for each in nodes(on)
    }


def check_limits(on: Snapshot) -> None:
    """No quota is exceeded: in no node more is used than is its own and borrowed within its limit."""
    for node in nodes(on):
        for each, used in node.usage.items():
            if node.parent is None:
                assert used <= node.subtree.get(each, 0)
            limit = node.quotas[each].borrowing_limit if each in node.quotas else None
            if node.parent is not None and limit is not None:
                assert used <= node.subtree[each] + limit


@settings(max_examples=60)
@given(st.data(), worlds(), configs)
def test_quota_is_never_exceeded_and_limits_hold_in_every_tree(
    data: st.DataObject, world: tuple[list[ClusterQueueSpec], list[CohortSpec]], config: Config
) -> None:
    scheduler = Scheduler(make(world), config)
    for each in data.draw(pending(world[0])):
        scheduler.push(each, 0.0)
    for decisions in scheduler.settle(0.0):
        for preemption in decisions.preemptions:
            scheduler.release(preemption.target.key)
        check_limits(scheduler.snapshot)


@settings(max_examples=60)
@given(st.data(), worlds(), configs)
def test_an_incremental_snapshot_equals_one_built_anew(
    data: st.DataObject, world: tuple[list[ClusterQueueSpec], list[CohortSpec]], config: Config
) -> None:
    on = make(world)
    for number in range(data.draw(st.integers(0, 30))):
        name = data.draw(st.sampled_from(world[0])).name
        flavor = data.draw(st.sampled_from(FLAVORS))
        key = f"h{data.draw(st.integers(0, 8))}"
        if data.draw(st.booleans()):
            on.hold(holder(key, name, data.draw(st.integers(0, 5)), number % 3, flavor=flavor))
        else:
            on.release(f"ns/{key}")
    schedule(on, [Head(each) for each in data.draw(pending(world[0], 1))], 0.0, config)
    assert state(on) == state(make(world, [*on.holders()]))
    for each, other in zip(on.queues.values(), make(world, [*on.holders()]).queues.values(), strict=True):
        assert each.by_priority == other.by_priority


@settings(max_examples=50)
@given(st.data(), worlds(), configs)
def test_changes_of_queues_and_cohorts_leave_what_building_anew_would(
    data: st.DataObject, world: tuple[list[ClusterQueueSpec], list[CohortSpec]], config: Config
) -> None:
    queues, cohorts = {each.name: each for each in world[0]}, {each.name: each for each in world[1]}
    on = make(world)
    on.hold(holder("h", "q0", 3, flavor="one"))
    for _ in range(data.draw(st.integers(0, 6))):
        name = data.draw(st.sampled_from(["q0", "q1", "q2"]))
        where = data.draw(st.sampled_from([None, "root", "left", "deep"]))
        match data.draw(st.sampled_from(["queue", "no queue", "cohort", "no cohort"])):
            case "queue":
                queues[name] = queue(name, {"one": data.draw(st.integers(0, 5))}, where)
                on.set_queue(queues[name])
            case "no queue":
                queues.pop(name, None)
                on.remove_queue(name)
            case "cohort":
                cohorts["left"] = cohort("left", data.draw(st.sampled_from([None, "root", "deep"])))
                on.set_cohort(cohorts["left"])
            case _:
                cohorts.pop("right", None)
                on.remove_cohort("right")
    anew = make(([*queues.values()], [*cohorts.values()]), [holder("h", "q0", 3, flavor="one")])
    assert state(on) == state(anew)
    assert {each.name: each.active for each in on.queues.values()} == {
        each.name: each.active for each in anew.queues.values()
    }


@settings(max_examples=50)
@given(st.data(), worlds(), configs)
def test_the_same_input_gives_the_same_answer_in_whatever_order_it_comes(
    data: st.DataObject, world: tuple[list[ClusterQueueSpec], list[CohortSpec]], config: Config
) -> None:
    running = [
        holder(f"h{number}", data.draw(st.sampled_from(world[0])).name, 1, number % 3, float(number), flavor="one")
        for number in range(data.draw(st.integers(0, 8)))
    ]
    heads = {each.cluster_queue: Head(each) for each in data.draw(pending(world[0]))}
    first = schedule(make(world, running), [*heads.values()], 50.0, config)
    turned = schedule(make(world, running[::-1]), [*heads.values()][::-1], 50.0, config)
    assert {each.workload.uid: each.admission for each in first.reservations} == {
        each.workload.uid: each.admission for each in turned.reservations
    }
    assert {each.target.uid for each in first.preemptions} == {each.target.uid for each in turned.preemptions}


@settings(max_examples=60)
@given(st.data(), worlds(), configs)
def test_nobody_is_preempted_without_need(
    data: st.DataObject, world: tuple[list[ClusterQueueSpec], list[CohortSpec]], config: Config
) -> None:
    """A head that preempts does not fit without it; with any one of its victims left it does not fit either."""
    scheduler = Scheduler(make(world), config)
    for each in data.draw(pending(world[0])):
        scheduler.push(each, 0.0)
    for _ in scheduler.settle(0.0):
        pass
    on = make(world, [replace(each, evicted=False) for each in scheduler.snapshot.holders()])
    head = workload("head", data.draw(st.sampled_from(world[0])).name, data.draw(st.integers(1, 8)), 2, -1.0)
    decisions = schedule(on, [Head(head)], 0.0, config)
    victims = [each.target for each in decisions.preemptions]
    if not victims:
        return
    usage = decisions.requeues[0].assignment
    assert usage is not None
    for spared in [None, *victims]:
        left = make(world, [one for one in on.holders() if one not in victims or one == spared])
        node = left.queues[head.cluster_queue]
        fits = all(amount <= node.available(each) for each, amount in usage.usage.items())
        assert fits == (spared is None) or (spared is not None and not _needed_for_nominal(node, usage.usage))


def _needed_for_nominal(node: Any, usage: Any) -> bool:
    """Whether the queue would not have to borrow: classic reclaim may have freed its own quota."""
    return all(node.usage.get(each, 0) + amount <= node.nominal(each) for each, amount in usage.items())


@pytest.mark.parametrize("size", [3, 4])
def test_under_strict_fifo_a_large_workload_is_not_overtaken_for_ever(size: int) -> None:
    """Small ones keep coming, one as soon as one ends; the large one starts after those before it have ended."""
    scheduler = Scheduler(make(([queue("q", {"one": 4}, strategy="StrictFIFO")], [])))
    scheduler.push(workload("large", "q", size, at=2.5), 0.0)
    running: list[str] = []
    for tick in range(20):
        scheduler.push(workload(f"small{tick}", "q", 1, at=float(tick)), 0.0)
        for decisions in scheduler.settle(float(tick)):
            running += [each.workload.uid for each in decisions.reservations]
        if "large" in running:
            break
        scheduler.release(f"ns/{running.pop(0)}") if running else None
    assert "large" in running
