"""Promises are checked against what was committed, and known limits are no breaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.cluster.store.store import Change, Item
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers.bounds import Bounds
from jobrelay.simulation import Incident, JobPlan, Schedule
from jobrelay.simulation.promises import TENANT, Promises

SETTINGS = Settings("simulated", lost_timeout=60.0, margin=10.0)
COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}


class Seen:
    """Promises, and which of them were broken."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        self.now = 5.0
        self.promises = Promises(lambda: self.now, SETTINGS, lambda name, text: self.broken.append(name))
        self.promises.created("u", JobPlan("a", 0, 5, fenced=False))

    def original(self, assignment: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> None:
        text = {"jobrelay.dev/assignment": msgspec.json.encode(assignment).decode()} if assignment else {}
        self.change("management", "jobs.batch", "u", {"name": "a", "annotations": text}, status=status or {})

    def mirror(self, epoch: int = 1, cluster: str = "w", uid: str = "m") -> None:
        marks = {"jobrelay.dev/origin-uid": "u", "jobrelay.dev/epoch": str(epoch)}
        self.change(cluster, "jobs.batch", uid, {"labels": {"jobrelay.dev/origin": "o"}, "annotations": marks})

    def pod(self, phase: str, cluster: str = "w", mirror: str = "m") -> None:
        label = {"labels": {"batch.kubernetes.io/controller-uid": mirror}}
        self.change(cluster, "pods", f"pod of {mirror}", label, status={"phase": phase})

    def change(self, cluster: str, resource: str, uid: str, metadata: dict[str, Any], **fields: Any) -> None:
        raw = msgspec.json.encode({"metadata": {"uid": uid, **metadata}, **fields})
        self.promises.changed(cluster, resource, Change(1, None, Item("default", uid, 1, raw), raw))


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_a_mirror_of_a_committed_run_is_fine(seen: Seen) -> None:
    seen.original({"cluster": "w", "epoch": 1})
    seen.mirror(1)
    assert seen.broken == []


def test_a_mirror_without_an_assignment_is_not(seen: Seen) -> None:
    seen.original({"cluster": "w", "epoch": 1})
    seen.mirror(2)
    assert seen.broken == ["commit-first"]


def test_an_assignment_does_not_go_back(seen: Seen) -> None:
    for epoch in (1, 2, 1):
        seen.original({"cluster": "w", "epoch": epoch})
    assert seen.broken == ["commit-first"]


def test_an_assignment_of_a_backup_does_not_count_as_going_back(seen: Seen) -> None:
    seen.original({"cluster": "w", "epoch": 2})
    seen.promises.management_restored([])
    seen.original({"cluster": "w", "epoch": 1})
    assert seen.broken == []


@pytest.mark.parametrize(("before", "after"), [({"failed": 2}, {"failed": 1}), (COMPLETE, {})])
def test_a_status_does_not_go_back(seen: Seen, before: dict[str, Any], after: dict[str, Any]) -> None:
    seen.original(status=before)
    seen.original(status=after)
    assert seen.broken == ["legal-status"]


def test_an_end_is_reported_only_if_pods_succeeded(seen: Seen) -> None:
    seen.original()
    seen.original(status=COMPLETE)
    assert seen.broken == ["legal-status"]


def test_an_end_that_happened_may_be_reported(seen: Seen) -> None:
    seen.original({"cluster": "w", "epoch": 1})
    seen.mirror()
    seen.pod("Running")
    seen.pod("Succeeded")
    seen.original({"cluster": "w", "epoch": 1}, COMPLETE)
    assert seen.broken == []


def test_the_end_of_a_lease_is_not_the_end_of_a_job(seen: Seen) -> None:
    seen.original()
    seen.original(status={"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]})
    assert seen.broken == ["legal-status"]


def test_nobody_deletes_the_job_of_a_tenant(seen: Seen) -> None:
    gone = {"name": "x", "namespace": TENANT, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    seen.change("w", "jobs.batch", "theirs", gone)
    assert seen.broken == ["own-only"]


def test_nothing_moves_while_most_workers_are_out_of_reach(seen: Seen) -> None:
    seen.original({"cluster": "w", "epoch": 1})
    seen.promises.cut_off(frozenset({"w", "v"}))
    seen.original({"cluster": "x", "epoch": 2})
    assert seen.broken == ["bounded-blast"]


def test_something_may_move_while_a_worker_is_lost_because_its_name_was_given_away(seen: Seen) -> None:
    seen.original({"cluster": "w", "epoch": 1})
    seen.promises.repointed()
    seen.promises.cut_off(frozenset({"w", "v"}))
    seen.original({"cluster": "x", "epoch": 2})
    assert seen.broken == []


@pytest.mark.parametrize(("excused", "broken"), [(False, ["one-run"]), (True, [])])
def test_a_second_run_needs_an_excuse(seen: Seen, excused: bool, broken: list[str]) -> None:
    for epoch, cluster in ((1, "w"), (2, "v")):
        seen.original({"cluster": cluster, "epoch": epoch})
        seen.mirror(epoch, cluster, f"m{epoch}")
    if excused:
        seen.promises.unreachable("w", 61)
    seen.pod("Running", "w", "m1")
    seen.pod("Running", "v", "m2")
    assert seen.broken == broken


@pytest.mark.parametrize(("late", "broken"), [("m", []), ("n", ["one-run"])])
def test_only_a_run_from_before_its_worker_was_declared_lost_is_excused(
    seen: Seen, late: str, broken: list[str]
) -> None:
    seen.promises.created("u", JobPlan("a", 0, 5, fenced=True))
    seen.original({"cluster": "w", "epoch": 1})
    seen.mirror(1)
    seen.promises.declared_lost("w")
    seen.original({"cluster": "v", "epoch": 2})
    seen.mirror(2, "v", "o")
    seen.pod("Running", "v", "o")
    seen.original({"cluster": "w", "epoch": 3})
    seen.mirror(3, "w", "n")
    seen.pod("Running", "w", late)
    assert seen.broken == broken


def test_what_a_backup_of_a_worker_brings_back_is_excused(seen: Seen) -> None:
    seen.original({"cluster": "v", "epoch": 2})
    seen.mirror(2, "v", "m2")
    seen.pod("Running", "v", "m2")
    marks = {"uid": "m1", "annotations": {"jobrelay.dev/origin-uid": "u"}}
    label = {"uid": "p1", "labels": {"batch.kubernetes.io/controller-uid": "m1"}}
    pod = {"metadata": label, "status": {"phase": "Running"}}
    seen.promises.worker_restored("w", [{"metadata": marks}], [pod])
    assert seen.broken == []


def test_nothing_runs_on_a_wiped_worker(seen: Seen) -> None:
    seen.original({"cluster": "w", "epoch": 1})
    seen.mirror(1, "w", "m1")
    seen.pod("Running", "w", "m1")
    seen.promises.worker_restored("w", (), ())
    seen.mirror(1, "w", "m2")
    seen.pod("Running", "w", "m2")
    assert seen.broken == []


@pytest.mark.parametrize(("started", "broken"), [(60.0, []), (80.0, ["bounded-blast"])])
def test_a_silent_worker_does_not_delay_the_start_of_jobs(seen: Seen, started: float, broken: list[str]) -> None:
    seen.now = 50.0
    seen.promises.created("u", JobPlan("a", 0, 5, fenced=False))
    seen.original({"cluster": "w", "epoch": 1})
    seen.mirror()
    seen.now = started
    seen.pod("Running")
    seen.promises.check_starts(Schedule(1, 2, (), (Incident(10, "isolate", "worker-1", 100),)))
    assert seen.broken == broken


def test_a_job_is_not_created_where_it_may_not_run(seen: Seen) -> None:
    seen.promises.created("u", JobPlan("a", 0, 5, fenced=False, clusters=("worker-1",)))
    seen.original({"cluster": "worker-1", "epoch": 1})
    seen.mirror(cluster="worker-1")
    assert seen.broken == []
    seen.mirror(cluster="worker-2", uid="n")
    assert seen.broken == ["allowed-only"]


def test_a_run_that_a_user_makes_up_is_not_moved_by_the_relay(seen: Seen) -> None:
    seen.promises.cut_off(frozenset({"w"}))
    seen.original({"cluster": "w", "epoch": 1})
    seen.promises.forged("u", 2)
    seen.original({"cluster": "v", "epoch": 2})
    assert seen.broken == []


@pytest.mark.parametrize("sizes", [[5] * 4, [8, 8], [11]], ids=["many", "much", "large"])
def test_what_a_relay_holds_of_a_worker_is_bounded(seen: Seen, sizes: list[int]) -> None:
    bounds = Bounds(max_mirrors=3, max_mirror_bytes=15, max_object_bytes=10)
    seen.promises.check_held("w", [5, 5, 5], bounds)
    assert seen.broken == []
    seen.promises.check_held("w", sizes, bounds)
    assert seen.broken == ["bounded-memory"]
