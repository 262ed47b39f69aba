"""A pool that is kept and updated worker by worker chooses as a placement from the beginning does."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jobrelay.relay.model import Capacity, WorkerFacts
from jobrelay.relay.placement import PlacementPolicy, PlacementRequest, Placer
from jobrelay.workloads import WorkloadDemand

from .making import demand, node, pods, worker
from .test_properties import CAPACITIES, DEMANDS, FACTS, NAMES, POLICIES, REQUESTS

FLEETS = st.tuples(*(st.builds(worker, st.just(name), **FACTS) for name in NAMES))
CHANGES = st.lists(st.tuples(st.integers(0, len(NAMES) - 1), CAPACITIES, st.text(max_size=3)), max_size=5)


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
        workers[position] = replace(workers[position], capacity=capacity)
        pool.update(position, workers[position])
        asked = replace(request, seed=seed)
        assert placer.choose(pool, wanted, asked, policy) == Placer().place(wanted, asked, workers, policy).chosen


def test_a_pool_of_scores_that_depend_on_other_workers_keeps_no_sums() -> None:
    placer, wanted = Placer(), demand(pods())
    for text, kept in (("least-loaded,pending", {0}), ("cost", set()), ("least-loaded,spread", set())):
        pool = placer.pool(wanted, PlacementRequest(), placer.parse(text))
        pool.update(0, worker("a", node(cpu=4)))
        assert set(pool.totals) == kept


def test_a_worker_that_is_full_leaves_a_kept_pool() -> None:
    placer, wanted = Placer(), demand(pods())
    policy = placer.parse("")
    pool = placer.pool(wanted, PlacementRequest(), policy)
    pool.update(0, worker("a", node(cpu=4)))
    assert placer.choose(pool, wanted, PlacementRequest(), policy) == "a"
    pool.update(0, worker("a", node(cpu=4, used=4)))
    assert placer.choose(pool, wanted, PlacementRequest(), policy) is None
