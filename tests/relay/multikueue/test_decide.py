"""What is written to a Workload, and to its clones: pure functions of what is known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.relay.admission import Admitted
from jobrelay.relay.model import State
from jobrelay.relay.multikueue.clones import CreateClone, DeleteClone, FindClone, PatchClone, asked, reconcile_clone
from jobrelay.relay.multikueue.decide import CheckUpdate, ClearCluster, Nominate, Remotes, reconcile_workload
from jobrelay.relay.multikueue.dispatching import DispatcherName, Dispatching, next_round
from jobrelay.relay.multikueue.views import MultiKueueCheckState, QueuedWorkload, read_workload
from jobrelay.relay.worker_assignment import WorkerAssignment
from tests.relay.multikueue.kueue import condition
from tests.relay.snapshots import NOW, job, snapshot, worker

A, B = worker("a"), worker("b")


def workload_object(state: str = "Pending", *conditions: Mapping[str, Any], **more: Any) -> Object:
    """A Workload whose quota is reserved, unless other conditions are given."""
    spec, status = more.pop("spec", {"queueName": "team"}), dict(more)
    status["conditions"] = list(conditions) or [condition("QuotaReserved")]
    status["admissionChecks"] = [{"name": "mk", "state": state}]
    metadata = {"name": "job-train", "namespace": "team", "uid": "w1", "annotations": {}}
    return decode_object(msgspec.json.encode({"metadata": metadata, "spec": spec, "status": status}))


def view(
    state: str = "Pending", *conditions: Mapping[str, Any], **more: Any
) -> tuple[QueuedWorkload, MultiKueueCheckState]:
    found = read_workload(workload_object(state, *conditions, **more))
    assert found is not None
    return found, found.checks[0]


def placed(found: QueuedWorkload, **more: Any) -> Any:
    """A snapshot of an original that is assigned to a under the present reservation."""
    original = job(cluster="a", admission=found.id, suspend=True)
    admission = Admitted(frozenset({"a", "b"}), found.id, while_suspended=True)
    return snapshot(original, more.pop("workers", [A, B]), admission=admission, **more)


def test_who_is_not_delegated_is_rejected_without_waiting_for_quota() -> None:
    found, own = view("Pending", condition("QuotaReserved", "False"))
    update = reconcile_workload(found, own, snapshot(job(managed_by="example.com/other"), [A]))
    assert isinstance(update, CheckUpdate)
    assert (update.state, '"example.com/other"' in update.message) == ("Rejected", True)


def test_an_assigned_worker_is_nominated_first_and_then_named() -> None:
    found, own = view()
    assert reconcile_workload(found, own, placed(found)) == Nominate(("a",))
    found, own = view(nominatedClusterNames=["a"])
    ready = CheckUpdate("Ready", 'The workload was admitted on "a"', "a")
    assert reconcile_workload(found, own, placed(found)) == ready


def test_a_check_that_is_ready_is_not_written_again() -> None:
    found, own = view("Ready", clusterName="a")
    assert reconcile_workload(found, own, placed(found)) is None


def test_names_of_workers_are_removed_with_the_reservation() -> None:
    found, own = view("Pending", condition("QuotaReserved", "False"), clusterName="a")
    assert reconcile_workload(found, own, snapshot(job(), [A])) == ClearCluster()


@pytest.mark.parametrize("state", [State.DRAINING, State.LOST])
def test_a_worker_that_is_emptied_or_declared_lost_has_the_check_retried(state: State) -> None:
    found, own = view("Ready", clusterName="a")
    update = reconcile_workload(found, own, placed(found, workers=[worker("a", state=state), B]))
    assert isinstance(update, CheckUpdate)
    assert update.state == "Retry"


def test_a_worker_that_is_lost_for_less_than_the_timeout_changes_nothing() -> None:
    found, own = view("Ready", clusterName="a")
    more = [worker("a", lost=60), B, worker("c")]
    assert reconcile_workload(found, own, placed(found, workers=more)) is None


def test_a_clone_that_is_out_of_sync_has_the_check_retried() -> None:
    found, own = view("Ready", clusterName="a")
    ended, _ = view("Ready", condition("Finished") | {"reason": "OutOfSync"})
    update = reconcile_workload(found, own, placed(found), Remotes({"a": ended}))
    assert isinstance(update, CheckUpdate)
    assert update.message == (
        'Remote workload on worker cluster "a" is out of sync with its user job, resetting for re-dispatch'
    )


def test_nothing_is_written_while_kueue_evicts_it() -> None:
    found, own = view("Pending", condition("QuotaReserved"), condition("Evicted"), clusterName="a")
    assert reconcile_workload(found, own, placed(found)) is None


def test_an_eviction_under_way_belongs_to_the_reservation_that_it_ends() -> None:
    stats = {"evictions": [{"reason": "Preempted", "count": 1}]}
    running, _ = view()
    evicted, _ = view("Pending", condition("QuotaReserved"), condition("Evicted"), schedulingStats=stats)
    again, _ = view("Pending", condition("QuotaReserved"), condition("Evicted", "False"), schedulingStats=stats)
    assert running.id == evicted.id != again.id


def test_incremental_asks_three_more_after_every_five_minutes() -> None:
    found, own = view()
    clusters, how = tuple("abcdefgh"), Dispatching(DispatcherName.INCREMENTAL)
    admission = Admitted(frozenset(clusters), found.id, while_suspended=True)

    def nominated(minutes: float) -> Any:
        seen = snapshot(job(suspend=True), [A], admission=admission, now=NOW + timedelta(minutes=minutes))
        return reconcile_workload(found, own, seen, Remotes(), clusters, how)

    assert nominated(0) == Nominate(tuple("abc"))
    assert nominated(6) == Nominate(tuple("abcdef"))
    assert nominated(60) == Nominate(clusters)
    assert next_round(how, found, NOW + timedelta(seconds=100)) == 200


def test_all_at_once_asks_those_that_are_connected() -> None:
    found, own = view()
    admission = Admitted(frozenset("ab"), found.id, while_suspended=True)
    seen = snapshot(job(suspend=True), [A, worker("b", lost=5), worker("c")], admission=admission)
    how = Dispatching(DispatcherName.ALL_AT_ONCE)
    assert reconcile_workload(found, own, seen, Remotes(), ("b", "a", "x"), how) == Nominate(("a",))


def test_the_clone_of_a_worker_that_is_asked_is_created_and_of_others_deleted() -> None:
    found, _ = view()
    obj = workload_object()
    assert reconcile_clone(found, obj, "Pending", True, None, {"x": 1}) == CreateClone({"x": 1})
    assert reconcile_clone(found, obj, "Ready", True, None, {}) == FindClone()
    assert isinstance(reconcile_clone(found, obj, "Pending", False, obj, {}), DeleteClone)
    assert reconcile_clone(found, obj, "Pending", True, obj, {}) is None


def test_only_a_changed_priority_is_forwarded_to_a_clone() -> None:
    found, _ = view()
    clone = workload_object()
    higher = workload_object(spec={"queueName": "team", "priority": 7})
    other = workload_object(spec={"queueName": "other"})
    assert reconcile_clone(found, higher, "Pending", True, clone, {}) == PatchClone({"spec": {"priority": 7}})
    assert isinstance(reconcile_clone(found, other, "Pending", True, clone, {}), DeleteClone)


@given(
    state=st.sampled_from(["Pending", "Ready", "Retry", "Rejected"]),
    reserved=st.booleans(),
    finished=st.booleans(),
    cluster=st.sampled_from(["", "a"]),
    nominated=st.lists(st.sampled_from("ab"), unique=True),
    assigned=st.sampled_from(["", "a", "b"]),
)
def test_workers_are_asked_only_under_a_reservation_and_only_one_after_the_choice(
    state: str, reserved: bool, finished: bool, cluster: str, nominated: list[str], assigned: str
) -> None:
    conditions = [condition("QuotaReserved", str(reserved)), condition("Finished", str(finished))]
    found, own = view(state, *conditions, clusterName=cluster or None, nominatedClusterNames=nominated)
    to = WorkerAssignment(assigned, 1, admission=found.id) if assigned else None
    workers = asked(found, own, to)
    assert reserved or not workers
    assert not (finished and workers)
    assert len(workers) <= 1 or (to is None and state == "Pending")
