"""A fleet on virtual time: the same seed gives the same run, promises hold, and broken ones are found."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from jobrelay.cluster.store.store import Change, Item
from jobrelay.simulation import INCIDENTS, Incident, JobPlan, Schedule, draw, play, shrink
from jobrelay.simulation.running import DoubleRun, RunningPods

JOB = JobPlan("job-1", at=5, seconds=30, fenced=False)


def test_a_quiet_fleet_runs_its_jobs() -> None:
    outcome = play(Schedule(1, 2, (JOB,)))
    assert outcome.broken == []
    assert outcome.seconds < 120


@pytest.mark.parametrize("seed", range(12))
def test_promises_hold_whatever_goes_wrong(seed: int) -> None:
    outcome = play(draw(seed))
    assert outcome.broken == [], "\n".join(outcome.story)


def test_a_seed_is_one_run_in_every_process() -> None:
    program = "from jobrelay.simulation import *; print(play(draw(3)).digest)"
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    found = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
        for _ in range(2)
    ]
    assert found[0].stdout == found[1].stdout
    assert len(found[0].stdout.strip()) == 64


def test_a_worker_that_is_out_of_reach_keeps_its_job_until_the_timeout() -> None:
    outcome = play(
        Schedule(4, 2, (JOB,), (Incident(8, "isolate", "worker-1", 20), Incident(8, "isolate", "worker-2", 20)))
    )
    assert outcome.broken == []


@pytest.mark.parametrize("kind", sorted(INCIDENTS))
def test_every_kind_of_incident_can_be_drawn(kind: str) -> None:
    found = [incident for seed in range(6) for incident in draw(seed, [kind]).incidents]
    assert {incident.kind for incident in found} == {kind}
    assert all(str(incident).startswith(kind) for incident in found)


def change(uid: str, metadata: dict[str, Any], **fields: Any) -> Change:
    raw = msgspec.json.encode({"metadata": {"uid": uid, **metadata}, **fields})
    return Change(1, None, Item("default", uid, 1, raw), raw)


def test_two_runs_at_the_same_time_are_seen() -> None:
    found: list[DoubleRun] = []
    pods = RunningPods(lambda: 7.0, found.append)
    for cluster, mirror in (("a", "m1"), ("b", "m2")):
        marks = {"annotations": {"jobrelay.dev/origin-uid": "original"}}
        pods.changed(cluster, "jobs.batch", change(mirror, marks))
        label = {"labels": {"batch.kubernetes.io/controller-uid": mirror}}
        pods.changed(cluster, "pods", change(f"pod-{mirror}", label, status={"phase": "Running"}))
    assert [(each.first.cluster, each.second.cluster, each.at) for each in found] == [("a", "b", 7.0)]


def test_a_broken_promise_is_shrunk_to_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = Incident(8, "isolate", "worker-1", 20)
    schedule = Schedule(
        5, 2, (JOB, JobPlan("job-2", 6, 5, fenced=False)), (needed, Incident(9, "drain", "worker-2", 5))
    )
    broken = play(Schedule(5, 2, (JOB,)))
    broken.broken.append("one-run: x")
    quiet = play(Schedule(5, 2, (JOB,)))

    def pretend(tried: Schedule) -> object:
        return broken if needed in tried.incidents else quiet

    monkeypatch.setattr("jobrelay.simulation.shrinking.play", pretend)
    found, _ = shrink(schedule, broken)
    assert found.incidents == (needed,)
    assert len(found.jobs) == 1
