"""one-run: with fencing on, a Job never runs on two workers at the same time, whatever the network does.

A small world on fake time: workers with a Job controller that knows suspensions and deadlines and is down now and then
before it starts something, clocks that are minutes apart, pods that take their grace to end, links that break for
random times in either direction of the protocol, and a relay that is replaced now and then by one with another clock
and with nothing left but what is written on the Job. The relay's decisions are the real ones.
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
from jobrelay.relay import health
from jobrelay.relay.model import ClockReading, WorkerFacts
from jobrelay.relay.original_decision import CommitAssignment, RecordStart
from jobrelay.relay.reconcile_mirror import CreateMirror, DeleteMirror, ProveGone, UpdateMirror, reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.worker_assignment import WorkerAssignment
from jobrelay.relay.workload_record import WorkloadRecord
from jobrelay.workloads.names import ASSIGNMENT
from tests.relay.snapshots import NOW, job, snapshot

STEP = 5.0
HORIZON = 600.0
LEASE, MARGIN, TIMEOUT, GRACE = 60.0, 30.0, 45.0, 30.0
TRIALS = 500
SKEW = 200.0


@dataclass
class Worker:
    """A cluster with at most one mirror, whose pods run from its start until they are stopped."""

    name: str
    skew: float
    reachable_from: float = 0.0
    controller_from: float = 0.0
    """When its Job controller is up again."""
    body: dict[str, Any] | None = None
    runs_until: float | None = None
    """When the last pod ends, once it was told to; None while nothing told it."""
    running: bool = False
    late: list[tuple[float, dict[str, Any]]] = field(default_factory=list)

    def clock(self, t: float) -> datetime:
        return NOW + timedelta(seconds=t + self.skew)

    def reachable(self, t: float) -> bool:
        return t >= self.reachable_from

    def object(self) -> Object | None:
        return decode_object(msgspec.json.encode(self.body)) if self.body is not None else None

    def create(self, body: dict[str, Any], t: float) -> None:
        self.body = msgspec.json.decode(msgspec.json.encode(body))
        self.body["metadata"] |= {"uid": f"{self.name}{t}", "resourceVersion": "1", "generation": 1}
        self.body["status"] = {}

    def patch(self, change: dict[str, Any]) -> None:
        if self.body is None:
            return
        known = self.body["metadata"]
        if all(change["metadata"].get(name, known[name]) == known[name] for name in ("uid", "resourceVersion")):
            self.body["spec"] |= change.get("spec", {})
            self._changed()

    def _changed(self) -> None:
        assert self.body is not None
        self.body["metadata"]["resourceVersion"] = str(int(self.body["metadata"]["resourceVersion"]) + 1)

    def stop(self, t: float) -> None:
        if self.running and self.runs_until is None:
            self.runs_until = t + GRACE

    def step(self, t: float) -> None:
        """What the cluster does by itself, whether anyone can reach it or not."""
        for late in [each for each in self.late if each[0] <= t]:
            self.late.remove(late)
            self.patch(late[1])
        if self.body is not None and t >= self.controller_from:
            self._sync(self.body, t)
        if self.runs_until is not None and t >= self.runs_until:
            self.running, self.runs_until = False, None
            if self.body is not None and "deletionTimestamp" in self.body["metadata"]:
                self.body = None
            elif self.body is not None:
                self._fail(t)

    def _sync(self, body: dict[str, Any], t: float) -> None:
        """The Job controller: it confirms suspensions, starts what is not suspended, and stops it at its deadline."""
        status, now = body["status"], format_time(self.clock(t))
        if body["spec"]["suspend"] and not status:
            body["status"] = {"conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": now}]}
            self._changed()
        elif not body["spec"]["suspend"] and "startTime" not in status and "deletionTimestamp" not in body["metadata"]:
            ended = [{"type": "Suspended", "status": "False", "lastTransitionTime": now}] if status else []
            body["status"] = {"startTime": now, "active": 1, "ready": 1, "conditions": ended}
            self.running, self.runs_until = True, None
            self._changed()
        elif self.running and body["spec"].get("activeDeadlineSeconds") is not None:
            started = datetime.fromisoformat(status["startTime"])
            if self.clock(t) >= started + timedelta(seconds=body["spec"]["activeDeadlineSeconds"]):
                self.stop(t)

    def _fail(self, t: float) -> None:
        assert self.body is not None
        one = {"status": "True", "reason": "DeadlineExceeded", "lastTransitionTime": format_time(self.clock(t))}
        self.body["status"] |= {
            "active": 0,
            "ready": 0,
            "conditions": [{**one, "type": "FailureTarget"}, {**one, "type": "Failed"}],
        }
        self._changed()

    def delete(self, t: float) -> None:
        assert self.body is not None
        if self.running:
            self.body["metadata"]["deletionTimestamp"] = format_time(self.clock(t))
            self._changed()
            self.stop(t)
        else:
            self.body = None


class World:
    """The management Job, the workers, and one relay at a time."""

    def __init__(self, seed: int, defect: str = "") -> None:
        self.random, self.defect = Random(seed), defect
        self.workers = {name: Worker(name, self.random.uniform(-SKEW, SKEW)) for name in ("a", "b", "c")}
        self.assignment: str | None = None
        self.lost: dict[str, float] = {}
        self.recorded: dict[str, datetime] = {}
        """Since when workers are lost, by the clock of the relay that noticed it."""
        self.moves = 0
        self._new_relay(0.0)

    def _new_relay(self, t: float) -> None:
        self.record, self.seen, self.led_since = WorkloadRecord(), dict[str, Object](), t
        self.skew = self.random.uniform(-SKEW, SKEW)

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
            if not worker.running and t >= worker.controller_from and self.random.random() < 0.02:
                worker.controller_from = t + self.random.expovariate(1 / 150)
        if self.random.random() < 0.01:
            self._new_relay(t)

    def _check(self, t: float) -> None:
        running = [worker.name for worker in self.workers.values() if worker.running]
        assert len(running) <= 1, f"{running} run at {t}"

    def _relay(self, t: float) -> None:
        for name, worker in self.workers.items():
            if worker.reachable(t):
                self.lost.pop(name, None)
                self.recorded.pop(name, None)
                found = worker.object()
                if found is None:
                    self.seen.pop(name, None)
                else:
                    self.seen[name] = found
            elif name not in self.lost:
                self.lost[name], self.recorded[name] = t, self._now(t)
        self._reconcile_original(t)
        known = self._snapshot(t)
        for name in self.workers:
            self._reconcile_mirror(known, name, t)

    def _reconcile_original(self, t: float) -> None:
        found = reconcile_original(self._snapshot(t))
        if found.lease_stops is not None:
            self.record.stopped_by_lease(found.lease_stops)
        match found.action:
            case CommitAssignment(assignment, starts):
                self.record.committed(assignment, starts=starts)
                self.assignment = assignment.encode()
                self.moves += 1
            case RecordStart(assignment):
                self.assignment = assignment.encode()

    def _now(self, t: float) -> datetime:
        return NOW + timedelta(seconds=t + self.skew)

    def _snapshot(self, t: float) -> WorkloadSnapshot:
        marks = {"jobrelay.dev/fencing": "true"}
        if self.assignment is not None:
            marks[ASSIGNMENT] = self.assignment
            to = msgspec.json.decode(self.assignment, type=WorkerAssignment)
            self.record.found(to)
            if self.defect == "starts that were not seen are waited out" and to.cluster in self.lost:
                marks[ASSIGNMENT] = msgspec.structs.replace(to, started="some time").encode()
        return snapshot(
            job(annotations=marks),
            [self._facts(worker, t) for worker in self.workers.values()],
            dict(self.seen),
            now=self._now(t),
            committed=False,
            runs=self.record.runs,
            stops=self.record.lease_stops,
            led_since=self._now(self.led_since)
            if self.defect != "losses are taken from other relays' clocks"
            else None,
            lease=LEASE,
            margin=MARGIN,
            lost_timeout=TIMEOUT,
            freeze_window=0.0,
        )

    def _facts(self, worker: Worker, t: float) -> WorkerFacts:
        name, clock = worker.name, ClockReading(worker.clock(t) - timedelta(seconds=self.random.random()), 1.0)
        if self.defect == "leases are reckoned in the relay's clock":
            clock = ClockReading(self._now(t))
        if name not in self.lost:
            return WorkerFacts(name, True, clock=clock)
        silent = self._now(max(self.lost[name], self.led_since))
        if self.defect == "losses are taken from other relays' clocks":
            silent = self.recorded[name]
        return WorkerFacts(name, False, self.recorded[name], "cut off", clock=clock, silent_since=silent)

    def _reconcile_mirror(self, known: WorkloadSnapshot, name: str, t: float) -> None:
        worker = self.workers[name]
        if name in self.lost:
            return
        match reconcile_mirror(known, name, "train").action:
            case CreateMirror(body, releases=releases):
                assert worker.body is None
                assert not releases
                assert known.assignment is not None
                self.record.runs.creation_sent(known.assignment.run, releases=releases)
                worker.create(dict(body), t)
                self.seen[name] = _found(worker)
            case UpdateMirror(mirror, patch, releases):
                version = {"resourceVersion": mirror.obj.resource_version} if releases else {}
                change = {"spec": patch.get("spec", {}), "metadata": {"uid": mirror.obj.uid, **version}}
                if releases:
                    assert known.assignment is not None
                    self.record.runs.release_sent(known.assignment.run)
                if self.random.random() < 0.3:  # it is cut off just now, and the patch arrives then or much later
                    worker.reachable_from = t + self.random.expovariate(1 / 150)
                    worker.late.append((t + self.random.uniform(0, 200), change))
                else:
                    worker.patch(change)
            case DeleteMirror():
                worker.delete(t)
            case ProveGone(run) if worker.body is None and not worker.running:
                self.record.proved_gone(run)


def _found(worker: Worker) -> Object:
    found = worker.object()
    assert found is not None
    return found


@pytest.mark.parametrize("block", range(10))
def test_a_fenced_job_never_runs_twice_at_the_same_time(block: int) -> None:
    moves = 0
    for seed in range(block * TRIALS // 10, (block + 1) * TRIALS // 10):
        world = World(seed)
        world.play()
        moves += world.moves
    assert moves > TRIALS / 10, "the trials must move Jobs"


DEFECTS = (
    "nobody waits for the lease",
    "starts that were not seen are waited out",
    "leases are reckoned in the relay's clock",
    "losses are taken from other relays' clocks",
)


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_trials_find_what_would_be_wrong(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if defect == DEFECTS[0]:
        monkeypatch.setattr(health, "SUSPECT_AFTER", -LEASE - GRACE - MARGIN)

    def overlaps(seed: int) -> bool:
        try:
            World(seed, defect).play()
        except AssertionError:
            return True
        return False

    assert any(overlaps(seed) for seed in range(TRIALS))
