"""Turns events into work: owns the queue of originals and one queue of mirrors for each worker.

Events come from the caches of originals, the caches of mirrors and the workers' connections. Each is applied to the
`RelayState` first; then the workloads that it concerns are queued for the controllers. Queues hold references only, and
reconciling starts from a fresh snapshot, so an event that is seen twice or missed costs nothing but time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial

from jobrelay.control import LOW_PRIORITY, WorkQueue
from jobrelay.kube import Clock, Object
from jobrelay.logs import get_logger
from jobrelay.relay.claims import Claims
from jobrelay.relay.pending import PendingWorkloads
from jobrelay.relay.signal import Signal
from jobrelay.relay.state import RelayState
from jobrelay.relay.worker_assignment import Run, WorkerAssignment, assignment_of
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef, origin_key, origin_uid

log = get_logger(__name__)

_URGENT = 10


class MirrorQueue:
    """The work of one worker: workloads whose mirror is to be reconciled, some of them to be probed first."""

    def __init__(self, clock: Clock) -> None:
        self.queue: WorkQueue[WorkloadRef] = WorkQueue(clock=clock, base_delay=0.2, max_delay=30.0)
        self._probes: set[WorkloadRef] = set()
        self._creating: dict[WorkloadRef, set[str]] = {}
        """Creations under way, and the versions of these mirrors that were seen meanwhile."""

    @property
    def backlog(self) -> int:
        """How many workloads wait for their turn or for the worker's answer."""
        return len(self.queue) + self.queue.processing

    def add(self, ref: WorkloadRef, *, priority: int = 0) -> None:
        self.queue.add(ref, priority=priority)

    def mirror_changed(self, ref: WorkloadRef, mirror: Object) -> None:
        """Queue a workload because of an event of its mirror."""
        seen = self._creating.get(ref)
        if seen is None:
            self.add(ref)
        else:
            seen.add(mirror.resource_version)

    async def create(self, ref: WorkloadRef, creation: Awaitable[Object], observe: Callable[[Object], None]) -> Object:
        """Await the creation of a mirror and `observe` the reply, without queueing the workload for its own event."""
        seen = self._creating[ref] = set()
        try:
            created = await creation
            observe(created)
            seen.discard(created.resource_version)
        finally:
            del self._creating[ref]
            if seen:
                self.add(ref)
        return created

    def add_probe(self, ref: WorkloadRef) -> None:
        """Have the worker asked by a dry run whether it would accept a workload."""
        self._probes.add(ref)
        self.queue.add(ref)

    def take_probe(self, ref: WorkloadRef) -> bool:
        """Whether a workload is to be probed; the caller probes it then."""
        if ref not in self._probes:
            return False
        self._probes.discard(ref)
        return True


class Dispatcher:
    """Owns all work queues; `pending` holds the originals that no worker can take at present."""

    def __init__(self, state: RelayState) -> None:
        self._state = state
        self.originals: WorkQueue[WorkloadRef] = WorkQueue(clock=state.clock, max_delay=30.0)
        self._mirrors: dict[str, MirrorQueue] = {}
        self._workers: dict[str, WorkerConnection] = {}
        claims: Claims[WorkloadRef] = Claims(lambda: len(self._workers))
        self.pending: PendingWorkloads[WorkloadRef] = PendingWorkloads(state.clock, self.originals.add, claims)
        self._writing: set[WorkloadRef] = set()
        self._workers_changed: Signal[[]] = Signal()
        for kind in state.kinds.values():
            kind.originals.subscribe(partial(self._original_event, kind))
            kind.subscribe(partial(self._originals_known, kind))

    def enqueue_mirror(self, ref: WorkloadRef, worker: str) -> None:
        if (queue := self._mirrors.get(worker)) is not None:
            queue.add(ref)

    def enqueue_run(self, ref: WorkloadRef) -> None:
        """Queue a workload for the worker of its current run."""
        original = self._state.kinds[ref.kind].originals.get(ref.key)
        if original is not None and (to := assignment_of(original)) is not None:
            self.enqueue_mirror(ref, self._state.worker_of(to.run))

    def enqueue_runs(self, ref: WorkloadRef, to: WorkerAssignment | None, held: Sequence[Run]) -> None:
        """Queue a workload for the workers of its current run and of earlier ones that may exist."""
        for run in (*held, to.run) if to is not None else held:
            self.enqueue_mirror(ref, self._state.worker_of(run))

    def enqueue_probe(self, ref: WorkloadRef, worker: str) -> None:
        if (queue := self._mirrors.get(worker)) is not None:
            queue.add_probe(ref)

    def backlog(self, worker: str) -> int:
        """How many workloads wait in a worker's queue or for its answer."""
        queue = self._mirrors.get(worker)
        return queue.backlog if queue is not None else 0

    # Originals

    def admission_changed(self, ref: WorkloadRef) -> None:
        """Queue an original, its mirrors and the worker of its run: whether it may run may have changed."""
        self.originals.add(ref)
        kind = self._state.kinds[ref.kind]
        original = kind.originals.get(ref.key)
        if original is not None:
            for worker in kind.mirrors(original.uid):
                self.enqueue_mirror(ref, worker)
            self.enqueue_run(ref)

    async def write_original(self, kind: WorkloadKind, ref: WorkloadRef, write: Awaitable[Object]) -> Object:
        """Await an own write of an original and put the reply into the cache, without queueing the original for it.

        The watch often reports a write before its reply arrives. What it reports meanwhile is acted on afterwards, and
        the original is queued only if that was not the write itself.
        """
        before, written = kind.originals.get(ref.key), None
        self._writing.add(ref)
        try:
            written = await write
            kind.originals.observe(written)
        finally:
            self._writing.discard(ref)
            now = kind.originals.get(ref.key)
            if now is not None and now is not before:
                self._follow(kind, ref, before, now)
                if written is None or now.resource_version != written.resource_version:
                    self.originals.add(ref)
        return written

    def _original_event(self, kind: WorkloadKind, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._original_changed(kind, old, new)
        elif old is not None:
            self._original_deleted(kind, old)

    def _original_changed(self, kind: WorkloadKind, old: Object | None, new: Object) -> None:
        ref, synced = WorkloadRef(kind.name, new.key), kind.originals.synced.is_set()
        if not synced:
            self._state.original_inherited(new)
        self._state.original_changed(kind, new)
        if ref not in self._writing:
            self._follow(kind, ref, old, new)
            self.originals.add(ref, priority=0 if synced else LOW_PRIORITY)

    def _follow(self, kind: WorkloadKind, ref: WorkloadRef, old: Object | None, new: Object) -> None:
        """Queue the mirrors that an original has or should have, if they may have to follow a change of it."""
        if _concerns_mirrors(kind, old, new):
            for worker in kind.mirrors(new.uid):
                self.enqueue_mirror(ref, worker)
            if (to := assignment_of(new)) is not None:
                self.enqueue_runs(ref, to, to.held)

    def _original_deleted(self, kind: WorkloadKind, old: Object) -> None:
        ref = WorkloadRef(kind.name, old.key)
        self._state.original_deleted(old)
        self.pending.discard(ref)
        for worker in kind.mirrors(old.uid):
            self.enqueue_mirror(ref, worker)

    # Workers

    def add_worker(self, worker: WorkerConnection) -> tuple[MirrorQueue, Callable[[], None]]:
        """Open the queue of a worker and follow its mirrors; returns the queue, and how to undo that."""
        queue = self._mirrors[worker.name] = MirrorQueue(self._state.clock)
        self._workers[worker.name] = worker
        subscriptions = [
            worker.mirrors[kind.adapter.resource].subscribe(partial(self._mirror_event, worker, queue, kind))
            for kind in self._state.kinds.values()
        ]
        subscriptions += [
            worker.mirrors[kind.adapter.resource].unproven.subscribe(partial(self._lookalike_event, worker, kind))
            for kind in self._state.kinds.values()
        ]
        subscriptions.append(worker.capacity.subscribe(partial(self._state.pod_bound, worker.name)))

        def remove() -> None:
            for unsubscribe in subscriptions:
                unsubscribe()
            del self._mirrors[worker.name], self._workers[worker.name]
            self._state.forget_worker(worker.name)
            self._workers_changed()

        return queue, remove

    def worker_connected(self, worker: WorkerConnection) -> None:
        """Compare everything on a worker with what should be there; stale mirrors come first."""
        for kind in self._state.kinds.values():
            self._compare(kind, worker)
        self.enqueue_assigned(worker.name)

    def _originals_known(self, kind: WorkloadKind) -> None:
        """Mirrors of a kind were not judged before all of its originals were known."""
        for worker in self._workers.values():
            self._compare(kind, worker)

    def _compare(self, kind: WorkloadKind, worker: WorkerConnection) -> None:
        queue = self._mirrors[worker.name]
        for mirror in worker.mirrors[kind.adapter.resource]:
            stale = self._state.judge_mirror(kind, worker.name, mirror)
            queue.add(WorkloadRef(kind.name, origin_key(mirror)), priority=_URGENT if stale else 0)
        for ref in self._assigned(kind, worker.name):
            queue.add(ref)

    def kinds_changed(self, worker: WorkerConnection, kinds: Iterable[str]) -> None:
        """A worker can run some kinds now, or cannot any more: compare what it has of them."""
        for kind in map(self._state.kinds.__getitem__, kinds):
            self._compare(kind, worker)
            for ref in self._assigned(kind, worker.name):
                self.originals.add(ref)

    def worker_changed(self, worker: WorkerConnection) -> None:
        """The contact with a worker, its capacity or its registration changed."""
        self._state.capacity_changed(worker.name, worker.capacity)
        self.pending.retry_soon()
        self._workers_changed()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called when something about a worker has changed; returns how to unsubscribe."""
        return self._workers_changed.subscribe(callback)

    def enqueue_assigned(self, worker: str) -> None:
        """Queue the originals that are assigned to a worker."""
        for kind in self._state.kinds.values():
            for ref in self._assigned(kind, worker):
                self.originals.add(ref)

    def _assigned(self, kind: WorkloadKind, worker: str) -> Iterator[WorkloadRef]:
        """The workloads with a run on a worker, which may be written down under another name."""
        yield from kind.assigned_to(worker)
        for identity in self._state.identities(worker):
            yield from kind.assigned_to(identity)

    # Mirrors

    def _mirror_event(
        self, worker: WorkerConnection, queue: MirrorQueue, kind: WorkloadKind, old: Object | None, new: Object | None
    ) -> None:
        mirror = new or old
        assert mirror is not None
        ref = WorkloadRef(kind.name, origin_key(mirror))
        original = kind.originals.get(ref.key)
        ended = original is not None and kind.adapter.read(original).end is not None
        if new is None:
            self._state.mirror_deleted(kind, worker.name, mirror)
            if not ended:
                queue.add(ref)
                self.enqueue_run(ref)  # its worker may create the mirror now
        else:
            self._state.mirror_changed(kind, worker.name, worker.capacity, old, new)
            if _concerns_mirror(kind, old, new):
                queue.mirror_changed(ref, new)
        if not ended or (new is not None and old is not None and self._goes_on(kind, ref, new)):
            self.originals.add(ref)
        if old is None or new is None:
            self.pending.retry_soon()

    def _goes_on(self, kind: WorkloadKind, ref: WorkloadRef, mirror: Object) -> bool:
        """Whether a mirror still changes the status of an original that has ended."""
        original = kind.originals.get(ref.key)
        if original is None or mirror.deleting or original.uid != origin_uid(mirror):
            return False
        return kind.adapter.merged_status(original, mirror) is not None

    def _lookalike_event(
        self, worker: WorkerConnection, kind: WorkloadKind, old: Object | None, new: Object | None
    ) -> None:
        """Queue the originals that a look-alike names or named: they report it, or may have waited for its end."""
        self._state.lookalike_changed(kind, worker.name, worker.is_self, old, new)
        if new is not None and old is None:
            log.warning("not a mirror: its proof is not valid", worker=worker.name, object=str(new.key))
        for uid in {origin_uid(obj) for obj in (old, new) if obj is not None} if old is None or new is None else ():
            original = kind.original_with(uid)
            if original is not None:
                ref = WorkloadRef(kind.name, original.key)
                self.originals.add(ref)
                self.enqueue_run(ref)


def _concerns_mirrors(kind: WorkloadKind, old: Object | None, new: Object) -> bool:
    """Whether mirrors may have to follow a change of their original: of spec, assignment, deletion or end."""
    return (
        old is None
        or old.uid != new.uid
        or old.metadata.generation != new.metadata.generation
        or old.metadata.annotations != new.metadata.annotations
        or old.deleting != new.deleting
        or kind.adapter.read(new).end is not None
    )


def _concerns_mirror(kind: WorkloadKind, old: Object | None, new: Object) -> bool:
    """Whether a mirror itself may have to be changed or removed after this event.

    Its start matters to one with a deadline, which counts from there.
    """
    if (
        old is None
        or old.metadata.generation != new.metadata.generation
        or old.metadata.annotations != new.metadata.annotations
        or old.metadata.labels != new.metadata.labels
    ):
        return True
    before, now = kind.adapter.read(old), kind.adapter.read(new)
    return (
        (now.deadline is not None and before.started != now.started)
        or before.halted != now.halted
        or (now.end is not None and _end_is_written(kind, new))
    )


def _end_is_written(kind: WorkloadKind, mirror: Object) -> bool:
    """A mirror stays until the end of its original is written."""
    original = kind.originals.get(origin_key(mirror))
    return original is None or kind.adapter.read(original).end is not None
