"""The history of a workload's runs: worker, from, to and why, on the original and within bounds."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube.resource import JOBS
from jobrelay.relay.model import State
from jobrelay.relay.original_decision import CommitAssignment
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.run_history import past_run_text, run_history
from jobrelay.relay.worker_assignment import PastRun, Run, WorkerAssignment, assignment_of
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.fleets import MakeFleet

from .snapshots import job, snapshot, worker

NOON = "2026-01-01T12:00:00Z"


def committed(to: WorkerAssignment, state: State = State.DRAINING) -> WorkerAssignment:
    """What is decided about a workload whose worker a is being drained."""
    found = snapshot(job(annotations={ASSIGNMENT: to.encode()}), [worker("a", state=state), worker("b")])
    action = reconcile_original(found).action
    assert isinstance(action, CommitAssignment)
    return action.assignment


def test_a_move_is_written_with_its_reason() -> None:
    new = committed(WorkerAssignment("a", 1, "2026-01-01T11:00:00Z"))
    assert (new.cluster, new.epoch) == ("b", 2)
    assert new.earlier == (PastRun("a", 1, "2026-01-01T11:00:00Z", NOON, "a is draining"),)
    assert [past_run_text(run) for run in run_history(new)[1:]] == [
        f"run 1 on a from 2026-01-01T11:00:00Z to {NOON}: a is draining"
    ]


def test_a_first_run_has_no_history() -> None:
    found = snapshot(job(), [worker("b")])
    action = reconcile_original(found).action
    assert isinstance(action, CommitAssignment)
    assert (action.assignment.earlier, len(run_history(action.assignment))) == ((), 1)


@given(st.lists(st.text(max_size=2000), max_size=40))
def test_however_often_it_moves_the_annotation_stays_readable(reasons: list[str]) -> None:
    to = WorkerAssignment("a", 1, NOON)
    for epoch, why in enumerate(reasons, 2):
        to = WorkerAssignment("a", epoch, NOON, "a", earlier=to.left(NOON, why))
    assert len(to.earlier) == min(len(reasons), 10)
    assert assignment_of(job(annotations={ASSIGNMENT: to.encode()})) == to
    assert [run["run"] for run in run_history(to)] == [to.epoch - each for each in range(len(to.earlier) + 1)]


def test_what_waits_for_admission_is_no_run() -> None:
    evicted = WorkerAssignment("a", 2, NOON, "a", waiting=True, earlier=(PastRun("a", 1, NOON, NOON, "preempted"),))
    assert evicted.left(NOON, "") == evicted.earlier
    assert [(run["run"], run.get("present", False)) for run in run_history(evicted)] == [(1, False)]


def test_a_run_that_may_still_exist_is_marked() -> None:
    to = WorkerAssignment("b", 2, NOON, "a", held=(Run("a", 1),), earlier=(PastRun("a", 1, "", "", "a is lost"),))
    assert run_history(to)[1] == {"cluster": "a", "run": 1, "why": "a is lost", "mayExist": True}
    assert past_run_text(run_history(to)[1]) == "run 1 on a (it may still exist): a is lost"


async def test_a_drained_job_remembers_where_it_was(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000)
        first = await it.runs()
        specs = dict(it.source.specs)
        it.source.change(specs | {first: dataclasses.replace(specs[first], state=State.DRAINING)})

        async def moved() -> bool:
            return await it.place() not in ("", first)

        await it.until(moved, 60)
        to = assignment_of(await it.client.get(JOBS, "train", "default"))
        assert to is not None
        assert [(past.cluster, past.epoch, past.why) for past in to.earlier] == [(first, 1, f"{first} is draining")]
