"""Epochs and assignments that no relay wrote."""

from __future__ import annotations

import asyncio

import pytest

from jobrelay.kube import merge_patch
from jobrelay.kube.resource import JOBS
from jobrelay.relay.model import State
from jobrelay.relay.names import CLUSTERS
from jobrelay.relay.original_decision import CommitAssignment, Stage
from jobrelay.relay.reconcile_mirror import ProveGone, reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.runs import RunHistory
from jobrelay.relay.worker_assignment import MAX_EPOCH, Run, WorkerAssignment, assignment_of, epoch_of
from jobrelay.workloads.names import ASSIGNMENT, EPOCH
from tests.relay.fleets import MakeFleet
from tests.relay.snapshots import job, mirror, running, snapshot, worker

A, B = worker("a"), worker("b")


@pytest.mark.parametrize("epoch", [1, 9, 10**8, 10**9 - 1, 10**9, 10**10, 2**31, 10**14, MAX_EPOCH])
def test_every_epoch_reads_as_it_was_written(epoch: int) -> None:
    to = assignment_of(job(cluster="a", epoch=epoch))
    assert to is not None
    assert to.epoch == epoch_of(mirror(epoch=epoch)) == epoch


def test_an_assignment_that_holds_more_runs_than_a_relay_writes_is_none() -> None:
    held = tuple(Run("a", epoch) for epoch in range(1, 1000))
    assert assignment_of(job(annotations={ASSIGNMENT: WorkerAssignment("a", 1000, held=held).encode()})) is None


@pytest.mark.parametrize("text", ["", "0", "-1", "01", "1.0", "1e3", "\u0661", "x", str(MAX_EPOCH + 1), "9" * 5000])
def test_what_no_relay_writes_is_no_epoch(text: str) -> None:
    obj = mirror()
    obj.metadata.annotations[EPOCH] = text
    assert epoch_of(obj) == 0


@pytest.mark.parametrize("epoch", ["0", "-1", str(MAX_EPOCH + 1), "1" + "0" * 40, "1.5", '"7"', "true", "null", "[]"])
def test_nothing_is_started_for_an_invalid_epoch(epoch: str) -> None:
    forged = job(annotations={ASSIGNMENT: f'{{"cluster":"a","epoch":{epoch}}}'})
    found = reconcile_original(snapshot(forged, [A, B]))
    assert (found.stage, found.action) == (Stage.FROZEN, None)
    assert [event.reason for event in found.events] == ["EpochRefused"]
    assert reconcile_mirror(snapshot(forged, [A, B]), "a", "train").action is None


def test_a_mirror_with_a_valid_epoch_mends_an_invalid_one() -> None:
    forged = job(annotations={ASSIGNMENT: '{"cluster":"a","epoch":0}'})
    found = reconcile_original(snapshot(forged, [A, B], {"b": mirror(epoch=3, status=running())}))
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.cluster, found.action.assignment.epoch) == ("b", 3)


def test_there_is_no_run_after_the_last_epoch() -> None:
    found = reconcile_original(snapshot(job(cluster="a", epoch=MAX_EPOCH), [worker("a", lost=1000), B]))
    assert found.action is None
    assert [event.reason for event in found.events] == ["EpochRefused"]


@pytest.mark.parametrize("original", [job(), job(cluster="a", epoch=2)])
def test_an_epoch_that_jumps_is_not_adopted(original: object) -> None:
    found = reconcile_original(snapshot(original, [A, B], {"b": mirror(epoch=10**12)}))  # type: ignore[arg-type]
    assert found.action is None
    assert [event.reason for event in found.events] == ["EpochRefused"]
    assert "run 1000000000000" in found.sentence


def test_an_epoch_that_jumped_under_the_eyes_of_the_relay_is_adopted() -> None:
    runs = RunHistory()
    runs.seen(Run("b", 10**12))
    found = reconcile_original(snapshot(job(), [A, B], {"b": mirror(epoch=10**12)}, runs=runs))
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.cluster, found.action.assignment.epoch) == ("b", 10**12)


def test_an_epoch_that_jumps_does_not_hide_the_run_that_there_is() -> None:
    mirrors = {"a": mirror(epoch=2, status=running()), "b": mirror(epoch=10**12)}
    assert reconcile_original(snapshot(job(cluster="a", epoch=2), [A, B], mirrors)).stage is Stage.RUNNING


CORDONED = worker("a", state=State.CORDONED)


@pytest.mark.parametrize(
    ("forged", "there", "why"),
    [
        (job(cluster="a"), CORDONED, "it is cordoned"),
        (job(cluster="a", annotations={CLUSTERS: "b"}), A, "the workload may run on b only"),
        (job(cluster="a", annotations={"jobrelay.dev/cluster-selector": "gpu"}), A, "its labels do not match gpu"),
    ],
)
def test_an_assignment_to_a_worker_that_is_not_allowed_is_not_followed(forged: object, there: object, why: str) -> None:
    workers = [there, worker("b", labels={"gpu": "1"})]
    it = snapshot(forged, workers)  # type: ignore[arg-type]
    assert reconcile_mirror(it, "a", "train").action is None
    found = reconcile_original(it)
    assert isinstance(found.action, CommitAssignment)
    assert (found.action.assignment.cluster, found.action.assignment.epoch) == ("b", 2)
    assert why in found.sentence


def test_what_may_have_been_started_stays() -> None:
    cordoned = job(cluster="a")
    with_mirror = snapshot(cordoned, [CORDONED, B], {"a": mirror(status=running())})
    assert reconcile_original(with_mirror).stage is Stage.RUNNING
    runs = RunHistory()
    runs.creation_sent(Run("a", 1))
    sent = snapshot(cordoned, [CORDONED, B], runs=runs)
    assert reconcile_original(sent).action is None
    assert isinstance(reconcile_mirror(sent, "a", "train").action, ProveGone)
    silent = snapshot(cordoned, [worker("a", lost=10, state=State.CORDONED), B])
    assert reconcile_original(silent).stage is Stage.WORKER_LOST


def test_what_another_replica_may_have_started_is_held_by_the_next_assignment() -> None:
    found = reconcile_original(snapshot(job(cluster="a"), [CORDONED, B], committed=False))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.held == (Run("a", 1),)


async def test_a_forged_assignment_gives_no_way_around_the_own_annotation(fleet: MakeFleet) -> None:
    async with fleet(2, start=False) as it:
        forged = {CLUSTERS: "worker-2", ASSIGNMENT: WorkerAssignment("worker-1", 10**10).encode()}
        await it.submit(annotations=forged)
        await it.start()
        assert (await it.finished())["succeeded"] == 1
        to = assignment_of(await it.client.get(JOBS, "train", "default"))
        assert to is not None
        assert (to.cluster, to.epoch) == ("worker-2", 10**10 + 1)
        assert set(await it.mirrors()) == {"worker-2"}


async def test_an_epoch_of_ten_digits_is_one_run(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        await it.submit(seconds=30, annotations={ASSIGNMENT: WorkerAssignment("worker-1", 10**9).encode()})
        assert await it.runs() == "worker-1"
        mirrors = await it.mirrors()
        uid = mirrors["worker-1"].uid
        await it.client.patch(JOBS, "train", merge_patch({"metadata": {"labels": {"x": "y"}}}), "default")
        await asyncio.sleep(0.5)
        assert (await it.mirrors())["worker-1"].uid == uid


async def test_a_worker_that_was_never_registered_is_waited_for_as_for_a_lost_one(fleet: MakeFleet) -> None:
    async with fleet(1, lost_timeout=1.0) as it:
        await it.submit(annotations={ASSIGNMENT: WorkerAssignment("nowhere", 4).encode()})
        assert (await it.finished())["succeeded"] == 1
        to = assignment_of(await it.client.get(JOBS, "train", "default"))
        assert to is not None
        assert (to.cluster, to.epoch, to.previous) == ("worker-1", 5, "nowhere")
