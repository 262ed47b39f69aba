"""The promises of the relay, checked against what was committed on the clusters at every change.

Nothing here asks the relay. Two limits of one-run are known and count as excuses: without fencing, a worker that was
out of reach for longer than the timeout may leave a second copy; with it, one whose control plane or nodes stood still,
since nobody there stops the pods. A run that an operator's backup of a worker brings back is nobody's promise either,
nor is one that starts on its worker after an operator has declared that worker lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from jobrelay.cluster.store.store import Change
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers.bounds import Bounds
from jobrelay.simulation.running import DoubleRun, RunningPods
from jobrelay.simulation.schedules import Incident, JobPlan, Schedule
from jobrelay.workloads.names import ASSIGNMENT, EPOCH, ORIGIN, ORIGIN_UID

TENANT = "tenant"
"""The namespace on workers in which tenants have Jobs that nobody else may touch."""
_ENDS = frozenset({"Complete", "Failed"})
_MARGIN = 30.0
"""How much shorter than the timeout an absence may be and still count: more than one may join to a longer one."""
_NOTICED, _SOON = 20.0, 10.0
"""How soon the relay knows that a worker is silent, and how soon a Job starts elsewhere then."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str = ""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []
    succeeded: int = 0
    failed: int = 0


class _Job(msgspec.Struct):
    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def assignment(self) -> _Committed | None:
        text = self.metadata.annotations.get(ASSIGNMENT)
        return _assignments.decode(text) if text is not None else None

    @property
    def end(self) -> _Condition | None:
        return next((each for each in self.status.conditions if each.type in _ENDS and each.status == "True"), None)


class _Committed(msgspec.Struct):
    cluster: str = ""
    epoch: int = 0


_jobs = msgspec.json.Decoder(_Job)
_assignments = msgspec.json.Decoder(_Committed)


def _hindered_by_workers_only(schedule: Schedule, at: float) -> bool:
    """Whether some workers, but not all, had been silent for long at a moment and stayed so, and nothing else went
    wrong until then or soon after."""
    begun = [each for each in schedule.incidents if each.at < at + _SOON]
    silent = {each.target.partition("/")[0] for each in begun if _is_silent(each, at)}
    return (
        all(_is_silent(each, at) for each in begun)
        and 0 < len(silent) < schedule.workers
        and "management" not in silent
    )


def _is_silent(incident: Incident, at: float) -> bool:
    silences = incident.kind == "isolate" or incident.target.endswith("/apiserver")
    return silences and incident.at + _NOTICED < at and at + _SOON < incident.at + incident.seconds


class Promises:
    """What was promised about each workload. `broken` is called with the name of a promise and a text."""

    def __init__(self, time: Callable[[], float], settings: Settings, broken: Callable[[str, str], None]) -> None:
        self._settings, self._broken = settings, broken
        self.pods = RunningPods(time, self._double_run)
        self._plans: dict[str, JobPlan] = {}
        self._forged: set[tuple[str, int]] = set()
        self._time = time
        self._created: dict[str, float] = {}
        self._epochs: dict[str, set[int]] = {}
        self._cut_off: frozenset[str] = frozenset()
        self._repointed = False
        self._states: dict[str, _Job] = {}
        self._unreachable: set[str] = set()
        self._headless: set[str] = set()
        self._mirrors: dict[str, set[str]] = {}
        self._written_off: set[str] = set()
        self._declared_lost: set[str] = set()
        self._brought_back: set[str] = set()

    # What is known of the schedule

    def created(self, uid: str, plan: JobPlan) -> None:
        """A user has created a workload."""
        self._plans[uid] = plan
        self._created[uid] = self._time()

    def forged(self, uid: str, epoch: int) -> None:
        """A user is about to write the assignment to a run himself."""
        self._forged.add((uid, epoch))

    def unreachable(self, worker: str, seconds: float) -> None:
        """A worker will be out of reach; for how long matters to workloads that are not fenced."""
        if seconds > self._settings.lost_timeout - _MARGIN:
            self._unreachable.add(worker)

    def declared_lost(self, worker: str) -> None:
        """An operator gives his word that no mirror of those that are there will start any more."""
        self._unreachable.add(worker)
        self._declared_lost.add(worker)
        self._written_off |= self._mirrors.get(worker, set())

    def cut_off(self, workers: frozenset[str]) -> None:
        """These are most of the workers, and the relays lose all of them at once: nothing may move from there."""
        self._cut_off = workers if not self._repointed else frozenset()

    def repointed(self) -> None:
        """The name of a worker stands for another cluster: its own is lost now, and not with the others."""
        self._repointed, self._cut_off = True, frozenset()

    def stands_still(self, worker: str, seconds: float) -> None:
        """A part of a worker will stand still; for how long matters to workloads that are fenced."""
        self.unreachable(worker, seconds)
        if seconds > self._settings.margin:
            self._headless.add(worker)

    def worker_restored(self, cluster: str, jobs: Iterable[dict[str, Any]], pods: Iterable[dict[str, Any]]) -> None:
        """A worker has only these objects now, whatever it had before."""
        self.pods.forget(cluster)
        for resource, objects in (("jobs.batch", jobs), ("pods", pods)):
            for each in objects:
                self._brought_back.add(each["metadata"]["uid"])
                self.pods.exists(cluster, resource, msgspec.json.encode(each))

    def management_restored(self, jobs: Iterable[dict[str, Any]]) -> None:
        """The originals are these now: what was reported later is forgotten, and not taken back by the relay."""
        found = [_jobs.decode(msgspec.json.encode(each)) for each in jobs]
        self._states = {job.metadata.uid: job for job in found}

    # What is seen

    def changed(self, cluster: str, resource: str, change: Change) -> None:
        """A change was committed."""
        if cluster == "management":
            if resource == "jobs.batch":
                self._original_changed(change)
            return
        if resource == "jobs.batch":
            self._job_changed(cluster, change)
        self.pods.changed(cluster, resource, change)

    def _original_changed(self, change: Change) -> None:
        job = _jobs.decode(change.raw)
        uid, name = job.metadata.uid, job.metadata.name
        if change.after is None:
            self._states.pop(uid, None)
            return
        if (to := job.assignment) is not None:
            self._epochs.setdefault(uid, set()).add(to.epoch)
        if (before := self._states.get(uid)) is not None:
            self._check_assignment(name, before, job)
            self._check_status(name, before, job)
        self._states[uid] = job

    def _check_assignment(self, name: str, before: _Job, after: _Job) -> None:
        old, new = before.assignment, after.assignment
        if old is None or new is None:
            return
        if new.epoch < old.epoch:
            self._broken("commit-first", f"the assignment of {name} goes back from run {old.epoch} to {new.epoch}")
        moved = new.epoch > old.epoch and (after.metadata.uid, new.epoch) not in self._forged
        if moved and old.cluster in self._cut_off - self._declared_lost:
            self._broken("bounded-blast", f"{name} is moved from {old.cluster} while most workers are out of reach")

    def _check_status(self, name: str, before: _Job, after: _Job) -> None:
        end = after.end
        if before.end is not None and (end is None or before.end.type != end.type):
            self._broken("legal-status", f"{name} was {before.end.type} and is {end.type if end else 'not finished'}")
        elif before.end is None and end is not None:
            self._check_end(after, end)
        for field in ("succeeded", "failed"):
            old, new = getattr(before.status, field), getattr(after.status, field)
            if new < old:
                self._broken("legal-status", f"{name}: {field} goes from {old} back to {new}")

    def _check_end(self, job: _Job, end: _Condition) -> None:
        """An end is true: pods of this very object succeeded, and none failed by a lease that its user knows nothing
        of."""
        if end.type == "Complete" and job.metadata.uid not in self.pods.succeeded:
            self._broken("legal-status", f"{job.metadata.name} is Complete, but no pod of it has succeeded")
        if end.reason == "DeadlineExceeded":
            self._broken("legal-status", f"{job.metadata.name} failed by a deadline that it does not have")

    def check_starts(self, schedule: Schedule) -> None:
        """A Job is not delayed by workers that had been out of order for a while when it was created."""
        for uid, created in self._created.items():
            started = self.pods.started.get(uid, math.inf)
            free = not self._plans[uid].clusters
            if free and started - created > _SOON and _hindered_by_workers_only(schedule, created):
                late = f"{started - created:.0f} s" if started < math.inf else "never"
                self._broken("bounded-blast", f"a Job that was created at {created:.0f} s started late: {late}")

    def _job_changed(self, cluster: str, change: Change) -> None:
        job = _jobs.decode(change.raw)
        if job.metadata.namespace == TENANT:
            if change.after is None or job.metadata.deletion_timestamp:
                self._broken("own-only", f"the Job {job.metadata.name} of a tenant is deleted on {cluster}")
            return
        workload = job.metadata.annotations.get(ORIGIN_UID)
        if change.before is not None or workload is None or ORIGIN not in job.metadata.labels:
            return
        epoch, name, plan = job.metadata.annotations.get(EPOCH, ""), job.metadata.name, self._plans.get(workload)
        self._mirrors.setdefault(cluster, set()).add(job.metadata.uid)
        if plan is None:
            return
        if epoch not in map(str, self._epochs.get(workload, ())):
            self._broken("commit-first", f"run {epoch} of {name} is created on {cluster} without an assignment")
        if plan.clusters and cluster.startswith("worker-") and cluster not in plan.clusters:
            self._broken("allowed-only", f"{name} may run on {plan.clusters[0]} only, and is created on {cluster}")

    def check_held(self, worker: str, sizes: Collection[int], bounds: Bounds) -> None:
        """A relay holds objects of a worker that look like mirrors, with so many bytes each."""
        if (
            len(sizes) > bounds.max_mirrors
            or sum(sizes) > bounds.max_mirror_bytes
            or max(sizes, default=0) > bounds.max_object_bytes
        ):
            held = f"{len(sizes)} objects of {worker} with {sum(sizes)} bytes"
            self._broken("bounded-memory", f"a relay holds {held}")

    def _double_run(self, found: DoubleRun) -> None:
        if {found.first.mirror, found.second.mirror} & self._brought_back or found.second.mirror in self._written_off:
            return
        fenced = (plan := self._plans.get(found.workload)) is not None and plan.fenced
        excuses = self._headless if fenced else self._unreachable
        if not excuses & {found.first.cluster, found.second.cluster}:
            self._broken("one-run", f"{'fenced ' if fenced else ''}{found}")
