"""one-run: with fencing on, a Job never runs on two workers at the same time, whatever the network does.

A small world on fake time: workers with a Job controller that knows nothing but deadlines, pods that take their grace
to end, links that break for random times in either direction of the protocol, and a relay that is restarted now and
then with nothing left but what is written on the Job. The relay's decisions are the real ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.relay.model import WorkerFacts
from jobrelay.relay.reconcile_mirror import CreateMirror, DeleteMirror, UpdateMirror, reconcile_mirror
from jobrelay.relay.reconcile_original import CommitAssignment, reconcile_original
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.snapshots import NOW, job, snapshot

STEP = 5.0
HORIZON = 600.0
LEASE, MARGIN, TIMEOUT, GRACE = 60.0, 30.0, 45.0, 30.0
TRIALS = 500


@dataclass
class Worker:
    """A cluster with at most one mirror, whose pods run from its start until they are stopped."""

    name: str
    skew: float
    reachable_from: float = 0.0
    body: dict[str, Any] | None = None
    runs_until: float | None = None
    """When the last pod ends, once it was told to; None while nothing told it."""
    running: bool = False
    late: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)

    def clock(self, t: float) -> datetime:
        return NOW + timedelta(seconds=t + self.skew)

    def reachable(self, t: float) -> bool:
        return t >= self.reachable_from

    def object(self) -> Object | None:
        return decode_object(msgspec.json.encode(self.body)) if self.body is not None else None

    def create(self, body: dict[str, Any], t: float) -> None:
        self.body = msgspec.json.decode(msgspec.json.encode(body))
        self.body["metadata"] |= {"uid": f"{self.name}{t}", "resourceVersion": "1", "generation": 1}
        self.body["status"] = {"startTime": format_time(self.clock(t)), "active": 1, "ready": 1}
        self.running, self.runs_until = True, None

    def patch(self, uid: str, spec: dict[str, Any]) -> None:
        if self.body is not None and self.body["metadata"]["uid"] == uid:
            self.body["spec"] |= spec

    def stop(self, t: float) -> None:
        if self.running and self.runs_until is None:
            self.runs_until = t + GRACE

    def step(self, t: float) -> None:
        """What the cluster does by itself, whether anyone can reach it or not."""
        for late in [each for each in self.late if each[0] <= t]:
            self.late.remove(late)
            self.patch(*late[1:])
        if self.body is not None and self.running:
            started = datetime.fromisoformat(self.body["status"]["startTime"])
            deadline = self.body["spec"].get("activeDeadlineSeconds")
            if deadline is not None and self.clock(t) >= started + timedelta(seconds=deadline):
                self.stop(t)
        if self.runs_until is not None and t >= self.runs_until:
            self.running, self.runs_until = False, None
            if self.body is not None and "deletionTimestamp" in self.body["metadata"]:
                self.body = None
            elif self.body is not None:
                self._fail(t)

    def _fail(self, t: float) -> None:
        assert self.body is not None
        one = {"status": "True", "reason": "DeadlineExceeded", "lastTransitionTime": format_time(self.clock(t))}
        self.body["status"] |= {
            "active": 0,
            "ready": 0,
            "conditions": [{**one, "type": "FailureTarget"}, {**one, "type": "Failed"}],
        }

    def delete(self, t: float) -> None:
        assert self.body is not None
        if self.running:
            self.body["metadata"]["deletionTimestamp"] = format_time(self.clock(t))
            self.stop(t)
        else:
            self.body = None


class World:
    """The management Job, the workers, and one relay."""

    def __init__(self, seed: int, margin: float = MARGIN) -> None:
        self.random, self.margin = Random(seed), margin
        self.workers = {name: Worker(name, self.random.uniform(-MARGIN / 2, MARGIN / 2)) for name in ("a", "b", "c")}
        self.assignment: str | None = None
        self.lost: dict[str, float] = {}
        self.seen: dict[str, Object] = {}
        self.moves = 0

    def play(self) -> None:
        t = 0.0
        while t < HORIZON:
            self._disturb(t)
            for worker in self.workers.values():
                worker.step(t)
            self._check(t)
            self._relay(t)
            self._check(t)
            t += STEP

    def _disturb(self, t: float) -> None:
        for worker in self.workers.values():
            if worker.reachable(t) and self.random.random() < 0.02:
                worker.reachable_from = t + self.random.expovariate(1 / 150)
        if self.random.random() < 0.01:
            self.seen.clear()  # the relay is restarted; the time of losses is on record

    def _check(self, t: float) -> None:
        running = [worker.name for worker in self.workers.values() if worker.running]
        assert len(running) <= 1, f"{running} run at {t}"

    def _relay(self, t: float) -> None:
        for name, worker in self.workers.items():
            if worker.reachable(t):
                self.lost.pop(name, None)
                found = worker.object()
                if found is None:
                    self.seen.pop(name, None)
                else:
                    self.seen[name] = found
            else:
                self.lost.setdefault(name, t)
        act = reconcile_original(self._snapshot(t)).action
        if isinstance(act, CommitAssignment):
            self.assignment = act.assignment.encode()
            self.moves += 1
        known = self._snapshot(t)
        for name in self.workers:
            self._reconcile_mirror(known, name, t)

    def _snapshot(self, t: float) -> WorkloadSnapshot:
        now = NOW + timedelta(seconds=t)
        marks = {"jobrelay.dev/fencing": "true"}
        if self.assignment is not None:
            marks[ASSIGNMENT] = self.assignment
        facts = [
            WorkerFacts(name, name not in self.lost, _moment(self.lost.get(name)), "cut off") for name in self.workers
        ]
        limits = {"lease": LEASE, "margin": self.margin, "lost_timeout": TIMEOUT, "freeze_window": 0.0}
        return snapshot(job(annotations=marks), facts, dict(self.seen), now=now, **limits)

    def _reconcile_mirror(self, known: WorkloadSnapshot, name: str, t: float) -> None:
        worker = self.workers[name]
        if name in self.lost:
            return
        match reconcile_mirror(known, name, "train").action:
            case CreateMirror(body):
                assert worker.body is None
                worker.create(dict(body), t)
                self.seen[name] = _found(worker)
            case UpdateMirror(mirror, patch):
                uid = mirror.obj.uid
                if (
                    self.random.random() < 0.3
                ):  # it is cut off just now, and the patch arrives when it is back, or much later
                    worker.reachable_from = t + self.random.expovariate(1 / 150)
                    worker.late.append((t + self.random.uniform(0, 200), uid, dict(patch.get("spec", {}))))
                else:
                    worker.patch(uid, dict(patch.get("spec", {})))
            case DeleteMirror():
                worker.delete(t)


def _found(worker: Worker) -> Object:
    found = worker.object()
    assert found is not None
    return found


def _moment(t: float | None) -> datetime | None:
    return NOW + timedelta(seconds=t) if t is not None else None


@pytest.mark.parametrize("block", range(10))
def test_a_fenced_job_never_runs_twice_at_the_same_time(block: int) -> None:
    moves = 0
    for seed in range(block * TRIALS // 10, (block + 1) * TRIALS // 10):
        world = World(seed)
        world.play()
        moves += world.moves
    assert moves > TRIALS / 10, "the trials must move Jobs"


def test_the_trials_find_overlaps_where_nobody_waits_for_the_lease() -> None:
    def overlaps(seed: int) -> bool:
        try:
            World(seed, margin=-LEASE).play()
        except AssertionError:
            return True
        return False

    assert any(overlaps(seed) for seed in range(TRIALS))
