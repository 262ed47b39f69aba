"""What the relay does with workloads that are evicted: the end of a run is written on the original."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from jobrelay.kube import Object
from jobrelay.relay.admission import NotAdmitted, has_runs
from jobrelay.relay.original_decision import CommitAssignment, Stage
from jobrelay.relay.reconcile_mirror import DeleteMirror, reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.runs import RunHistory
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.worker_assignment import Run, WorkerAssignment
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.snapshots import complete, job, mirror, running, snapshot, worker

WAITS = NotAdmitted("It waits in LocalQueue main.", taken_back=True)


def waiting_job(*held: Run) -> Object:
    """A Job that was evicted after its run 2 on a."""
    to = WorkerAssignment("a", 3, held=held, waiting=True)
    return job(annotations={ASSIGNMENT: to.encode()})


def not_admitted(original: Object, *mirrors: Object, **more: Any) -> WorkloadSnapshot:
    found = snapshot(original, [worker("a"), worker("b")], dict(zip("a", mirrors, strict=False)), **more)
    return replace(found, admission=WAITS)


def test_a_workload_that_is_not_admitted_is_not_placed() -> None:
    decision = reconcile_original(not_admitted(job()))
    assert (decision.stage, decision.sentence, decision.action) == (Stage.ADMISSION, WAITS.sentence, None)


def test_one_that_is_not_admitted_any_more_gives_up_its_run() -> None:
    runs = RunHistory()
    runs.creation_sent(Run("a", 2))
    found = not_admitted(job(cluster="a", epoch=2, status=running()), mirror(epoch=2, status=running()), runs=runs)
    action = reconcile_original(found).action
    assert isinstance(action, CommitAssignment)
    new = action.assignment
    assert (new.cluster, new.epoch, new.waiting, new.held) == ("a", 3, True, (Run("a", 2),))


def test_the_mirror_of_a_run_that_was_given_up_is_removed() -> None:
    found = not_admitted(waiting_job(Run("a", 2)), mirror(epoch=2, status=running()))
    assert isinstance(reconcile_mirror(found, "a", "train").action, DeleteMirror)
    assert reconcile_original(found).action is None


def test_nothing_is_created_for_one_that_waits() -> None:
    assert reconcile_mirror(not_admitted(waiting_job()), "a", "train").action is None
    assert reconcile_mirror(not_admitted(job(cluster="a")), "a", "train").action is None


def test_when_the_last_run_is_gone_that_is_written_on_the_original() -> None:
    runs = RunHistory()
    runs.proved_gone(Run("a", 2))
    original = waiting_job(Run("a", 2))
    assert has_runs(original)
    action = reconcile_original(not_admitted(original, runs=runs)).action
    assert isinstance(action, CommitAssignment)
    assert (action.assignment.held, action.assignment.waiting, action.starts) == ((), True, False)
    assert not has_runs(waiting_job())


def test_admitted_again_it_is_placed_anew() -> None:
    decision = reconcile_original(snapshot(waiting_job(), [worker("a"), worker("b")]))
    assert isinstance(decision.action, CommitAssignment)
    assert (decision.action.assignment.epoch, decision.action.assignment.waiting) == (4, False)


def test_the_end_of_a_run_is_returned_even_if_it_is_not_admitted_any_more() -> None:
    found = not_admitted(job(cluster="a", epoch=2), mirror(epoch=2, status=complete()))
    assert reconcile_original(found).stage is Stage.RUNNING
