"""Leases: how mirrors are held back and released, whose clock counts, and what is done about runs on lost workers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.relay.fencing import Lease, LeaseStops, clock_problem
from jobrelay.relay.model import ClockReading, State, WorkerFacts
from jobrelay.relay.original_decision import CommitAssignment, OriginalDecision, RecordStart, Stage, WriteStatus
from jobrelay.relay.reconcile_mirror import CreateMirror, MirrorDecision, UpdateMirror, reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.runs import RunHistory
from jobrelay.relay.worker_assignment import Run, WorkerAssignment
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.snapshots import ADAPTER, NOW, ago, complete, failed, job, mirror, running, snapshot, worker

FENCED = {"jobrelay.dev/fencing": "true"}
A, B, C = worker("a"), worker("b"), worker("c")
HALTED = {"conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": format_time(ago(5))}]}
STARTED = format_time(ago(60))


def fenced(**more: Any) -> Object:
    return job(cluster="a", annotations=FENCED, **more)


def on_a(original: Object, found: Object | None = None, facts: WorkerFacts = A, **more: Any) -> MirrorDecision:
    return reconcile_mirror(snapshot(original, [facts], {"a": found} if found else {}, **more), "a", "train")


def next_step(original: Object, found: Object | None = None, facts: WorkerFacts = A, **more: Any) -> OriginalDecision:
    """What is decided by a process that may have released the run, or by one after it, unless it is `committed`."""
    more = {"committed": False, **more}
    return reconcile_original(snapshot(original, [facts, B, C], {"a": found} if found else {}, **more))


class TestRelease:
    def test_a_fenced_mirror_is_created_suspended_and_any_other_is_not(self) -> None:
        act = on_a(fenced(), lease=120).action
        assert isinstance(act, CreateMirror)
        assert (act.body["spec"]["suspend"], act.body["spec"]["activeDeadlineSeconds"]) == (True, 120)
        assert not act.releases
        other = on_a(job(cluster="a")).action
        assert isinstance(other, CreateMirror)
        assert (other.body["spec"]["suspend"], other.releases) == (False, True)

    def test_it_is_released_when_the_job_controller_has_confirmed_the_suspension(self) -> None:
        held = mirror(suspend=True, activeDeadlineSeconds=300)
        assert on_a(fenced(), held).action is None
        confirmed = mirror(suspend=True, activeDeadlineSeconds=300, status=HALTED)
        act = on_a(fenced(), confirmed).action
        assert isinstance(act, UpdateMirror)
        assert (act.patch, act.releases) == ({"spec": {"suspend": False}}, True)

    def test_it_is_not_released_while_a_start_is_on_record(self) -> None:
        held = mirror(suspend=True, activeDeadlineSeconds=300, status=HALTED)
        assert on_a(fenced(started=STARTED), held).action is None
        found = next_step(fenced(started=STARTED), held)
        assert isinstance(found.action, RecordStart)
        assert found.action.assignment.started == ""

    def test_it_is_not_released_where_the_clock_is_unknown(self) -> None:
        held = mirror(suspend=True, activeDeadlineSeconds=300, status=HALTED)
        blind = worker("a", clock=None)
        assert on_a(fenced(), held, blind) == MirrorDecision(requeue_after=5.0)
        assert "its clock is unknown" in next_step(fenced(), held, blind).sentence

    def test_what_the_user_suspended_stays_suspended(self) -> None:
        held = mirror(suspend=True, activeDeadlineSeconds=300, status=HALTED)
        assert on_a(fenced(suspend=True), held).action is None

    def test_what_the_user_resumes_is_released_with_a_deadline_that_its_old_start_allows(self) -> None:
        rested = mirror(suspend=True, activeDeadlineSeconds=300, status=HALTED | {"startTime": format_time(ago(1000))})
        act = on_a(fenced(), rested).action
        assert isinstance(act, UpdateMirror)
        assert act.patch == {"spec": {"suspend": False, "activeDeadlineSeconds": 1300}}

    def test_a_mirror_that_is_held_back_says_nothing_about_its_job(self) -> None:
        found = next_step(fenced(), mirror(suspend=True, status=HALTED | {"ready": 0}))
        assert (found.stage, found.action) == (Stage.MIRRORING, None)
        assert "is being released" in found.sentence

    def test_the_suspension_of_the_relay_is_not_the_users(self) -> None:
        resumed = {"type": "Suspended", "status": "False", "lastTransitionTime": format_time(ago(5))}
        status = ADAPTER.merged_status(fenced(), mirror(status=running(5) | {"conditions": [resumed]}))
        assert status is not None
        assert "conditions" not in status or status["conditions"] == []


class TestRecord:
    def test_a_start_with_a_lease_is_recorded(self) -> None:
        found = next_step(fenced(), mirror(status=running(60), activeDeadlineSeconds=300))
        assert isinstance(found.action, RecordStart)
        assert (found.action.assignment.epoch, found.action.assignment.started) == (1, STARTED)
        after = next_step(fenced(started=STARTED), mirror(status=running(60), activeDeadlineSeconds=300))
        assert isinstance(after.action, WriteStatus)

    @pytest.mark.parametrize(
        "seen",
        [
            mirror(activeDeadlineSeconds=300),
            mirror(activeDeadlineSeconds=300, status=HALTED | running(60)),
            mirror(status=running(60)),
            mirror(activeDeadlineSeconds=1300, status=running(5)),
        ],
        ids=["not started", "not resumed", "no deadline", "a deadline that is far away"],
    )
    def test_nothing_is_recorded_of_what_is_not_leased(self, seen: Object) -> None:
        assert not isinstance(next_step(fenced(), seen).action, RecordStart)
        gone = next_step(fenced(started=STARTED), seen).action
        assert isinstance(gone, RecordStart)
        assert gone.assignment.started == ""

    def test_a_lease_stays_until_its_record_is_removed(self) -> None:
        original = job(cluster="a", started=STARTED)
        leased = mirror(status=running(60), activeDeadlineSeconds=300)
        assert on_a(original, leased).action is None
        assert isinstance(next_step(original, leased).action, RecordStart)
        act = on_a(job(cluster="a"), leased).action
        assert isinstance(act, UpdateMirror)
        assert act.patch == {"spec": {"activeDeadlineSeconds": None}}


class TestLoss:
    def test_a_start_that_was_not_seen_cannot_be_waited_out(self) -> None:
        found = next_step(fenced(), mirror(activeDeadlineSeconds=300), worker("a", lost=1e6))
        assert (found.stage, found.action) == (Stage.WORKER_LOST, None)
        assert "its start there was not seen" in found.sentence
        assert "StartUnknown" in [told.reason for told in found.events]

    def test_after_a_restart_an_unknown_mirror_may_have_been_released(self) -> None:
        assert next_step(fenced(), None, worker("a", lost=1e6)).action is None

    def test_a_worker_that_is_declared_lost_lets_it_go(self) -> None:
        lost = worker("a", lost=1000, state=State.LOST)
        assert isinstance(next_step(fenced(), None, lost).action, CommitAssignment)

    def test_a_worker_that_is_no_longer_registered_is_to_be_registered_again(self) -> None:
        found = reconcile_original(snapshot(fenced(), [B, C], removed={"a": ago(1e6)}, committed=False))
        assert found.action is None
        assert "register it again, and declare it lost" in found.sentence

    @pytest.mark.parametrize(("state", "moves"), [(State.OPEN, False), (State.LOST, True)])
    def test_a_cluster_that_was_installed_anew_is_declared_lost_by_its_name(self, state: State, moves: bool) -> None:
        anew = worker("a", state=state, identity="uid-new")
        original = job(annotations={ASSIGNMENT: WorkerAssignment("a", 1, uid="uid-old").encode(), **FENCED})
        found = reconcile_original(snapshot(original, [anew, B, C], removed={"uid-old": ago(1e6)}, committed=False))
        assert isinstance(found.action, CommitAssignment) == moves

    def test_what_was_never_released_moves_after_the_timeout(self) -> None:
        early = next_step(fenced(), None, worker("a", lost=50), committed=True, lost_timeout=60)
        late = next_step(fenced(), None, worker("a", lost=61), committed=True, lost_timeout=60)
        assert early.action is None
        assert isinstance(late.action, CommitAssignment)

    def test_an_earlier_run_that_was_not_released_says_nothing_about_this_one(self) -> None:
        runs = RunHistory()
        runs.committed(Run("a", 1))
        assert next_step(fenced(epoch=2), None, worker("a", lost=1e6), runs=runs).action is None

    @pytest.mark.parametrize(("silent", "led", "moves"), [(1000, 1000, True), (100, 1000, False), (1000, 100, False)])
    def test_a_lease_may_have_been_granted_until_this_process_lost_the_worker_or_began_to_lead(
        self, silent: float, led: float, moves: bool
    ) -> None:
        lost = worker("a", lost=5000, silent_since=ago(silent))
        found = next_step(fenced(started=STARTED), None, lost, led_since=ago(led))
        assert isinstance(found.action, CommitAssignment) == moves

    @pytest.mark.parametrize(("silent", "moves"), [(1000, True), (100, False)])
    def test_a_clock_that_is_put_forward_ends_no_lease_on_a_worker_that_was_removed(
        self, silent: float, moves: bool
    ) -> None:
        removed, original = {"a": ago(5000)}, fenced(started=STARTED)
        found = reconcile_original(
            snapshot(original, [B, C], removed=removed, silent_since=ago(silent), committed=False)
        )
        assert isinstance(found.action, CommitAssignment) == moves


class TestClock:
    @pytest.mark.parametrize("ahead", [-7200, -60, 0, 120, 7200])
    def test_a_deadline_is_reckoned_in_the_workers_clock(self, ahead: float) -> None:
        there = ClockReading(NOW + timedelta(seconds=ahead))
        found = mirror(status=running(50 - ahead), activeDeadlineSeconds=120)
        act = on_a(fenced(), found, worker("a", clock=there), lease=120).action
        assert isinstance(act, UpdateMirror)
        assert act.patch == {"spec": {"activeDeadlineSeconds": 170}}

    def test_a_deadline_is_shortened_after_the_clock_was_put_back(self) -> None:
        back = ClockReading(ago(40), jump=-40.0, steady=1.0)
        act = on_a(fenced(), mirror(status=running(50), activeDeadlineSeconds=170), worker("a", clock=back), lease=120)
        assert isinstance(act.action, UpdateMirror)
        assert act.action.patch == {"spec": {"activeDeadlineSeconds": 130}}

    def test_what_is_left_of_the_users_deadline_is_reckoned_in_the_workers_clock(self) -> None:
        hours = worker("a", clock=ClockReading(ago(7200)))
        original = job(cluster="a", epoch=2, status=running(7400), activeDeadlineSeconds=1000)
        act = on_a(original, None, hours).action
        assert isinstance(act, CreateMirror)
        assert act.body["spec"]["activeDeadlineSeconds"] == 800

    def test_a_finished_mirror_is_kept_by_the_workers_clock(self) -> None:
        hours = worker("a", clock=ClockReading(ago(7200)))
        original = job(cluster="a", status=complete(7300))
        assert on_a(original, mirror(status=complete(7300)), hours, keep_finished=600).requeue_after == 500

    def test_without_a_clock_nothing_is_renewed(self) -> None:
        found = mirror(status=running(250), activeDeadlineSeconds=300)
        assert on_a(fenced(), found, worker("a", clock=None)) == MirrorDecision(requeue_after=1.0)

    @pytest.mark.parametrize(
        ("clock", "problem"),
        [
            (None, "its answers have no Date"),
            (ClockReading(NOW, uncertain=16), "known to 16.0 s only"),
            (ClockReading(NOW, jump=-31, steady=119), "jumped by -31 s"),
            (ClockReading(NOW, jump=-31, steady=121), ""),
            (ClockReading(NOW, jump=29, steady=1), ""),
            (ClockReading(NOW, uncertain=1.1), ""),
        ],
    )
    def test_which_clocks_allow_leases(self, clock: ClockReading | None, problem: str) -> None:
        found = clock_problem(clock, 30.0)
        assert problem in found
        assert bool(problem) == bool(found)

    def test_a_fenced_job_does_not_go_where_the_clock_allows_no_leases_and_any_other_does(self) -> None:
        blind = [worker("a", clock=None)]
        found = reconcile_original(snapshot(job(annotations=FENCED), blind))
        assert found.action is None
        assert found.requeue_after == 5.0
        assert found.placement is not None
        assert "it cannot fence the workload: its clock is unknown" in found.placement.verdicts[0].sentence
        assert isinstance(reconcile_original(snapshot(job(), blind)).action, CommitAssignment)


class TestBackOff:
    def test_a_run_that_its_lease_stopped_is_followed_by_the_next_one_after_a_pause_that_is_told(self) -> None:
        stopped = mirror(status=failed("DeadlineExceeded"))
        found = next_step(fenced(), stopped)
        assert (found.action, found.requeue_after) == (None, 10.0)
        assert [told.reason for told in found.events] == ["LeaseExpired"]
        assert "It is started again at 2026-01-01T12:00:10Z" in found.sentence
        assert found.lease_stops == LeaseStops(1, 1, NOW)
        later = next_step(fenced(), stopped, stops=LeaseStops(1, 1, ago(10)))
        assert isinstance(later.action, CommitAssignment)

    def test_the_pause_grows_to_five_minutes(self) -> None:
        stopped, stops, pauses = ADAPTER.read(mirror(status=failed("DeadlineExceeded"))), LeaseStops(), []
        for epoch in range(1, 9):
            stops = stops.after(epoch, stopped, None, NOW)
            assert stops.after(epoch, stopped, None, NOW + timedelta(seconds=5)) == stops
            pauses.append(stops.left(NOW))
        assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]

    def test_a_run_that_lasted_is_the_first_of_its_row(self) -> None:
        lasted = failed("DeadlineExceeded") | {"startTime": format_time(ago(4000))}
        assert LeaseStops(1, 7, NOW).after(2, ADAPTER.read(mirror(status=lasted)), ago(700), NOW).count == 1

    def test_a_run_that_lasted_by_a_clock_that_jumped_is_not(self) -> None:
        lasted = failed("DeadlineExceeded") | {"startTime": format_time(ago(4000))}
        assert LeaseStops(1, 7, NOW).after(2, ADAPTER.read(mirror(status=lasted)), ago(60), NOW).count == 8


def test_a_lease_that_is_not_limited_does_not_hold() -> None:
    assert not Lease(300, ClockReading(NOW)).holds(ADAPTER.read(mirror(status=running(5))))
