"""The gate before placement: what an admission allows, and what happens when it is taken back."""

from __future__ import annotations

from jobrelay.kube import Object
from jobrelay.relay.admission import Admitted, NotAdmitted
from jobrelay.relay.original_decision import CommitAssignment, Stage, WriteStatus
from jobrelay.relay.reconcile_mirror import CreateMirror, DeleteMirror, UpdateMirror, reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.worker_assignment import Run, WorkerAssignment
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.snapshots import complete, job, mirror, running, snapshot, worker

A, B = worker("a"), worker("b")
QUEUED = Admitted(frozenset({"b"}), "r2", while_suspended=True)
WAITS = NotAdmitted("Its quota is not reserved.", taken_back=True)


def assigned(to: WorkerAssignment) -> Object:
    """A Job that Kueue has suspended, with an assignment."""
    return job(suspend=True, annotations={ASSIGNMENT: to.encode()})


def test_only_workers_that_the_admission_names_are_candidates() -> None:
    decision = reconcile_original(snapshot(job(), [A, B], admission=Admitted(frozenset({"b"}), why="mk names b only")))
    assert isinstance(decision.action, CommitAssignment)
    assert decision.action.assignment.cluster == "b"
    refused = reconcile_original(snapshot(job(), [A], admission=Admitted(frozenset({"b"}), why="mk names b only")))
    assert "mk names b only" in refused.sentence


def test_a_workload_that_is_not_admitted_waits_with_the_sentence_of_the_gate() -> None:
    for suspended in (False, True):
        decision = reconcile_original(snapshot(job(suspend=suspended), [A], admission=WAITS))
        assert (decision.stage, decision.sentence, decision.action) == (Stage.ADMISSION, WAITS.sentence, None)


def test_an_assignment_notes_the_admission_under_which_it_was_made() -> None:
    decision = reconcile_original(snapshot(job(suspend=True), [A, B], admission=QUEUED))
    assert isinstance(decision.action, CommitAssignment)
    assert decision.action.assignment.admission == "r2"


def test_the_mirror_of_a_placed_workload_is_created_when_it_is_resumed() -> None:
    held = snapshot(job(cluster="b", admission="r2", suspend=True), [A, B], admission=QUEUED)
    assert reconcile_mirror(held, "b", "train").action is None
    assert reconcile_original(held).stage is Stage.ADMISSION
    resumed = snapshot(job(cluster="b", admission="r2"), [A, B], admission=QUEUED)
    assert isinstance(reconcile_mirror(resumed, "b", "train").action, CreateMirror)


def test_what_a_worker_has_let_in_shows_its_start_and_its_end_when_it_is_resumed() -> None:
    let_in = Admitted(frozenset({"b"}), "r2", while_suspended=True, asked=frozenset({"b"}), chosen="b", prebuilt="w")
    for status in (running(), complete()):
        mirrors = {"b": mirror(cluster="b", status=status)}
        held = snapshot(job(cluster="b", admission="r2", suspend=True), [A, B], mirrors, admission=let_in)
        assert (reconcile_original(held).stage, reconcile_original(held).action) == (Stage.ADMISSION, None)
        resumed = snapshot(job(cluster="b", admission="r2"), [A, B], mirrors, admission=let_in)
        assert isinstance(reconcile_original(resumed).action, WriteStatus)


def test_one_that_was_started_and_is_suspended_shows_that_it_stops() -> None:
    let_in = Admitted(frozenset({"b"}), "r2", while_suspended=True, asked=frozenset({"b"}), chosen="b", prebuilt="w")
    original = job(cluster="b", admission="r2", suspend=True, status=running())
    stopped = {"conditions": [{"type": "Suspended", "status": "True"}]}
    found = snapshot(original, [A, B], {"b": mirror(cluster="b", suspend=True, status=stopped)}, admission=let_in)
    assert isinstance(reconcile_original(found).action, WriteStatus)


def test_a_suspension_is_forwarded_while_the_admission_lasts() -> None:
    evicted = snapshot(
        job(cluster="b", admission="r2", suspend=True), [A, B], {"b": mirror(cluster="b")}, admission=QUEUED
    )
    action = reconcile_mirror(evicted, "b", "train").action
    assert isinstance(action, UpdateMirror)
    assert action.patch["spec"]["suspend"] is True


def test_the_end_of_a_run_is_written_down_and_its_mirror_removed_when_the_admission_is_taken_back() -> None:
    seen = snapshot(job(cluster="b", admission="r1", suspend=True), [A, B], {"b": mirror(cluster="b")}, admission=WAITS)
    action = reconcile_original(seen).action
    assert isinstance(action, CommitAssignment)
    ended = action.assignment
    assert (ended.epoch, ended.waiting, ended.admission) == (2, True, "")
    later = snapshot(assigned(ended), [A, B], {"b": mirror(cluster="b")}, admission=WAITS)
    assert isinstance(reconcile_mirror(later, "b", "train").action, DeleteMirror)
    assert reconcile_mirror(snapshot(assigned(ended), [A, B], admission=QUEUED), "b", "train").action is None


def test_what_runs_goes_on_while_it_is_not_known_whether_it_is_admitted() -> None:
    unread = NotAdmitted("Workloads have not been read yet.")
    seen = snapshot(job(cluster="b"), [A, B], {"b": mirror(cluster="b", status=running())}, admission=unread)
    assert reconcile_mirror(seen, "b", "train").action is None
    assert reconcile_original(seen).stage is Stage.RUNNING


def test_a_workload_that_is_admitted_again_is_a_new_run_that_waits_for_the_end_of_the_earlier_one() -> None:
    original = job(cluster="b", admission="r1", suspend=True)
    seen = snapshot(original, [A, B], {"b": mirror(cluster="b")}, committed=False, admission=QUEUED)
    action = reconcile_original(seen).action
    assert isinstance(action, CommitAssignment)
    assert (action.assignment.epoch, action.assignment.waiting, action.assignment.held) == (2, True, (Run("b", 1),))
    later = snapshot(assigned(action.assignment), [A, B], {"b": mirror(cluster="b")}, committed=False, admission=QUEUED)
    again = reconcile_original(later).action
    assert isinstance(again, CommitAssignment)
    assert (again.assignment.epoch, again.assignment.admission, again.assignment.held) == (3, "r2", (Run("b", 1),))
    assert isinstance(reconcile_mirror(later, "b", "train").action, DeleteMirror)


def test_an_assignment_from_before_there_were_queues_stays_valid() -> None:
    seen = snapshot(job(cluster="b"), [A, B], {"b": mirror(cluster="b", status=running())}, admission=QUEUED)
    assert reconcile_original(seen).stage is Stage.RUNNING
    assert reconcile_mirror(seen, "b", "train").action is None


def test_the_end_of_a_run_is_returned_although_its_admission_was_taken_back_meanwhile() -> None:
    seen = snapshot(
        job(cluster="b", admission="r1"), [A, B], {"b": mirror(cluster="b", status=complete())}, admission=WAITS
    )
    assert isinstance(reconcile_original(seen).action, WriteStatus)
    assert reconcile_mirror(seen, "b", "train").action is None


def test_a_suspended_workload_whose_worker_is_lost_for_good_shows_that_nothing_runs() -> None:
    lost = worker("b", lost=2000)
    original = job(cluster="b", admission="r2", suspend=True, status=running())
    decision = reconcile_original(snapshot(original, [A, worker("c"), lost], admission=QUEUED))
    assert isinstance(decision.action, WriteStatus)
    assert not decision.action.status.get("active")
