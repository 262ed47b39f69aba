"""The promises of the relay, checked against what was committed on the clusters at every change.

Nothing here asks the relay. Two limits of one-run are known and count as excuses: without fencing, a worker that was
out of reach for longer than the timeout may leave a second copy; with it, one whose control plane or nodes stood still,
since nobody there stops the pods. A run that an operator's backup of a worker brings back is nobody's promise either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from jobrelay.cluster.store.store import Change
from jobrelay.relay.settings import Settings
from jobrelay.simulation.running import DoubleRun, RunningPods
from jobrelay.workloads.names import ASSIGNMENT, EPOCH, ORIGIN, ORIGIN_UID

_ENDS = frozenset({"Complete", "Failed"})
_MARGIN = 30.0
"""How much shorter than the timeout an absence may be and still count: more than one may join to a longer one."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str = ""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []
    succeeded: int = 0
    failed: int = 0


class _Job(msgspec.Struct):
    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def end(self) -> str:
        return next((each.type for each in self.status.conditions if each.type in _ENDS and each.status == "True"), "")


class _Committed(msgspec.Struct):
    epoch: int = 0


_jobs = msgspec.json.Decoder(_Job)
_assignments = msgspec.json.Decoder(_Committed)


class Promises:
    """What was promised about each workload. `broken` is called with the name of a promise and a text."""

    def __init__(self, time: Callable[[], float], settings: Settings, broken: Callable[[str, str], None]) -> None:
        self._settings, self._broken = settings, broken
        self.pods = RunningPods(time, self._double_run)
        self._fenced: dict[str, bool] = {}
        self._epochs: dict[str, set[int]] = {}
        self._states: dict[str, _Job] = {}
        self._strangers: set[str] = set()
        self._unreachable: set[str] = set()
        self._headless: set[str] = set()
        self._brought_back: set[str] = set()

    # What is known of the schedule

    def created(self, uid: str, *, fenced: bool) -> None:
        """A user has created a workload."""
        self._fenced[uid] = fenced

    def stranger(self, uid: str) -> None:
        """A tenant has created a Job on a worker, which nobody else may touch."""
        self._strangers.add(uid)

    def is_stranger(self, uid: str) -> bool:
        return uid in self._strangers

    def unreachable(self, worker: str, seconds: float) -> None:
        """A worker will be out of reach; for how long matters to workloads that are not fenced."""
        if seconds > self._settings.lost_timeout - _MARGIN:
            self._unreachable.add(worker)

    def declared_lost(self, worker: str) -> None:
        self._unreachable.add(worker)

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
        if (text := job.metadata.annotations.get(ASSIGNMENT)) is not None:
            self._epochs.setdefault(uid, set()).add(_assignments.decode(text).epoch)
        if (before := self._states.get(uid)) is not None:
            self._check_status(name, before, job)
        self._states[uid] = job

    def _check_status(self, name: str, before: _Job, after: _Job) -> None:
        if before.end and before.end != after.end:
            self._broken("legal-status", f"{name} was {before.end} and is {after.end or 'not finished'}")
        for field in ("succeeded", "failed"):
            old, new = getattr(before.status, field), getattr(after.status, field)
            if new < old:
                self._broken("legal-status", f"{name}: {field} goes from {old} back to {new}")

    def _job_changed(self, cluster: str, change: Change) -> None:
        job = _jobs.decode(change.raw)
        if job.metadata.uid in self._strangers:
            if change.after is None or job.metadata.deletion_timestamp:
                self._broken("own-only", f"the Job {job.metadata.name} of a tenant is deleted on {cluster}")
            return
        workload = job.metadata.annotations.get(ORIGIN_UID)
        if change.before is not None or workload is None or ORIGIN not in job.metadata.labels:
            return
        epoch = job.metadata.annotations.get(EPOCH, "")
        if workload in self._fenced and epoch not in map(str, self._epochs.get(workload, ())):
            name = job.metadata.name
            self._broken("commit-first", f"run {epoch} of {name} is created on {cluster} without an assignment")

    def _double_run(self, found: DoubleRun) -> None:
        if {found.first.mirror, found.second.mirror} & self._brought_back:
            return
        fenced = self._fenced.get(found.workload, False)
        excuses = self._headless if fenced else self._unreachable
        if not excuses & {found.first.cluster, found.second.cluster}:
            self._broken("one-run", f"{'fenced ' if fenced else ''}{found}")
