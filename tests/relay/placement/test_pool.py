"""A pool that is kept and updated worker by worker chooses as a placement from the beginning does."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jobrelay.relay.model import WorkerFacts
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
    changes: list[tuple[int, object, str]],
    policy: PlacementPolicy,
) -> None:
    placer, workers = Placer(), list(fleet)
    pool = placer.pool(wanted, request)
    for position, one in enumerate(workers):
        pool.update(position, one)
    for position, capacity, seed in changes:
        workers[position] = replace(workers[position], capacity=capacity)
        pool.update(position, workers[position])
        asked = replace(request, seed=seed)
        kept, fresh = placer.choose(pool, wanted, asked, policy), Placer().place(wanted, asked, workers, policy)
        assert (kept, kept.verdicts, kept.sentence) == (fresh, fresh.verdicts, fresh.sentence)


def test_what_a_placement_said_stays_true_when_its_pool_changes() -> None:
    placer, wanted = Placer(), demand(pods())
    pool = placer.pool(wanted, PlacementRequest())
    pool.update(0, worker("a", node(cpu=4)))
    before = placer.choose(pool, wanted, PlacementRequest(), placer.parse(""))
    pool.update(0, worker("a", node(cpu=4, used=4)))
    assert before.sentence.startswith("Goes to a")
    assert placer.choose(pool, wanted, PlacementRequest(), placer.parse("")).chosen is None
