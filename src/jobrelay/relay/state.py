"""What the relay has learnt from events and replies, in one place.

Per workload a `WorkloadRecord`, per worker the answers by shape, the stale mirrors and the mirrors whose pods are not
bound yet, over all the assigned work. Everything can be rebuilt from the API, except for records, which may be lost.
Only methods of this class change it; what they return is read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from jobrelay.kube import Clock, Object
from jobrelay.relay.dependencies.answers import DependencyAnswers
from jobrelay.relay.durations import RunDurations
from jobrelay.relay.estimate import LineWork
from jobrelay.relay.lookalikes import LookAlike
from jobrelay.relay.model import Refusal
from jobrelay.relay.placement import CapacityTracker
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_assignment import Run, assignment_of, epoch_of
from jobrelay.relay.worker_load import WorkerLoad
from jobrelay.relay.workload_kind import WorkloadKind, origin_uid
from jobrelay.relay.workload_record import WorkloadRecord
from jobrelay.workloads import Workload, WorkloadDemand, demand_of


class _Starting(NamedTuple):
    """The original of a mirror whose pods are not all bound yet, and how many pods it has; None before it starts."""

    origin_uid: str
    pods: int | None


class RelayState:
    """The relay's in-memory state; `kinds` are the workload kinds by name.

    `owners` has for the uid of each cluster the name of the worker that reaches it.
    """

    def __init__(
        self, kinds: Mapping[str, WorkloadKind], settings: Settings, clock: Clock, owners: Mapping[str, str]
    ) -> None:
        self.kinds, self.settings, self.clock = kinds, settings, clock
        self._owners = owners
        self.leading_since = clock.monotonic()
        """Since when this replica leads, in monotonic time: nobody else has sent a creation since."""
        self._load = WorkerLoad()
        self._records: dict[str, WorkloadRecord] = {}
        self._inherited: set[str] = set()
        self._shapes: dict[str, dict[str, Refusal | None]] = {}
        self._stale: dict[str, set[str]] = {}
        self._starting: dict[str, dict[str, _Starting]] = {}
        self._ended: dict[str, dict[str, float]] = {}
        """By worker and uid of a mirror that does not record when it ended: when that was seen, in monotonic time."""
        self.shapes: Mapping[str, Mapping[str, Refusal | None]] = MappingProxyType(self._shapes)
        """By worker and shape of workloads: None if it accepted one, or why it refused one."""
        self.durations = RunDurations()
        self.dependencies = DependencyAnswers(clock, settings.ask_missing, settings.ask_again)

    def started_leading(self) -> None:
        """This replica begins to lead."""
        self.leading_since = self.clock.monotonic()

    # Workloads

    def record(self, uid: str) -> WorkloadRecord:
        """The record of a workload, made if there is none."""
        found = self._records.get(uid)
        if found is None:
            found = self._records[uid] = WorkloadRecord()
        return found

    def find_record(self, uid: str) -> WorkloadRecord | None:
        return self._records.get(uid)

    def forget_record(self, uid: str) -> None:
        self._records.pop(uid, None)

    def original_inherited(self, original: Object) -> None:
        """An original was there when this process started: what happened to it before is not known."""
        self._inherited.add(original.uid)

    def is_inherited(self, uid: str) -> bool:
        return uid in self._inherited

    def original_changed(self, kind: WorkloadKind, original: Object) -> None:
        """Count an original as work of its worker from its assignment to its end."""
        to, uid, facts = assignment_of(original), original.uid, kind.adapter.read(original)
        if to is None or facts.end is not None or facts.managed_by not in kind.adapter.managers:
            self._learn_duration(uid, facts)
            self._load.forget(uid)
            return
        self.record(uid).found(to)
        if to.waiting:
            self._load.forget(uid)
            return
        worker = self.worker_of(to.run)
        if self._load.worker_of(uid) != worker:
            mirror = kind.mirrors(uid).get(worker)
            started = mirror is not None and kind.adapter.read(mirror).started is not None
            self._load.assign(uid, worker, self._demand(kind, original), started=started)

    def _learn_duration(self, uid: str, facts: Workload) -> None:
        shape, end = self._load.shape_of(uid), facts.end
        if shape is not None and end is not None and end.at is not None and facts.started is not None:
            self.durations.add(shape, (end.at - facts.started).total_seconds())

    def running_work(self) -> list[LineWork]:
        """All assigned workloads, with how much longer each takes."""
        now, work = self.clock.now(), []
        for shape, needs, started in self._load.running():
            takes = self.durations.of(shape)
            elapsed = (now - started).total_seconds() if started is not None else 0.0
            work.append(LineWork(needs, takes.left(elapsed) if takes is not None else None))
        return work

    def _demand(self, kind: WorkloadKind, original: Object) -> WorkloadDemand:
        return demand_of(kind.adapter, original, self.dependencies.definitions)

    def reserve(self, original: Object, worker: str, demand: WorkloadDemand) -> None:
        """Count an assignment before it is written, so that the next placement takes it into account."""
        self._load.assign(original.uid, worker, demand, started=False)

    def cancel_reservation(self, kind: WorkloadKind, original: Object) -> None:
        """The assignment was not written: count the original as it is."""
        self._load.forget(original.uid)
        self.original_changed(kind, original)

    def original_deleted(self, original: Object) -> None:
        self._load.forget(original.uid)
        self._inherited.discard(original.uid)
        self.forget_record(original.uid)

    # Mirrors

    def mirror_changed(
        self, kind: WorkloadKind, worker: str, capacity: CapacityTracker, old: Object | None, new: Object
    ) -> None:
        """Apply the addition or change of a mirror; `capacity` is that of its worker."""
        kind.index_mirror(worker, old, new)
        uid = origin_uid(new)
        if old is not None and self._load.worker_of(uid) is not None:
            self.record(uid).mirror_changed(self.clock.monotonic())
        mirror = kind.adapter.read(new)
        if mirror.started is not None:
            self._load.started(uid, mirror.started)
        if self._load.is_reserved(uid):
            pods = mirror.active if mirror.started is not None else None
            self._starting.setdefault(worker, {})[new.uid] = _Starting(uid, pods)
            self._release(worker, new.uid, capacity)
        self.judge_mirror(kind, worker, new)
        if mirror.end is not None and mirror.end.at is None:
            self._ended.setdefault(worker, {}).setdefault(new.uid, self.clock.monotonic())

    def ended_at(self, worker: str, mirror_uid: str) -> datetime | None:
        """When the end of a mirror that does not record its time was first seen."""
        seen = self._ended.get(worker, {}).get(mirror_uid)
        return self.clock.now() - timedelta(seconds=self.clock.monotonic() - seen) if seen is not None else None

    def mirror_deleted(self, kind: WorkloadKind, worker: str, mirror: Object) -> None:
        kind.index_mirror(worker, mirror, None)
        self._stale.get(worker, set()).discard(mirror.uid)
        self._starting.get(worker, {}).pop(mirror.uid, None)
        self._ended.get(worker, {}).pop(mirror.uid, None)

    def judge_mirror(self, kind: WorkloadKind, worker: str, mirror: Object) -> bool:
        """Whether a mirror is stale: it runs although its original is gone or has a newer run.

        It is not before all originals of its kind are known.
        """
        original = kind.original_of(mirror)
        to = assignment_of(original) if original is not None else None
        wrong = (original is None and kind.known) or (
            to is not None and (self.worker_of(to.run) != worker or epoch_of(mirror) < to.epoch)
        )
        stale = wrong and kind.adapter.read(mirror).end is None
        if stale:
            self._stale.setdefault(worker, set()).add(mirror.uid)
        else:
            self._stale.get(worker, set()).discard(mirror.uid)
        return stale

    def lookalike_changed(
        self, kind: WorkloadKind, worker: str, own_cluster: bool, old: Object | None, new: Object | None
    ) -> None:
        """Apply one change of the objects on a worker that look like mirrors."""
        if old is not None and (new is None or origin_uid(old) != origin_uid(new)):
            kind.lookalikes.remove(origin_uid(old), worker, old.key)
        if new is not None:
            found = LookAlike(worker, own_cluster, kind.adapter.resource.kind, new.key, new.uid)
            kind.lookalikes.add(origin_uid(new), found)

    # Workers

    def worker_of(self, run: Run) -> str:
        """The name of the worker that reaches the cluster of a run, as far as is known."""
        return self._owners.get(run.uid, run.cluster)

    def identities(self, worker: str) -> list[str]:
        """The uid of a worker's cluster, if it is known."""
        return [identity for identity, name in self._owners.items() if name == worker]

    def may_run_on(self, kind: WorkloadKind, worker: str, namespace: str) -> bool:
        """Whether originals in a namespace, or in any for an empty one, may have runs on a worker.

        A run has an assignment before it has a mirror. So none have, if all originals are known and none names it.
        """
        if kind.undefined or not kind.known:
            return not kind.undefined
        names = (worker, *self.identities(worker))
        return any(namespace in ("", ref.key.namespace) for name in names for ref in kind.assigned_to(name))

    def live(self, worker: str) -> int:
        """How many unfinished workloads are assigned to a worker."""
        return self._load.live(worker)

    def reserved(self, worker: str) -> Mapping[str, Fraction]:
        """The requests of assigned workloads whose pods are not counted on nodes yet."""
        return self._load.reserved(worker)

    def stale_mirrors(self, worker: str) -> int:
        """How many mirrors must be stopped on a worker before it gets new ones."""
        return len(self._stale.get(worker, ()))

    def shape_answered(self, worker: str, shape: str, refusal: Refusal | None) -> None:
        """A worker accepted a workload of this shape (None) or refused it."""
        self._shapes.setdefault(worker, {})[shape] = refusal

    def namespace_found(self, worker: str, namespace: str) -> None:
        """A worker has a namespace that it lacked: what it refused for that may be tried again."""
        shapes = self._shapes.get(worker, {})
        for shape in [each for each, known in shapes.items() if known and known.missing_namespace == namespace]:
            del shapes[shape]
        for record in self._records.values():
            record.namespace_found(worker, namespace)

    def capacity_changed(self, worker: str, capacity: CapacityTracker) -> None:
        """Release what is reserved for pods that the worker's capacity includes by now."""
        for mirror_uid in list(self._starting.get(worker, ())):
            self._release(worker, mirror_uid, capacity)

    def pod_bound(self, worker: str, mirror_uid: str, requests: Mapping[str, Fraction]) -> None:
        """Release what is reserved for a pod that the worker's capacity includes from now on."""
        if (found := self._starting.get(worker, {}).get(mirror_uid)) is not None:
            self._load.release_pod(found.origin_uid, requests)

    def forget_worker(self, worker: str) -> None:
        """A worker is no longer registered."""
        for kind in self.kinds.values():
            kind.forget_worker(worker)
        for held in (self._shapes, self._stale, self._starting, self._ended):
            held.pop(worker, None)
        self.dependencies.forget_worker(worker)

    def _release(self, worker: str, mirror_uid: str, capacity: CapacityTracker) -> None:
        """A Job starts before its pods are bound, so their requests stay reserved until they are counted on nodes."""
        starting = self._starting[worker]
        uid, pods = starting[mirror_uid]
        if pods is None:
            return
        if not capacity.is_known or capacity.bound(mirror_uid) >= pods:
            del starting[mirror_uid]
            self._load.release(uid)
