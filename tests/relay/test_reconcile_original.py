"""What the relay does next about a Job on the management cluster."""

from __future__ import annotations

from fractions import Fraction

import pytest

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.relay.fencing import LeaseStops
from jobrelay.relay.model import Capacity, NodeFacts, State
from jobrelay.relay.original_decision import CommitAssignment, ProbeWorker, Stage, WriteStatus
from jobrelay.relay.pending import Turn
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.workloads.names import ASSIGNMENT, MULTIKUEUE
from tests.relay.snapshots import ago, complete, failed, job, mirror, refusal, running, snapshot, worker

A, B, C = worker("a"), worker("b"), worker("c")
GONE = "connection refused"


@pytest.mark.parametrize("value", [None, "kubernetes.io/job-controller", "other.io/controller"])
def test_a_job_of_someone_else_is_left_alone(value: str | None) -> None:
    found = reconcile_original(snapshot(job(managed_by=value), [A]))
    assert (found.stage, found.action, found.events) == (Stage.NOT_OURS, None, ())


def test_a_job_of_multikueue_is_ours() -> None:
    assert isinstance(reconcile_original(snapshot(job(managed_by=MULTIKUEUE), [A])).action, CommitAssignment)


def test_a_new_job_is_committed_to_a_worker_with_its_first_epoch() -> None:
    found = reconcile_original(snapshot(job(), [A]))
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.cluster, found.action.assignment.epoch) == ("a", 1)
    assert [tell.reason for tell in found.events] == ["Placed"]


def test_a_worker_that_never_took_such_a_job_is_asked_first() -> None:
    found = reconcile_original(snapshot(job(), [A], accepted=False))
    assert found.action == ProbeWorker("a")


def test_without_workers_a_job_waits_and_says_so() -> None:
    found = reconcile_original(snapshot(job(), []))
    assert (found.stage, found.action) == (Stage.PLACING, None)
    assert "none is registered" in found.sentence


def test_a_suspended_job_says_so_and_is_not_placed() -> None:
    found = reconcile_original(snapshot(job(suspend=True), [A]))
    assert found.stage is Stage.SUSPENDED
    assert isinstance(found.action, WriteStatus)
    assert found.action.status["conditions"][0]["type"] == "Suspended"


def test_a_job_that_is_being_deleted_is_not_placed() -> None:
    assert reconcile_original(snapshot(job(deleting=True), [A])).action is None


def test_a_finished_job_is_never_touched_again() -> None:
    found = reconcile_original(snapshot(job(cluster="a", status=complete()), [A], {"a": mirror(status=running())}))
    assert (found.stage, found.action) == (Stage.FINISHED, None)


def test_a_refusal_before_the_commit_tries_the_next_worker() -> None:
    found = reconcile_original(snapshot(job(), [A, B], refusals={"a": refusal()}))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.cluster == "b"


def test_a_refusal_after_the_commit_moves_the_job_with_a_new_epoch() -> None:
    found = reconcile_original(snapshot(job(cluster="a"), [A, B], refusals={"a": refusal("quota exceeded")}))
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.cluster, found.action.assignment.epoch) == ("b", 2)
    assert "quota exceeded" in found.events[0].note


def test_refused_by_all_a_job_waits_until_one_may_be_asked_again() -> None:
    found = reconcile_original(snapshot(job(), [A, B], refusals={"a": refusal(), "b": refusal()}))
    assert (found.action, found.requeue_after) == (None, 30)


def test_a_status_comes_back() -> None:
    found = reconcile_original(snapshot(job(cluster="a"), [A], {"a": mirror(status=running())}))
    assert isinstance(found.action, WriteStatus)
    assert found.action.status["active"] == 1
    assert [tell.reason for tell in found.events] == ["Started"]


def test_counts_wait_for_more_counts() -> None:
    status = running() | {"ready": 0}
    found = reconcile_original(
        snapshot(job(cluster="a", status=status), [A], {"a": mirror(status=running())}, waited=0.0)
    )
    assert (found.action, found.holds_status, found.requeue_after) == (None, True, 0.25)


def test_an_end_does_not_wait() -> None:
    found = reconcile_original(
        snapshot(job(cluster="a", status=running()), [A], {"a": mirror(status=complete())}, waited=0.0)
    )
    assert isinstance(found.action, WriteStatus)
    assert [tell.reason for tell in found.events] == ["Finished"]


def test_the_same_status_is_not_written_again() -> None:
    found = reconcile_original(snapshot(job(cluster="a", status=running()), [A], {"a": mirror(status=running())}))
    assert (found.stage, found.action) == (Stage.RUNNING, None)


def test_a_lost_assignment_is_found_again_by_its_mirror() -> None:
    found = reconcile_original(snapshot(job(), [A, B], {"b": mirror(epoch=3)}))
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.cluster, found.action.assignment.epoch) == ("b", 3)


def test_an_assignment_that_cannot_be_read_is_found_again_by_its_mirror() -> None:
    found = reconcile_original(snapshot(job(annotations={ASSIGNMENT: "{nonsense"}), [A], {"a": mirror(epoch=2)}))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.epoch == 2


@pytest.mark.parametrize("mirrors", [{}, {"a": mirror(status=running())}], ids=["before", "while"])
def test_an_assignment_without_a_cluster_gets_it_before_and_while_it_runs(mirrors: dict[str, Object]) -> None:
    found = reconcile_original(snapshot(job(cluster="a", epoch=1), [worker("a", identity="c1")], mirrors))
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.uid, found.action.assignment.epoch, found.action.starts) == ("c1", 1, False)


def test_a_worker_that_is_away_keeps_its_jobs_until_the_timeout() -> None:
    found = reconcile_original(snapshot(job(cluster="a", status=running()), [worker("a", lost=100), B, C]))
    assert (found.stage, found.action) == (Stage.WORKER_LOST, None)
    assert found.requeue_after == 800
    assert GONE in found.sentence


def test_a_short_absence_is_not_told() -> None:
    found = reconcile_original(snapshot(job(cluster="a"), [worker("a", lost=4), B, C]))
    assert (found.events, found.requeue_after) == ((), 6)


def test_after_the_timeout_the_job_starts_elsewhere_with_a_new_epoch() -> None:
    found = reconcile_original(snapshot(job(cluster="a", status=running()), [worker("a", lost=901), B, C]))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.cluster in ("b", "c")
    assert (found.action.assignment.epoch, found.action.assignment.previous) == (2, "a")
    assert found.events[0].reason == "Redispatched"


def test_a_worker_that_is_no_longer_registered_counts_as_lost_since_then() -> None:
    early = reconcile_original(snapshot(job(cluster="a"), [B, C], removed={"a": ago(100)}))
    late = reconcile_original(snapshot(job(cluster="a"), [B, C], removed={"a": ago(901)}))
    assert early.action is None
    assert isinstance(late.action, CommitAssignment)


def test_when_most_workers_vanish_at_once_nothing_moves() -> None:
    found = reconcile_original(snapshot(job(cluster="a"), [worker("a", lost=950), worker("b", lost=930), C]))
    assert (found.stage, found.action) == (Stage.FROZEN, None)


def test_workers_that_vanish_one_after_the_other_do_not_freeze_the_relay() -> None:
    found = reconcile_original(snapshot(job(cluster="a"), [worker("a", lost=9000), worker("b", lost=950), C]))
    assert isinstance(found.action, CommitAssignment)


def test_a_worker_declared_lost_is_given_up_at_once_also_when_frozen() -> None:
    lost = worker("a", lost=20, state=State.LOST)
    found = reconcile_original(snapshot(job(cluster="a"), [lost, worker("b", lost=20), C]))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.cluster == "c"


def test_a_drained_worker_hands_its_jobs_over() -> None:
    draining = worker("a", state=State.DRAINING)
    found = reconcile_original(
        snapshot(job(cluster="a", status=running()), [draining, B], {"a": mirror(status=running())})
    )
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.cluster, found.action.assignment.epoch) == ("b", 2)


def test_a_drained_worker_keeps_what_nobody_else_takes() -> None:
    draining = worker("a", state=State.DRAINING)
    found = reconcile_original(
        snapshot(job(cluster="a", status=running()), [draining], {"a": mirror(status=running())})
    )
    assert (found.stage, found.action) == (Stage.RUNNING, None)


def test_what_ended_on_a_drained_worker_comes_back_and_is_not_run_again() -> None:
    draining = worker("a", state=State.DRAINING)
    found = reconcile_original(
        snapshot(job(cluster="a", status=running()), [draining, B], {"a": mirror(status=complete())})
    )
    assert isinstance(found.action, WriteStatus)


def test_a_cordoned_worker_keeps_its_jobs() -> None:
    cordoned = worker("a", state=State.CORDONED)
    found = reconcile_original(
        snapshot(job(cluster="a", status=running()), [cordoned, B], {"a": mirror(status=running())})
    )
    assert found.action is None


def test_a_moved_job_waits_for_its_old_mirror_to_go() -> None:
    found = reconcile_original(snapshot(job(cluster="b", epoch=2), [A, B], {"a": mirror(epoch=1)}))
    assert (found.stage, found.action) == (Stage.MOVING, None)
    assert "run 1 on a" in found.sentence


FENCED = {"jobrelay.dev/fencing": "true"}


def test_a_fenced_job_waits_for_the_end_of_its_lease_even_if_the_timeout_is_shorter() -> None:
    original = job(cluster="a", status=running(), annotations=FENCED, started=format_time(ago(60)))
    early, late = (
        reconcile_original(
            snapshot(original, [worker("a", lost=lost), B, C], committed=False, lost_timeout=60, lease=300, margin=30)
        )
        for lost in (361, 363)
    )
    assert early.action is None
    assert isinstance(late.action, CommitAssignment)


def test_fencing_can_be_turned_on_for_a_namespace_and_off_for_a_job() -> None:
    assert snapshot(job(), namespace=FENCED).fenced
    assert not snapshot(job(annotations={"jobrelay.dev/fencing": "false"}), namespace=FENCED).fenced


def test_a_job_that_its_lease_stopped_runs_again() -> None:
    original = job(cluster="a", status=running(), annotations=FENCED)
    there = {"a": mirror(status=failed("DeadlineExceeded"))}
    found = reconcile_original(snapshot(original, [A], there, stops=LeaseStops(1, 1, ago(10))))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.epoch == 2


def test_a_job_that_its_own_deadline_stopped_has_failed() -> None:
    original = job(cluster="a", status=running(360), annotations=FENCED, activeDeadlineSeconds=300)
    found = reconcile_original(snapshot(original, [A], {"a": mirror(status=failed("DeadlineExceeded", 60))}))
    assert isinstance(found.action, WriteStatus)


FULL = Capacity(1, (NodeFacts("n", {}, (), {"pods": Fraction(1)}, {"pods": Fraction(1)}),))


SMALL = Capacity(1, (NodeFacts("n", {}, (), {"pods": Fraction(0)}, {}),))


@pytest.mark.parametrize(("capacity", "kind"), [(FULL, "Normal"), (SMALL, "Warning")], ids=["full", "too small"])
def test_waiting_for_room_is_a_warning_only_where_it_does_not_help(capacity: Capacity, kind: str) -> None:
    found = reconcile_original(snapshot(job(), [worker("a", capacity=capacity)]))
    assert [(each.reason, each.type) for each in found.events] == [("NotPlaced", kind)]


def test_whoever_is_not_on_turn_waits_in_line_although_there_is_room() -> None:
    found = reconcile_original(snapshot(job(), [worker("a")], turn=Turn(now=False, ahead=3, alike=1)))
    assert (found.stage, found.action, found.waits_in_line) == (Stage.PLACING, None, True)
    assert found.sentence == "Waits for its turn: 3 are before it in line, 1 of them need the same."


@pytest.mark.parametrize(
    ("turn", "claim"),
    [(Turn(True, 0, 0), ""), (Turn(True, 0, 0, may_claim=True), "a"), (Turn(True, 0, 0, claimed="b"), "b")],
)
def test_a_workload_without_room_claims_a_worker_if_it_may(turn: Turn, claim: str) -> None:
    found = reconcile_original(snapshot(job(), [worker("a", capacity=FULL), worker("b", capacity=FULL)], turn=turn))
    assert (found.waits_in_line, found.claim) == (True, claim)
