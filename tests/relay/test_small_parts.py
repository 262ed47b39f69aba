"""Parts of the relay that stand alone: the load, the waiting room, the epoch."""

from __future__ import annotations

from fractions import Fraction

import pytest

from jobrelay.kube.objects import Key
from jobrelay.relay.health import frozen
from jobrelay.relay.model import State
from jobrelay.relay.worker_assignment import WorkerAssignment, assignment_of
from jobrelay.relay.worker_load import WorkerLoad
from jobrelay.relay.workload_kind import mirror_name
from jobrelay.workloads import PodSet, WorkloadDemand
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.snapshots import ago, job, worker

TWO_PODS = WorkloadDemand((PodSet(2, {"cpu": Fraction(3, 2)}, {}),), "shape")


def test_an_assignment_reads_as_it_was_written() -> None:
    written = WorkerAssignment("a", 3, "2026-01-01T00:00:00Z", "b")
    assert assignment_of(job(annotations={ASSIGNMENT: written.encode()})) == written


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cluster":"a"}', '{"cluster":"a","epoch":0}', '{"cluster":"","epoch":1}']
)
def test_what_is_no_assignment_is_none(text: str) -> None:
    assert assignment_of(job(annotations={ASSIGNMENT: text})) is None


def test_work_is_reserved_until_it_has_started_and_live_until_it_is_forgotten() -> None:
    load = WorkerLoad()
    load.assign("u", "a", TWO_PODS, started=False)
    assert (load.live("a"), load.reserved("a")) == (1, {"pods": 2, "cpu": 3})
    load.release("u")
    assert (load.live("a"), load.reserved("a")) == (1, {})
    load.forget("u")
    assert load.live("a") == 0


def test_what_is_reserved_is_released_pod_by_pod() -> None:
    load = WorkerLoad()
    load.assign("u", "a", TWO_PODS, started=False)
    load.assign("v", "a", TWO_PODS, started=False)
    load.release_pod("u", {"pods": Fraction(1), "cpu": Fraction(3, 2)})
    assert load.reserved("a") == {"pods": 3, "cpu": Fraction(9, 2)}
    load.release_pod("u", {"pods": Fraction(1), "cpu": Fraction(9)})
    load.release_pod("gone", {"pods": Fraction(1)})
    assert load.reserved("a") == {"pods": 2, "cpu": 3}


def test_work_that_is_assigned_anew_moves() -> None:
    load = WorkerLoad()
    load.assign("u", "a", TWO_PODS, started=False)
    load.assign("u", "b", TWO_PODS, started=False)
    assert (load.live("a"), load.reserved("a"), load.live("b")) == (0, {}, 1)


def test_most_workers_lost_at_once_freeze_and_a_single_one_does_not() -> None:
    up, down, also_down = worker("a"), worker("b", lost=100), worker("c", lost=90)
    assert frozen([up, down, also_down], 60)
    assert not frozen([up, down, worker("c", lost=500)], 60)
    assert not frozen([up, down], 60)
    assert not frozen([down], 60)


def test_a_freeze_lasts_until_the_other_workers_had_time_to_return_too() -> None:
    returned, still_down = worker("a", returned_from=ago(100)), worker("b", lost=95)
    assert frozen([returned, still_down], 60)
    assert not frozen([worker("a", returned_from=ago(500)), still_down], 60)


def test_workers_that_are_declared_lost_do_not_freeze() -> None:
    declared = [worker(name, lost=100, state=State.LOST) for name in "bc"]
    assert not frozen([worker("a"), *declared], 60)


def test_a_mirror_has_the_name_of_its_original_except_at_home() -> None:
    assert mirror_name(Key("team", "train"), own_cluster=False) == "train"
    at_home = mirror_name(Key("team", "t" * 63), own_cluster=True)
    assert len(at_home) == 63
    assert "-relay-" in at_home
    assert at_home != mirror_name(Key("other", "t" * 63), own_cluster=True)
