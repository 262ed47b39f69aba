"""A pool that is kept and updated worker by worker chooses as a placement from the beginning does."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from jobrelay.relay.model import Capacity, WorkerFacts
from jobrelay.relay.placement import PlacementPolicy, PlacementRequest, Placer
from jobrelay.workloads import WorkloadDemand

from .making import demand, node, pods, worker
from .test_properties import CAPACITIES, DEMANDS, FACTS, NAMES, POLICIES, REQUESTS

PLAIN = st.builds(node, st.sampled_from(["n1", "n2"]), cpu=st.integers(1, 8), used=st.integers(0, 8))
PLAIN_CAPACITIES = st.builds(
    Capacity, st.just(1), st.lists(PLAIN, min_size=1, max_size=2, unique_by=lambda one: one.name).map(tuple)
)
ANY = FACTS | {
    "capacity": st.one_of(PLAIN_CAPACITIES, CAPACITIES),
    "reserved": st.one_of(st.just({}), st.just({}), FACTS["reserved"]),
}
FLEETS = st.tuples(*(st.builds(worker, st.just(name), **ANY) for name in NAMES))
CHANGES = st.lists(
    st.tuples(st.integers(0, len(NAMES) - 1), st.one_of(PLAIN_CAPACITIES, CAPACITIES), st.text(max_size=3)), max_size=8
)


@settings(max_examples=150)
@given(DEMANDS, REQUESTS, FLEETS, CHANGES, POLICIES)
def test_a_kept_pool_answers_as_a_fresh_one(
    wanted: WorkloadDemand,
    request: PlacementRequest,
    fleet: tuple[WorkerFacts, ...],
    changes: list[tuple[int, Capacity, str]],
    policy: PlacementPolicy,
) -> None:
    placer, workers = Placer(), list(fleet)
    pool = placer.pool(wanted, request, policy)
    for position, one in enumerate(workers):
        pool.update(position, one)
    for position, capacity, seed in changes:
        workers[position] = structs.replace(workers[position], capacity=capacity)
        pool.update(position, workers[position])
        if seed == "":
            continue  # several workers change before the next choice
        asked = replace(request, seed=seed)
        assert placer.choose(pool, wanted, asked, policy) == Placer().place(wanted, asked, workers, policy).chosen


def test_only_pools_of_independent_scores_know_the_best() -> None:
    placer, wanted = Placer(), demand(pods())
    for text, count in (("least-loaded,pending", 1), ("cost", 0), ("least-loaded,spread", 0)):
        pool = placer.pool(wanted, PlacementRequest(), placer.parse(text))
        pool.update(0, worker("a", node(cpu=4)))
        assert len(pool.best()) == count


def test_a_worker_whose_free_resources_are_in_pieces_is_not_chosen() -> None:
    placer, wanted = Placer(), demand(pods(1, 3))
    policy = placer.parse("")
    pool = placer.pool(wanted, PlacementRequest(), policy)
    for position, name in enumerate("ab"):
        pool.update(position, worker(name, node("n1"), node("n2")))
    pool.update(0, worker("a", node("n1", used=2), node("n2", used=2)))
    pool.update(1, worker("b", node("n1", used=1), node("n2", used=4)))
    assert placer.choose(pool, wanted, PlacementRequest(), policy) == "b"


def test_a_worker_that_is_full_leaves_a_kept_pool() -> None:
    placer, wanted = Placer(), demand(pods())
    policy = placer.parse("")
    pool = placer.pool(wanted, PlacementRequest(), policy)
    pool.update(0, worker("a", node(cpu=4)))
    assert placer.choose(pool, wanted, PlacementRequest(), policy) == "a"
    pool.update(0, worker("a", node(cpu=4, used=4)))
    assert placer.choose(pool, wanted, PlacementRequest(), policy) is None
