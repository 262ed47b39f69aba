"""What the relay does next about a Job's mirror on one worker."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.kube import Object
from jobrelay.relay.reconcile_mirror import CreateMirror, DeleteMirror, MirrorDecision, UpdateMirror, reconcile_mirror
from jobrelay.workloads import JobAdapter
from jobrelay.workloads.names import EPOCH, ORIGIN, ORIGIN_UID
from tests.relay.snapshots import complete, job, mirror, refusal, running, snapshot, worker

A, B = worker("a"), worker("b")


def on(name: str, *args: Any, **more: Any) -> MirrorDecision:
    return reconcile_mirror(snapshot(*args, **more), name, "train")


def test_no_mirror_before_the_commit() -> None:
    assert on("a", job(), [A]).action is None


def test_a_committed_job_gets_its_mirror() -> None:
    act = on("a", job(cluster="a", epoch=4), [A]).action
    assert isinstance(act, CreateMirror)
    metadata = act.body["metadata"]
    assert metadata["labels"][ORIGIN] == "tests"
    assert (metadata["annotations"][ORIGIN_UID], metadata["annotations"][EPOCH]) == ("u1", "4")
    assert "managedBy" not in act.body["spec"]


def test_nothing_is_created_for_an_assignment_that_does_not_say_which_cluster_it_means() -> None:
    assert on("a", job(cluster="a"), [worker("a", identity="c1")]).action is None


def test_only_the_assigned_worker_gets_one() -> None:
    assert on("b", job(cluster="a"), [A, B]).action is None


def test_nothing_is_created_on_a_worker_that_is_away() -> None:
    assert on("a", job(cluster="a"), [worker("a", lost=5)]).action is None


def test_nothing_is_created_where_it_was_refused() -> None:
    assert on("a", job(cluster="a"), [A], refusals={"a": refusal()}).action is None


def test_nothing_is_created_while_another_worker_in_reach_holds_a_mirror() -> None:
    assert on("b", job(cluster="b", epoch=2), [A, B], {"a": mirror(epoch=1)}).action is None


def test_a_mirror_out_of_reach_does_not_hold_up_the_next_run() -> None:
    away = worker("a", lost=1000)
    assert isinstance(on("b", job(cluster="b", epoch=2), [away, B], {"a": mirror(epoch=1)}).action, CreateMirror)


def test_a_mirror_of_an_earlier_run_is_stopped_with_its_pods() -> None:
    act = on("a", job(cluster="b", epoch=2), [A, B], {"a": mirror(epoch=1)}).action
    assert isinstance(act, DeleteMirror)
    assert act.propagation == "Foreground"


def test_an_earlier_mirror_on_the_same_worker_is_stopped_first() -> None:
    assert isinstance(on("a", job(cluster="a", epoch=2), [A], {"a": mirror(epoch=1)}).action, DeleteMirror)


def test_a_mirror_of_a_later_run_is_not_touched() -> None:
    assert on("a", job(cluster="b", epoch=1), [A, B], {"a": mirror(epoch=2)}).action is None
    assert on("a", job(cluster="a", epoch=1), [A, B], {"a": mirror(epoch=2)}).action is None
    assert on("a", job(), [A, B], {"a": mirror(epoch=2)}).action is None


def test_the_mirror_of_a_finished_job_is_removed_although_its_assignment_is_gone() -> None:
    done = mirror(status=complete(10_000))
    assert isinstance(on("a", job(status=complete(10_000)), [A], {"a": done}).action, DeleteMirror)


def test_the_mirror_of_a_deleted_job_is_removed() -> None:
    assert isinstance(on("a", job(cluster="a", deleting=True), [A], {"a": mirror()}).action, DeleteMirror)


def test_a_mirror_that_is_being_deleted_is_waited_for() -> None:
    assert on("a", job(cluster="a", epoch=2), [A], {"a": mirror(epoch=1, deleting=True)}).action is None


def test_a_change_of_the_original_is_forwarded() -> None:
    act = on("a", job(cluster="a", suspend=True), [A], {"a": mirror()}).action
    assert isinstance(act, UpdateMirror)
    assert act.patch["spec"] == {"suspend": True}


def test_what_was_edited_on_the_worker_is_set_back() -> None:
    act = on("a", job(cluster="a", parallelism=2), [A], {"a": mirror(parallelism=7)}).action
    assert isinstance(act, UpdateMirror)
    assert act.patch["spec"] == {"parallelism": 2}


def test_a_mirror_in_line_is_left_alone() -> None:
    assert on("a", job(cluster="a", status=running()), [A], {"a": mirror(status=running())}) == MirrorDecision()


def test_a_finished_mirror_stays_until_its_end_is_written_down() -> None:
    assert on("a", job(cluster="a", status=running()), [A], {"a": mirror(status=complete(9999))}) == MirrorDecision()


def test_a_finished_mirror_is_kept_for_its_logs_and_then_removed() -> None:
    original = job(cluster="a", status=complete(100))
    assert on("a", original, [A], {"a": mirror(status=complete(100))}) == MirrorDecision(requeue_after=500)
    assert isinstance(on("a", original, [A], {"a": mirror(status=complete(601))}).action, DeleteMirror)


def test_a_finished_mirror_is_removed_only_in_the_version_whose_status_was_returned() -> None:
    act = on("a", job(cluster="a", status=complete(601)), [A], {"a": mirror(status=complete(601))}).action
    assert isinstance(act, DeleteMirror)
    assert act.exact


class GoesOn(JobAdapter):
    """Jobs whose mirrors always have something new to say."""

    def merged_status(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        return {"more": 1}


@pytest.mark.parametrize(("ended", "removed"), [(601, False), (659, False), (660, True)])
def test_a_finished_mirror_stays_for_a_minute_while_its_last_status_is_not_returned(ended: int, removed: bool) -> None:
    known = snapshot(job(cluster="a", status=complete(ended)), [A], {"a": mirror(status=complete(ended))})
    found = reconcile_mirror(msgspec.structs.replace(known, adapter=GoesOn()), "a", "train")
    assert isinstance(found.action, DeleteMirror) is removed
    assert (found.requeue_after is None) is removed


def test_a_mirror_that_runs_on_after_its_original_ended_is_removed() -> None:
    assert isinstance(
        on("a", job(cluster="a", status=complete()), [A], {"a": mirror(status=running())}).action, DeleteMirror
    )


FENCED = {"jobrelay.dev/fencing": "true"}


def test_a_fenced_mirror_is_born_with_a_lease() -> None:
    act = on("a", job(cluster="a", annotations=FENCED), [A], lease=120).action
    assert isinstance(act, CreateMirror)
    assert act.body["spec"]["activeDeadlineSeconds"] == 120


def test_a_fresh_lease_is_left_alone_and_an_old_one_renewed() -> None:
    original = job(cluster="a", annotations=FENCED, status=running(30))
    fresh = on("a", original, [A], {"a": mirror(status=running(30), activeDeadlineSeconds=120)}, lease=120)
    assert fresh == MirrorDecision(requeue_after=10)
    old = on("a", original, [A], {"a": mirror(status=running(50), activeDeadlineSeconds=120)}, lease=120)
    assert isinstance(old.action, UpdateMirror)
    assert old.action.patch["spec"] == {"activeDeadlineSeconds": 170}


def test_a_lease_never_exceeds_the_users_own_deadline() -> None:
    original = job(cluster="a", annotations=FENCED, status=running(50), activeDeadlineSeconds=90)
    assert on("a", original, [A], {"a": mirror(status=running(50), activeDeadlineSeconds=90)}, lease=120).action is None


def test_a_later_run_gets_what_is_left_of_the_users_deadline() -> None:
    original = job(cluster="b", epoch=2, status=running(200), activeDeadlineSeconds=1000)
    act = on("b", original, [worker("a", lost=1000), B]).action
    assert isinstance(act, CreateMirror)
    assert act.body["spec"]["activeDeadlineSeconds"] == 800
