"""Reconciles the mirrors on one worker: carries out what `reconcile_mirror` decides.

Each worker has its own controller, with its own queue and a limit on concurrent requests, so a worker that hangs delays
nothing but its own mirrors. A refusal is the worker's answer and sends the workload elsewhere. An error may be
transient, and is retried a few times before it counts as a refusal. What came of a creation without an answer is read
back before the next attempt, and until it is proven gone its run counts as one that exists.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from jobrelay.control import Controller, Result
from jobrelay.kube import (
    AlreadyExists,
    Conflict,
    ConnectError,
    EventNote,
    EventRecorder,
    KubeError,
    NotFound,
    Object,
    StatusError,
    Unauthorized,
    merge_patch,
)
from jobrelay.kube.events import ObjectReference
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import NAMESPACES
from jobrelay.logs import get_logger
from jobrelay.relay.absence import NotProvenGone, check_gone, settles_in
from jobrelay.relay.assignment import Run, epoch_of
from jobrelay.relay.dispatcher import MirrorQueue
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.model import Refusal
from jobrelay.relay.original_controller import NOT_LEADING
from jobrelay.relay.reconcile_mirror import (
    CreateMirror,
    DeleteMirror,
    MirrorDecision,
    ProveGone,
    UpdateMirror,
    mirror_parameters,
    orphaned,
    reconcile_mirror,
)
from jobrelay.relay.runs import KnownRun
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.snapshot_builder import SnapshotBuilder
from jobrelay.relay.state import RelayState
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef, mirror_name
from jobrelay.workloads.names import ORIGIN, ORIGIN_UID

log = get_logger(__name__)

_FIELD_MANAGER = "jobrelay"
_WORKERS = 16
_TRIES = 5
_RETRY_PROBE = 5.0
_PATIENCE = 2
"""How often in a row a worker may put off a dry run before that counts as a refusal."""
_SUSPICIOUS = Result(requeue_after=1.0)
"""The worker does not answer: it gets no more requests until it does, so that leases begin before that."""


class MirrorController:
    """The controller of one worker's mirrors.

    `enqueue_original` has an original reconciled, `enqueue_run` the mirror of its current run.
    """

    def __init__(
        self,
        state: RelayState,
        snapshots: SnapshotBuilder,
        worker: WorkerConnection,
        queue: MirrorQueue,
        recorder: EventRecorder,
        metrics: RelayMetrics,
        *,
        enqueue_original: Callable[[WorkloadRef], None],
        enqueue_run: Callable[[WorkloadRef], None],
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._state, self._snapshots, self._worker, self._queue = state, snapshots, worker, queue
        self._recorder, self._metrics = recorder, metrics
        self._enqueue_original, self._enqueue_run, self._leads = enqueue_original, enqueue_run, leads
        self._probing: dict[str, dict[WorkloadRef, None]] = {}
        """By shape: the workloads that wait for the answer to a running probe."""
        name, clock = f"mirrors on {worker.name}", state.clock
        self.controller = Controller(
            name, self.reconcile, workers=_WORKERS, queue=queue.queue, clock=clock, grace=grace
        )

    async def reconcile(self, ref: WorkloadRef) -> Result | None:
        if not self._worker.connected:
            return None  # queued again when the worker is connected
        if self._worker.suspicious:
            return _SUSPICIOUS
        if not self._leads():
            return NOT_LEADING
        kind = self._state.kinds[ref.kind]
        original = kind.originals.get(ref.key)
        snapshot = self._snapshots.snapshot(kind, original) if original is not None else None
        try:
            if snapshot is not None and self._queue.take_probe(ref):
                await self._probe(ref, snapshot)
                return None
            decision = self._decide(ref, kind, snapshot)
            await self._carry_out(ref, snapshot, decision)
        except NotLeading:
            return NOT_LEADING
        return Result(requeue_after=decision.requeue_after) if decision.requeue_after is not None else None

    def _decide(self, ref: WorkloadRef, kind: WorkloadKind, snapshot: WorkloadSnapshot | None) -> MirrorDecision:
        name = mirror_name(ref.key, own_cluster=self._worker.is_self)
        found = self._worker.mirrors[kind.adapter.resource].get(Key(ref.key.namespace, name))
        uid = found.metadata.annotations.get(ORIGIN_UID) if found is not None else None
        if found is not None and uid and (snapshot is None or snapshot.original.uid != uid):
            return orphaned(Mirror(self._worker.name, found, kind.adapter.read(found), epoch_of(found)))
        return reconcile_mirror(snapshot, self._worker.name, name) if snapshot is not None else MirrorDecision()

    async def _carry_out(self, ref: WorkloadRef, snapshot: WorkloadSnapshot | None, decision: MirrorDecision) -> None:
        match decision.action:
            case CreateMirror():
                assert snapshot is not None
                await self._create(ref, snapshot, decision.action)
            case UpdateMirror(mirror, patch, releases=releases):
                assert snapshot is not None
                await self._update(ref, snapshot, mirror, dict(patch), releases=releases)
            case DeleteMirror():
                await self._delete(ref, decision.action)
            case ProveGone(run):
                assert snapshot is not None
                await self._prove_gone(ref, snapshot, run)

    # Probing

    async def _probe(self, ref: WorkloadRef, snapshot: WorkloadSnapshot) -> None:
        """Run one dry run per shape at a time; other workloads of the shape wait for its answer."""
        shape = snapshot.demand.shape
        waiting = self._probing.get(shape)
        if waiting is not None:
            waiting[ref] = None
            return
        self._probing[shape] = {ref: None}
        try:
            await self._dry_run(ref, snapshot)
        finally:
            for each in self._probing.pop(shape):
                self._enqueue_original(each)

    async def _dry_run(self, ref: WorkloadRef, snapshot: WorkloadSnapshot) -> None:
        name = mirror_name(ref.key, own_cluster=self._worker.is_self)
        body = snapshot.adapter.mirror(snapshot.original, mirror_parameters(snapshot, None, name))
        try:
            await self._ensure_namespace(ref.key.namespace)
            await self._worker.client.create(
                snapshot.adapter.resource, body, dry_run=True, field_manager=_FIELD_MANAGER
            )
        except AlreadyExists:
            pass  # the shape is fine; whose object has the name is found out when the mirror is created
        except StatusError as error:
            if error.retry_after and _may_be_transient(error) and self._queue.queue.failures(ref) < _PATIENCE:
                self._queue.add_probe(ref)
                raise
            self._refused(snapshot, error, same_shape=True)
            return
        except NotLeading:
            raise
        except KubeError as error:
            self._refused(snapshot, error, same_shape=True, retry_after=_RETRY_PROBE)
            return
        self._state.shape_answered(self._worker.name, snapshot.demand.shape, None)

    async def _ensure_namespace(self, namespace: str) -> None:
        worker = self._worker
        if not self._state.settings.create_namespaces or worker.is_self or worker.has_namespace(namespace):
            return
        with suppress(AlreadyExists):
            await worker.client.create(NAMESPACES, {"metadata": {"name": namespace}}, field_manager=_FIELD_MANAGER)
        worker.namespace_found(namespace)

    # Creating

    async def _create(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, action: CreateMirror) -> None:
        resource, original = snapshot.adapter.resource, snapshot.original
        assert snapshot.assignment is not None
        run = snapshot.assignment.run
        sending = self._send_creation(snapshot, run, dict(action.body), releases=action.releases)
        try:
            created = await self._queue.create(ref, sending, self._worker.mirrors[resource].observe)
        except AlreadyExists:
            await self._examine(ref, snapshot, action.parameters.name)
            return
        except (Conflict, NotLeading, Unauthorized):
            raise
        except KubeError as error:
            if _may_be_transient(error):
                self._creation_failed(ref, snapshot, error)
                raise
            self._refused(snapshot, error, same_shape=True)
            self._enqueue_original(ref)
            return
        again = self._state.record(original.uid).mirror_created(run.epoch)
        self._metrics.mirrors.labels(self._worker.name, "create", "success").inc()
        if snapshot.adapter.mirror_patch(original, created, action.parameters) is not None:
            self._queue.add(ref)  # a webhook of the worker has changed it
        note = f"Mirror created {'again ' if again else ''}on {self._worker.name}"
        told = EventNote("MirrorCreated", note, "Warning" if again else "Normal")
        self._recorder.record(ObjectReference.of(original, resource), [told])

    async def _send_creation(
        self, snapshot: WorkloadSnapshot, run: Run, body: dict[str, Any], *, releases: bool
    ) -> Object:
        """Create a mirror, and keep account of whether it may exist."""
        runs = self._state.record(snapshot.original.uid).runs
        before = runs.creation_sent(run, releases=releases)
        try:
            return await self._worker.client.create(snapshot.adapter.resource, body, field_manager=_FIELD_MANAGER)
        except BaseException as error:
            if isinstance(error, KubeError) and _had_no_effect(error):
                runs.creation_had_no_effect(before)
            else:
                runs.creation_unanswered(run, self._state.clock.monotonic())
            raise

    def _creation_failed(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, error: KubeError) -> None:
        """Count a failure; too many in a row count as a refusal."""
        self._metrics.mirrors.labels(self._worker.name, "create", "error").inc()
        if self._state.record(snapshot.original.uid).creation_failed(str(error), _TRIES):
            self._refused(snapshot, error, same_shape=False)
            self._enqueue_original(ref)

    async def _examine(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, name: str) -> None:
        """The name is taken: by our own mirror, if the reply to its creation was lost, or by a foreign object."""
        found = await self._worker.client.get(snapshot.adapter.resource, name, ref.key.namespace)
        self._judge(ref, snapshot, found)

    def _judge(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, found: Object) -> None:
        """Say whose object it is that has the name of a mirror, and have done what is to be done about it."""
        resource = snapshot.adapter.resource
        marked = found.metadata.labels.get(ORIGIN) == self._state.settings.origin
        uid = found.metadata.annotations.get(ORIGIN_UID, "")
        if marked:
            self._worker.mirrors[resource].observe(found)
        if found.key in self._worker.mirrors[resource]:
            self._queue.add(ref)
            return
        if marked and uid == snapshot.original.uid:
            self._enqueue_original(ref)  # it tells of this look-alike, and the end of that starts the next attempt
            return
        if uid == snapshot.original.uid or (marked and not uid):
            self._unmarked(ref, snapshot, found, ORIGIN_UID if marked else ORIGIN)
            return
        message = f"there is a {resource.kind} {found.key} that is not ours, and it is left alone"
        self._refused(snapshot, message, same_shape=False)
        self._enqueue_original(ref)

    def _unmarked(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, found: Object, mark: str) -> None:
        """Someone removed the label or the uid from our mirror: it is left alone, and no other mirror is created."""
        where = f"{found.namespace}/{found.name} on {self._worker.name}"
        what = "label" if mark == ORIGIN else "annotation"
        message = f"someone removed the {what} {mark} from {where}; put it back, or delete that object"
        self._state.record(snapshot.original.uid).mirror_unmarked(message)
        self._recorder.record(snapshot.original, [EventNote("MirrorUnmarked", message, "Warning")])
        self._queue.queue.add_after(ref, self._state.settings.ask_again)

    def _refused(
        self, snapshot: WorkloadSnapshot, cause: KubeError | str, *, same_shape: bool, retry_after: float | None = None
    ) -> None:
        """Remember a refusal for this workload, or for all workloads of its shape too."""
        message, reason = str(cause), "foreign" if isinstance(cause, str) else type(cause).__name__
        if isinstance(cause, StatusError):
            reason = cause.status.reason
        wait = self._state.settings.ask_again if retry_after is None else retry_after
        refusal = Refusal(message, self._state.clock.now() + timedelta(seconds=wait))
        self._state.record(snapshot.original.uid).refused(self._worker.name, refusal)
        if same_shape:
            self._state.shape_answered(self._worker.name, snapshot.demand.shape, refusal)
        self._metrics.refusals.labels(self._worker.name, reason).inc()
        self._recorder.record(snapshot.original, [EventNote("Refused", f"{self._worker.name}: {message}", "Warning")])

    # Proving

    async def _prove_gone(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, run: Run) -> None:
        """Find out whether a run is gone, and let the current one go on if it is."""
        record, clock, name = self._state.record(snapshot.original.uid), self._state.clock, self._worker.name
        wait = 0.0 if snapshot.runs_on == name else self._settles_in(record.runs.known(run))
        if wait > 0:
            record.not_proven_gone(
                f"a creation on {name} that was not answered may still take effect for {wait:.0f} s", None
            )
            self._queue.queue.add_after(ref, wait)
            return
        absent_since = record.absent_since if record.absent_since is not None else clock.monotonic()
        try:
            mirror = mirror_name(ref.key, own_cluster=self._worker.is_self)
            await check_gone(self._worker, snapshot, run, mirror, clock.monotonic() - absent_since)
        except NotProvenGone as error:
            record.not_proven_gone(str(error), None if error.mirror is not None else absent_since)
            if error.mirror is not None:
                self._judge(ref, snapshot, error.mirror)
            self._queue.queue.add_after(ref, error.again)
            return
        record.proved_gone(run)
        self._enqueue_run(ref)
        self._enqueue_original(ref)

    def _settles_in(self, known: KnownRun) -> float:
        state, since = self._state, self._worker.connected_since
        return settles_in(known, state.leading_since, since, state.settings.settle, state.clock.monotonic())

    # Changing and removing

    async def _update(
        self, ref: WorkloadRef, snapshot: WorkloadSnapshot, mirror: Mirror, patch: dict[str, Any], *, releases: bool
    ) -> None:
        record = self._state.record(snapshot.original.uid)
        generations = f"{snapshot.original.metadata.generation}/{mirror.obj.metadata.generation}"
        if record.unforwarded == generations and not releases:
            return
        resource, name = snapshot.adapter.resource, mirror.obj.name
        change = {**patch, "metadata": {**patch.get("metadata", {}), "uid": mirror.obj.uid}}
        if releases and snapshot.assignment is not None:
            record.runs.release_sent(snapshot.assignment.run)
            change["metadata"]["resourceVersion"] = mirror.obj.resource_version
        try:
            new = await self._worker.client.patch(
                resource, name, merge_patch(change), ref.key.namespace, field_manager=_FIELD_MANAGER
            )
        except (NotFound, Conflict) as error:
            if releases and isinstance(error, Conflict):
                raise  # only its status may have changed, which would not have it looked at again
            return  # the watch will report what became of it
        except StatusError as error:
            if _may_be_transient(error) or isinstance(error, Unauthorized):
                raise
            record.change_rejected(generations, str(error))
            self._metrics.mirrors.labels(self._worker.name, "update", "refused").inc()
            note = f"{self._worker.name} refused a change of the mirror: {error}"
            self._recorder.record(snapshot.original, [EventNote("ForwardRefused", note, "Warning")])
            if releases:
                self._queue.queue.add_after(ref, self._state.settings.ask_again)
            return
        self._metrics.mirrors.labels(self._worker.name, "update", "success").inc()
        self._worker.mirrors[resource].observe(new)

    async def _delete(self, ref: WorkloadRef, action: DeleteMirror) -> None:
        mirror = action.mirror.obj
        resource = self._state.kinds[ref.kind].adapter.resource
        log.info("removing a mirror", worker=self._worker.name, mirror=str(mirror.key), why=action.why)
        try:
            await self._worker.client.delete(
                resource, mirror.name, mirror.namespace, propagation=action.propagation, uid=mirror.uid
            )
        except (NotFound, Conflict):
            return  # deleted, or replaced by another object: the watch will report which
        self._metrics.mirrors.labels(self._worker.name, "delete", "success").inc()
        self._metrics.sweeps.labels(self._worker.name).inc()


def _had_no_effect(error: KubeError) -> bool:
    """Whether an error says that the request was not carried out, and will not be."""
    if isinstance(error, StatusError):
        return error.code < 500
    return isinstance(error, ConnectError | NotLeading)


def _may_be_transient(error: KubeError) -> bool:
    return not isinstance(error, StatusError) or error.code >= 500 or error.code == 429
