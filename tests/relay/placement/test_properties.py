"""What holds for every placement, whatever the workers, the workload and the policy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from jobrelay.apimachinery.selectors import parse_label_selector
from jobrelay.relay.model import Capacity, NodeFacts, State, WorkerFacts
from jobrelay.relay.placement import Placement, PlacementPolicy, PlacementRequest, Placer, parse_policy
from jobrelay.relay.placement.fit import FitCache, WorkerFit
from jobrelay.workloads import PodSet, WorkloadDemand

from .making import amounts, demand, node, pods, waits_for_room, worker

NAMES = ("a", "b", "c", "d")
TAINT = {"key": "k", "effect": "NoSchedule"}
NODES = st.builds(
    node,
    st.sampled_from(["n1", "n2", "n3"]),
    cpu=st.integers(0, 8),
    used=st.integers(0, 8),
    labels=st.sampled_from([{}, {"disk": "ssd"}]),
    taints=st.sampled_from([(), (TAINT,)]),
    schedulable=st.booleans(),
)
CAPACITIES = st.builds(
    Capacity,
    st.just(1),
    st.lists(NODES, max_size=3, unique_by=lambda one: one.name).map(tuple),
    st.sampled_from(["", "", "unreadable"]),
)
FACTS = {
    "connected": st.sampled_from([True, True, True, False]),
    "state": st.sampled_from([State.OPEN, State.OPEN, State.CORDONED]),
    "labels": st.sampled_from([{}, {"zone": "x"}]),
    "cost": st.integers(0, 3).map(Fraction),
    "weight": st.integers(0, 3).map(Fraction),
    "capacity": CAPACITIES,
    "live": st.integers(0, 5),
    "reserved": st.builds(lambda cpu, count: amounts(cpu=cpu, pods=count), st.integers(0, 4), st.integers(0, 4)),
    "pending": st.integers(0, 2),
    "stale": st.sampled_from([0, 0, 1]),
}
WORKERS = st.lists(st.builds(worker, st.sampled_from(NAMES), **FACTS), max_size=4, unique_by=lambda one: one.name)
SETS = st.builds(
    pods,
    st.integers(0, 12),
    st.integers(0, 5),
    selector=st.sampled_from([{}, {}, {"disk": "ssd"}]),
    tolerations=st.sampled_from([(), ({"operator": "Exists"},)]),
)
DEMANDS = st.lists(SETS, min_size=1, max_size=2).map(lambda sets: demand(*sets))
REQUESTS = st.builds(
    PlacementRequest,
    pinned=st.sampled_from([(), (), ("a",), ("b", "c")]),
    preferred=st.sampled_from([(), ("c", "a")]),
    selector=st.sampled_from(["", "zone=x"]).map(parse_label_selector),
    previous=st.sampled_from([None, *NAMES]),
    excluded=st.sampled_from([{}, {"a": "refused"}]),
    seed=st.text(max_size=3),
)
POLICIES = st.sampled_from(["", "overflow", "spread", "ordered", "cost*2,pack", "weights,pending"]).map(parse_policy)


def place(
    demand: WorkloadDemand, request: PlacementRequest, workers: list[WorkerFacts], policy: PlacementPolicy
) -> Placement:
    return Placer().place(demand, request, workers, policy)


def fit(demand: WorkloadDemand, capacity: Capacity, cache: FitCache | None = None) -> WorkerFit | None:
    cache = cache or FitCache()
    return cache.fit(cache.requirements(demand), worker("w", capacity=capacity))


@given(DEMANDS, REQUESTS, WORKERS, POLICIES)
def test_who_is_chosen_is_allowed(
    wanted: WorkloadDemand, request: PlacementRequest, workers: list[WorkerFacts], policy: PlacementPolicy
) -> None:
    found = place(wanted, request, workers, policy)
    allowed = [verdict.worker for verdict in found.verdicts if verdict.ok]
    assert found.chosen in allowed if allowed else found.chosen is None
    if found.chosen is not None:
        (chosen,) = [one for one in workers if one.name == found.chosen]
        assert chosen.connected
        assert chosen.state is State.OPEN
        assert not chosen.stale
        assert chosen.name not in request.excluded
        assert not request.pinned or chosen.name in request.pinned
        assert request.selector.matches(chosen.labels)


@given(DEMANDS, REQUESTS, WORKERS, POLICIES)
def test_everything_is_explained(
    wanted: WorkloadDemand, request: PlacementRequest, workers: list[WorkerFacts], policy: PlacementPolicy
) -> None:
    found = place(wanted, request, workers, policy)
    assert found.sentence.endswith(".")
    assert [verdict.worker for verdict in found.verdicts] == [one.name for one in workers]
    for verdict in found.verdicts:
        assert verdict.sentence
        assert bool(verdict.would_change) is (verdict.worker != found.chosen)
        assert (verdict.score is not None) is verdict.ok


@given(DEMANDS, REQUESTS, WORKERS, POLICIES)
def test_the_same_question_has_the_same_answer(
    wanted: WorkloadDemand, request: PlacementRequest, workers: list[WorkerFacts], policy: PlacementPolicy
) -> None:
    again = [structs.replace(one, capacity=replace(one.capacity)) for one in workers]
    first, second = place(wanted, request, workers, policy), place(wanted, request, again, policy)
    assert (first, first.verdicts, first.sentence) == (second, second.verdicts, second.sentence)


@given(DEMANDS, WORKERS, POLICIES)
def test_unknown_room_is_never_refused(
    wanted: WorkloadDemand, workers: list[WorkerFacts], policy: PlacementPolicy
) -> None:
    found = place(wanted, PlacementRequest(), workers, policy)
    for one, verdict in zip(workers, found.verdicts, strict=True):
        if one.connected and one.state is State.OPEN and not one.stale:
            assert verdict.ok or one.capacity.nodes


@given(DEMANDS, st.lists(CAPACITIES, max_size=5))
def test_counting_what_changed_is_counting_all(wanted: WorkloadDemand, capacities: list[Capacity]) -> None:
    cache = FitCache()
    for capacity in capacities:
        assert fit(wanted, capacity, cache) == fit(wanted, capacity)


def _with_more(capacity: Capacity, cpu: int) -> Capacity:
    """The same nodes, the first of them with more cpu."""
    first, *others = capacity.nodes
    larger = replace(first, allocatable={**first.allocatable, "cpu": first.allocatable["cpu"] + cpu})
    return Capacity(2, (larger, *others))


@given(SETS, st.lists(NODES, min_size=1, unique_by=lambda one: one.name), st.integers(1, 8))
def test_more_room_never_holds_fewer_pods(wanted: PodSet, nodes: list[NodeFacts], cpu: int) -> None:
    capacity = Capacity(1, tuple(nodes))
    before, after = fit(demand(wanted), capacity), fit(demand(wanted), _with_more(capacity, cpu))
    assert before is not None
    assert after is not None
    assert (after.now >= before.now, after.empty >= before.empty) == (True, True)


SHARES = st.integers(0, 8).flatmap(lambda cpu: st.tuples(st.just(cpu), st.integers(0, cpu)))


@given(
    st.integers(1, 9), st.integers(0, 4), st.lists(SHARES, min_size=1, max_size=3), st.integers(1, 8), FACTS["reserved"]
)
def test_more_room_never_makes_a_worker_worse(
    count: int, each: int, nodes: list[tuple[int, int]], cpu: int, reserved: dict[str, Fraction]
) -> None:
    capacity = Capacity(1, tuple(node(f"n{i}", cpu=has, used=used) for i, (has, used) in enumerate(nodes)))
    wanted = demand(pods(count, each))
    before, after = fit(wanted, capacity), fit(wanted, _with_more(capacity, cpu))
    assert before is not None
    assert after is not None
    (room, load), (more_room, less_load) = before.after(reserved), after.after(reserved)
    assert (more_room >= room, less_load <= load) == (True, True)


def _emptied(one: WorkerFacts) -> WorkerFacts:
    nodes = tuple(replace(each, used={}, schedulable=True) for each in one.capacity.nodes)
    return structs.replace(one, reserved={}, capacity=replace(one.capacity, nodes=nodes))


@given(SETS, WORKERS)
def test_it_waits_only_for_room_that_could_come(wanted: PodSet, workers: list[WorkerFacts]) -> None:
    found = place(demand(wanted), PlacementRequest(), workers, parse_policy(""))
    emptied = place(demand(wanted), PlacementRequest(), [_emptied(one) for one in workers], parse_policy(""))
    assert not waits_for_room(found) or emptied.chosen is not None
