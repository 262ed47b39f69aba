"""What becomes of traces: waiting, use, moves, fairness. Times are in seconds, nodes have four CPUs."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from jobrelay.planning import SyntheticTrace, parse_synthetic, run_plan
from jobrelay.planning.measures import jain
from jobrelay.relay.claims import PATIENCE
from jobrelay.relay.model import WorkerFacts
from jobrelay.relay.placement import PlacementRequest, PolicyError, Rejection
from jobrelay.workloads import WorkloadDemand

from .making import NODE, fleet, plan

RETRY = 0.1
"""The pause of the relay before it tries Jobs that wait again."""


def test_a_job_with_room_starts_at_once() -> None:
    found = plan(fleet("a"), "5,60,4,1")
    assert (found.jobs, found.unfinished, found.waits, found.makespan) == (1, 0, [0], 65)


def test_a_job_without_room_waits_for_the_end_of_another() -> None:
    found = plan(fleet("a"), "0,60,3,1", "10,60,2,1")
    assert found.waits == pytest.approx([0, 50 + RETRY])
    assert found.makespan == pytest.approx(120 + RETRY)


def test_jobs_of_one_shape_start_in_the_order_of_their_creation() -> None:
    found = plan(fleet("a"), "0,100,4,1", "1,10,4,1", "2,10,4,1")
    assert found.waits == pytest.approx([0, 99 + RETRY, 108 + 2 * RETRY])


def test_pods_beyond_the_parallelism_follow_when_others_have_ended() -> None:
    found = plan(fleet("a"), "0,10,1,2,5", head="submit,duration,cpu,pods,completions")
    assert (found.makespan, found.slowdown) == (30, 1)


def test_a_job_larger_than_every_worker_goes_where_most_of_it_fits() -> None:
    found = plan(fleet("a"), "0,10,1,6")
    assert (found.unfinished, found.makespan) == (0, 20)


def test_with_overflow_pods_wait_on_their_worker() -> None:
    waiting, overflowing = (plan(fleet("a"), "0,60,4,1", "1,10,4,1", policy=policy) for policy in ("", "overflow"))
    assert waiting.waits == pytest.approx([0, 59 + RETRY])
    assert overflowing.waits == [0, 59]


def test_policies_lead_to_different_workers() -> None:
    loads = {}
    for policy in ("spread", "ordered"):
        found = plan(fleet("a", "b"), "0,10,1,1", "1,10,1,1", policy=policy)
        loads[policy] = [round(sum(found.workers[name]), 3) for name in ("a", "b")]
    assert loads["spread"][0] == loads["spread"][1] > 0
    assert loads["ordered"][0] > loads["ordered"][1] == 0


def test_a_pinned_job_goes_where_it_must_and_waits_forever_if_nobody_is_there() -> None:
    found = plan(fleet("a", "b"), "0,10,b", "0,10,gone", head="submit,duration,clusters")
    assert (found.unfinished, sum(found.workers["a"])) == (1, 0)
    assert "no worker of this name is registered" in found.why


def test_use_is_the_used_share_over_the_makespan() -> None:
    found = plan(fleet("a", "b"), "0,10,4,1", "0,20,2,1")
    assert found.use["cpu"] == pytest.approx((4 * 10 + 2 * 20) / (8 * 20))
    assert sum(map(sum, found.workers.values())) / len(found.workers["a"]) == pytest.approx(2 * found.use["cpu"])


def test_a_job_of_a_lost_worker_starts_elsewhere_after_the_timeout() -> None:
    outages = [{"worker": "a", "from": 10, "to": 1000}]
    found = plan(fleet("a", "b", "c", outages=outages), "0,100,4,1", policy="ordered", lost_timeout=50)
    assert (found.moves, found.makespan) == (1, 160)
    assert found.repeated == 0


def test_a_worker_that_returns_in_time_keeps_its_jobs() -> None:
    outages = [{"worker": "a", "from": 10, "to": 30}]
    found = plan(fleet("a", "b", outages=outages), "0,100,4,1", policy="ordered", lost_timeout=50)
    assert (found.moves, found.makespan) == (0, 100)


def test_the_end_of_a_job_on_a_lost_worker_is_known_when_it_returns() -> None:
    outages = [{"worker": "a", "from": 10, "to": 300}]
    found = plan(fleet("a", "b", outages=outages), "0,100,4,1", policy="ordered", lost_timeout=900)
    assert (found.moves, found.makespan) == (0, 300)


def test_an_outage_may_stop_pods_which_begin_anew() -> None:
    outages = [{"worker": "a", "from": 10, "to": 30, "stops": True}]
    found = plan(fleet("a", outages=outages), "0,100,4,1")
    assert (found.moves, found.makespan) == (0, 130)
    assert found.repeated == pytest.approx(4 * 10 / 3600)


def test_a_run_that_moved_away_is_stopped_when_its_worker_returns() -> None:
    outages = [{"worker": "a", "from": 10, "to": 90}]
    lines = ("0,500,4,1", "91,10,4,1", "91,10,4,1")
    found = plan(fleet("a", "b", "c", outages=outages), *lines, policy="ordered", lost_timeout=50)
    assert (found.moves, found.waits) == (1, [0, 0, 0])
    assert found.repeated == pytest.approx(4 * 90 / 3600)


def test_nothing_moves_when_most_workers_are_lost_at_once() -> None:
    outages = [{"worker": name, "from": 10, "to": 200} for name in ("a", "b")]
    found = plan(fleet("a", "b", "c", outages=outages), "0,500,4,1", policy="ordered", lost_timeout=50)
    assert (found.moves, found.makespan) == (0, 500)


def test_jobs_move_when_no_longer_most_workers_are_lost() -> None:
    outages = [{"worker": "a", "from": 10, "to": 1000}, {"worker": "b", "from": 10, "to": 100}]
    found = plan(fleet("a", "b", "c", outages=outages), "0,500,4,1", policy="ordered", lost_timeout=50)
    assert (found.moves, found.makespan) == (1, 100 + 15 + 500)


def test_a_drained_worker_is_emptied_where_there_is_room() -> None:
    drains = [{"worker": "a", "from": 10, "to": 500}]
    found = plan(fleet("a", "b", drains=drains), "0,100,4,1", "0,50,4,1", policy="ordered")
    assert (found.moves, found.makespan) == (0, 100)
    found = plan(fleet("a", "b", drains=drains), "0,100,4,1", policy="ordered")
    assert (found.moves, found.makespan) == (1, 110)


def test_fairness_is_one_if_all_namespaces_are_slowed_down_alike() -> None:
    head = "submit,duration,cpu,namespace"
    alike = plan(fleet("a", "b"), "0,60,4,x", "0,60,4,y", head=head)
    favoured = plan(fleet("a"), "0,60,4,x", "0,60,4,y", head=head)
    assert alike.fairness == 1
    assert favoured.fairness == pytest.approx(jain([1, (120 + RETRY) / 60]))
    assert [one.namespace for one in favoured.namespaces] == ["x", "y"]


def test_jains_index_is_one_over_n_if_one_bears_all() -> None:
    assert jain([0, 0, 0, 8]) == 0.25
    assert jain([]) == jain([0, 0]) == 1


def test_the_same_seed_gives_the_same_plan() -> None:
    it = fleet("a", "b", nodes=[NODE | {"count": 4}], outages=[{"worker": "a", "from": 100, "to": 3000}])
    spec = parse_synthetic("jobs=300,load=1.1,seed=3")
    first, second = (run_plan(it, SyntheticTrace(spec, it), "pack") for _ in range(2))
    other = run_plan(it, SyntheticTrace(parse_synthetic("jobs=300,load=1.1,seed=4"), it), "pack")
    assert first == second != other


def test_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(PolicyError, match="did you mean spread"):
        plan(fleet("a"), "0,1,1,1", policy="spred")


def only_b(demand: WorkloadDemand, request: PlacementRequest, worker: WorkerFacts) -> float | Rejection:
    return 1.0 if worker.name == "b" else Rejection("it is not b")


def test_policies_of_other_packages_decide_too(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("only-b", f"{__name__}:only_b", "jobrelay.placement")
    monkeypatch.setattr("jobrelay.relay.placement.plugins.installed", lambda group: [point])
    found = plan(fleet("a", "b"), "0,10,4,1", "0,10,4,1", policy="only-b")
    assert (sum(found.workers["a"]), found.waits) == (0, pytest.approx([0, 10 + RETRY]))


def test_namespaces_that_a_worker_does_not_serve_go_elsewhere() -> None:
    it = fleet("a", "b")
    restricted = replace(it, workers=(replace(it.workers[0], namespaces=("x",)), it.workers[1]))
    found = plan(restricted, "0,10,1,y", policy="ordered", head="submit,duration,cpu,namespace")
    assert sum(found.workers["a"]) == 0


def test_a_large_job_claims_a_worker_when_it_has_waited_long() -> None:
    small = [f"{50 * number},100,2,1" for number in range(40)]
    found = plan(fleet("a"), *small[:3], "101,10,4,1", *small[3:])
    assert found.unfinished == 0
    assert PATIENCE < found.waits[-1] < PATIENCE + 200


def test_a_claim_moves_on_if_its_worker_is_lost() -> None:
    outages = [{"worker": "a", "from": 650, "to": 9000}]
    small = [f"{number},5000,2,1" for number in range(2)]
    found = plan(fleet("a", outages=outages), *small, "3,10,4,1")
    assert (found.unfinished, found.makespan > 9000) == (0, True)
