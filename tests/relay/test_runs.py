"""A run that may exist is treated as one that exists, until its own cluster proves that it is gone."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime

import pytest
from msgspec.structs import replace

from jobrelay.kube import FaultyTransport, merge_patch
from jobrelay.kube.client import Propagation
from jobrelay.kube.fault_injection import Delay, LoseReply
from jobrelay.kube.objects import Object
from jobrelay.kube.resource import JOBS, PODS
from jobrelay.relay.absence import settles_in
from jobrelay.relay.admission import Admitted
from jobrelay.relay.model import State
from jobrelay.relay.original_decision import CommitAssignment, Stage
from jobrelay.relay.reconcile_mirror import CreateMirror, DeleteMirror, ProveGone, reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.runs import KnownRun, RunHistory
from jobrelay.relay.worker_assignment import Run, WorkerAssignment, assignment_of
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.fleets import Fleet, MakeFleet
from tests.relay.snapshots import ago, job, mirror, running, snapshot, worker

A, B = worker("a", identity="uid-a"), worker("b", identity="uid-b")
FIRST = Run("a", 1, "uid-a")
STARTED = {"startTime": "2026-01-01T00:00:00Z"}
CREATE = "POST */jobs?fieldManager=jobrelay"


def assigned(cluster: str, epoch: int = 1, uid: str = "", held: tuple[Run, ...] = ()) -> Object:
    to = WorkerAssignment(cluster, epoch, uid=uid, held=held)
    return job(annotations={ASSIGNMENT: to.encode()})


# What is decided


def test_the_next_run_waits_while_an_earlier_one_may_exist_and_its_worker_proves_that_it_is_gone() -> None:
    moved = assigned("b", 2, "uid-b", held=(FIRST,))
    assert reconcile_mirror(snapshot(moved, [A, B]), "b", "train").action is None
    assert reconcile_mirror(snapshot(moved, [A, B]), "a", "train").action == ProveGone(FIRST)
    told = reconcile_original(snapshot(moved, [A, B]))
    assert (told.stage, "run 1 on a" in told.sentence) == (Stage.MOVING, True)


def test_the_next_run_starts_when_the_earlier_one_is_proven_gone() -> None:
    runs = RunHistory()
    runs.proved_gone(FIRST)
    moved = assigned("b", 2, "uid-b", held=(FIRST,))
    assert isinstance(reconcile_mirror(snapshot(moved, [A, B], runs=runs), "b", "train").action, CreateMirror)


@pytest.mark.parametrize(("lost", "starts"), [(10, False), (1000, True)])
def test_an_earlier_run_out_of_reach_is_let_go_by_the_rule_for_lost_workers(lost: float, *, starts: bool) -> None:
    away = replace(worker("a", lost=lost), identity="uid-a")
    found = reconcile_mirror(snapshot(assigned("b", 2, "uid-b", held=(FIRST,)), [away, B]), "b", "train")
    assert isinstance(found.action, CreateMirror) is starts
    assert starts or found.requeue_after == 890


@pytest.mark.parametrize("suspend", [False, True])
def test_a_started_job_without_an_assignment_waits_for_a_proof_of_each_worker(*, suspend: bool) -> None:
    found = snapshot(job(status=STARTED, suspend=suspend), [A, B], inherited=True, known_since=ago(1000))
    told = reconcile_original(found)
    assert (told.stage, told.action) == (Stage.MOVING, None)
    assert told.sentence.endswith("no earlier run can be left on a, b.")
    assert reconcile_mirror(found, "a", "train").action == ProveGone(Run("a", 0, "uid-a", STARTED["startTime"]))
    assert reconcile_mirror(found, "b", "train").action == ProveGone(Run("b", 0, "uid-b", STARTED["startTime"]))


def test_a_started_job_without_an_assignment_is_placed_when_each_worker_has_proven_that_its_run_is_gone() -> None:
    runs = RunHistory()
    for each in ("a", "b"):
        runs.proved_gone(Run(each, 0, f"uid-{each}"))
    found = reconcile_original(snapshot(job(status=STARTED), [A, B], inherited=True, known_since=ago(1000), runs=runs))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.held == ()


@pytest.mark.parametrize(
    ("known", "removed", "until"),
    [(10, {}, "12:14:50"), (1000, {"c": ago(20)}, "12:14:40"), (1000, {"c": ago(2000)}, "")],
)
def test_a_started_job_without_an_assignment_waits_as_for_a_worker_that_was_removed(
    known: float, removed: dict[str, datetime], until: str
) -> None:
    """It may have been removed while no relay ran, so nobody knows its name."""
    found = snapshot(job(status=STARTED), [B], inherited=True, known_since=ago(known), removed=removed)
    sentence = reconcile_original(found).sentence
    assert ("no longer registered" in sentence, until in sentence) == (bool(until), True)


def test_a_worker_that_does_not_serve_the_namespace_proves_nothing_and_is_waited_for_as_if_removed() -> None:
    other = replace(A, namespaces=frozenset({"other"}))
    found = snapshot(job(status=STARTED), [other, B], inherited=True, known_since=ago(10))
    assert [run.cluster for run in found.held] == ["b", ""]


def test_only_the_worker_that_has_admitted_a_started_job_by_its_own_queue_can_have_its_run() -> None:
    admission = Admitted(chosen="b")
    found = snapshot(job(status=STARTED), [A, B], inherited=True, known_since=ago(10), admission=admission)
    assert [run.cluster for run in found.held] == ["b"]


def test_an_assignment_that_is_restored_from_a_mirror_holds_no_runs_of_which_nothing_is_known() -> None:
    found = snapshot(job(status=STARTED), [A, B], {"a": mirror(status=running())}, inherited=True)
    action = reconcile_original(found).action
    assert isinstance(action, CommitAssignment)
    assert (action.assignment.cluster, action.assignment.held) == ("a", ())


@pytest.mark.parametrize(("status", "inherited"), [({}, True), (STARTED, False)])
def test_a_job_that_was_never_started_or_always_seen_waits_for_no_proof(
    status: dict[str, str], *, inherited: bool
) -> None:
    found = reconcile_original(snapshot(job(status=status), [A, B], inherited=inherited))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.held == ()


def test_a_run_whose_creation_had_no_effect_is_not_held() -> None:
    runs = RunHistory()
    runs.committed(FIRST)
    runs.creation_had_no_effect(runs.creation_sent(FIRST))
    assert not runs.may_exist(FIRST)


def test_a_creation_without_an_answer_is_held_by_the_next_assignment() -> None:
    runs = RunHistory()
    runs.committed(FIRST)
    runs.creation_sent(FIRST)
    runs.creation_unanswered(FIRST, 5.0)
    draining = replace(A, state=State.DRAINING)
    found = reconcile_original(snapshot(assigned("a", 1, "uid-a"), [draining, B], runs=runs))
    assert isinstance(found.action, CommitAssignment)
    assert found.action.assignment.held == (FIRST,)


def test_a_worker_whose_name_points_at_another_cluster_has_not_got_the_run() -> None:
    other = replace(A, identity="uid-x")
    since = {"uid-a": ago(10)}
    found = snapshot(assigned("a", 1, "uid-a"), [other, B], removed=since)
    assert reconcile_mirror(found, "a", "train").action is None
    told = reconcile_original(found)
    assert (told.stage, told.action) == (Stage.WORKER_LOST, None)
    assert "another cluster" in told.sentence
    later = snapshot(assigned("a", 1, "uid-a"), [other, B], removed={"uid-a": ago(1000)})
    assert isinstance(reconcile_original(later).action, CommitAssignment)


def test_a_cluster_that_is_registered_under_another_name_keeps_its_run() -> None:
    renamed = replace(worker("new"), identity="uid-a")
    found = snapshot(
        assigned("a", 1, "uid-a"), [renamed, B], {"new": mirror(status=running())}, owners={"uid-a": "new"}
    )
    assert not isinstance(reconcile_mirror(found, "new", "train").action, DeleteMirror)
    assert reconcile_original(found).stage is Stage.RUNNING


def test_an_assignment_that_was_removed_is_restored_by_the_process_that_knew_it() -> None:
    known = WorkerAssignment("a", 3, uid="uid-a")
    action = reconcile_original(snapshot(job(), [A, B], remembered=known)).action
    assert action == CommitAssignment(known, starts=False)


def test_a_workload_of_unknown_past_waits_for_workers_that_were_not_seen_yet() -> None:
    unseen = replace(worker("a", lost=10), seen=False)
    assert reconcile_original(snapshot(job(), [unseen, B], inherited=True)).action is None
    assert isinstance(reconcile_original(snapshot(job(), [unseen, B])).action, CommitAssignment)
    late = replace(worker("a", lost=1000), seen=False)
    assert isinstance(reconcile_original(snapshot(job(), [late, B], inherited=True)).action, CommitAssignment)


def test_workers_that_were_not_seen_are_not_given_up_while_most_are_lost_at_once() -> None:
    unseen = [replace(worker(name, lost=1000), seen=False) for name in "ab"]
    assert reconcile_original(snapshot(job(), [*unseen, worker("c")], inherited=True)).action is None
    declared = [replace(each, state=State.LOST) for each in unseen]
    found = reconcile_original(snapshot(job(), [*declared, worker("c")], inherited=True))
    assert isinstance(found.action, CommitAssignment)


def test_an_inherited_assignment_is_not_followed_before_all_workers_were_seen() -> None:
    unseen = replace(worker("a", lost=10), seen=False)
    found = snapshot(assigned("b", 1, "uid-b"), [unseen, B], inherited=True, committed=False)
    assert reconcile_mirror(found, "b", "train").action is None
    seen = snapshot(assigned("b", 1, "uid-b"), [A, B], inherited=True, committed=False)
    assert reconcile_mirror(seen, "b", "train").action == ProveGone(Run("b", 1, "uid-b"))


def test_what_was_not_answered_settles_after_the_worker_answered_for_some_time() -> None:
    known = KnownRun(FIRST, committed_here=True, sent=True, unsettled_at=100.0)
    assert settles_in(known, 0.0, 50.0, 90.0, 130.0) == 60.0
    assert settles_in(known, 0.0, 120.0, 90.0, 130.0) == 80.0
    assert settles_in(replace(known, unsettled_at=None), 0.0, 120.0, 90.0, 130.0) == 0.0


def test_what_an_earlier_leader_sent_settles_after_this_one_began_to_lead() -> None:
    assert settles_in(KnownRun(FIRST), 100.0, 50.0, 90.0, 130.0) == 60.0


# What happens


@asynccontextmanager
async def no_overlap(it: Fleet) -> AsyncIterator[None]:
    """Fails if pods of the Job run on two workers at the same time."""

    async def watch() -> None:
        while True:
            running_on = {name for name in it.workers for pod in await live_pods(it, name)}
            assert len(running_on) < 2, f"it runs on {running_on}"
            await asyncio.sleep(0.02)

    task = asyncio.create_task(watch())
    yield
    if task.done():
        task.result()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def live_pods(it: Fleet, name: str) -> list[str]:
    pods = (await it.on(name).list(PODS, "default")).items
    return [pod.name for pod in pods if pod.decode()["status"].get("phase") in ("Pending", "Running")]


def drain(it: Fleet, name: str) -> None:
    specs = it.source.specs
    it.source.change({**specs, name: dataclasses.replace(specs[name], state=State.DRAINING)})


async def sent(link: FaultyTransport) -> None:
    async with asyncio.timeout(10):
        while not link.injected:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("fault", [Delay(1.0), LoseReply()])
async def test_a_worker_that_is_drained_while_a_creation_is_under_way(
    fleet: MakeFleet, fault: Delay | LoseReply
) -> None:
    async with fleet(2) as it, no_overlap(it):
        it.links["worker-1"].add(fault, CREATE)
        await it.submit(seconds=1, annotations={"jobrelay.dev/preferred-clusters": "worker-1"})
        await sent(it.links["worker-1"])
        drain(it, "worker-1")
        assert (await it.finished())["succeeded"] == 1


async def test_answers_that_are_lost_again_and_again_do_not_move_a_job_that_was_created(fleet: MakeFleet) -> None:
    async with fleet(2) as it, no_overlap(it):
        it.links["worker-1"].add(LoseReply(), CREATE, times=None)
        await it.submit(seconds=1, annotations={"jobrelay.dev/preferred-clusters": "worker-1"})
        assert (await it.finished())["succeeded"] == 1
        assert await it.place() == "worker-1"


@pytest.mark.parametrize("propagation", ["Background", "Orphan"])
async def test_a_mirror_that_was_deleted_is_created_again_when_its_pods_have_ended(
    fleet: MakeFleet, propagation: Propagation
) -> None:
    async with fleet(1) as it:
        await it.submit(seconds=1.5)
        await it.runs()
        (before,) = await live_pods(it, "worker-1")
        await it.on("worker-1").delete(JOBS, "train", "default", propagation=propagation)

        async def again() -> bool:
            pods = await live_pods(it, "worker-1")
            assert pods == [before] or before not in pods, "a second copy runs"
            return bool(await it.mirrors())

        await it.until(again)
        assert (await it.finished())["succeeded"] == 1


async def test_the_assignment_is_gone_and_the_relay_restarts_while_its_worker_is_cut_off(fleet: MakeFleet) -> None:
    async with fleet(2, lost_timeout=60.0) as it:
        await it.submit(seconds=3)
        where = await it.runs()
        await it.kill()
        gone = merge_patch({"metadata": {"annotations": {ASSIGNMENT: None}}})
        await it.client.patch(JOBS, "train", gone, "default")
        it.links[where].partition()
        async with no_overlap(it):
            await it.start()
            await asyncio.sleep(1.0)
            assert await it.place() == ""
            it.links[where].heal()
            assert (await it.finished())["succeeded"] == 1
            assert await it.place() == where


async def test_a_name_that_is_pointed_at_another_cluster_starts_nothing_there(fleet: MakeFleet) -> None:
    async with fleet(3, lost_timeout=60.0) as it, no_overlap(it):
        specs = dict(it.source.specs)
        it.source.change({name: specs[name] for name in ("worker-1", "worker-2")})
        await it.submit(seconds=3, annotations={"jobrelay.dev/preferred-clusters": "worker-1"})
        assert await it.runs() == "worker-1"
        old, it.links["worker-1"] = it.links["worker-1"], it.links["worker-3"]
        old.partition()
        await asyncio.sleep(2.0)
        assert set(await it.mirrors()) == {"worker-1"}
        to = assignment_of(await it.client.get(JOBS, "train", "default"))
        assert to is not None
        assert to.epoch == 1


async def test_a_cluster_that_gets_a_second_name_keeps_its_job(fleet: MakeFleet) -> None:
    async with fleet(1, lost_timeout=60.0) as it:
        await it.submit(seconds=2)
        assert await it.runs() == "worker-1"
        uid = (await it.mirrors())["worker-1"].uid
        it.links["first"] = FaultyTransport(it.workers["worker-1"].transport())
        spec = it.source.specs["worker-1"]
        it.source.change({"first": dataclasses.replace(spec, name="first", order=-1), "worker-1": spec})
        await asyncio.sleep(0.5)
        assert (await it.mirrors())["worker-1"].uid == uid
        assert (await it.finished())["succeeded"] == 1
