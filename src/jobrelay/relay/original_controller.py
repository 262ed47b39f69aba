"""Reconciles originals on the management cluster: carries out what `reconcile_original` decides."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jobrelay.control import Controller, Result
from jobrelay.kube import Client, Conflict, EventNote, EventRecorder, Invalid, KubeError, NotFound, Object, merge_patch
from jobrelay.kube.events import ObjectReference
from jobrelay.logs import get_logger
from jobrelay.relay import original_decision as decisions
from jobrelay.relay.dispatcher import Dispatcher
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.lookalikes import ignored, in_the_way
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.misspelled import misspelled
from jobrelay.relay.model import Claimant
from jobrelay.relay.original_decision import OriginalDecision, Stage
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.snapshot_builder import SnapshotBuilder
from jobrelay.relay.state import RelayState
from jobrelay.relay.worker_assignment import WorkerAssignment
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.workloads import status_patch
from jobrelay.workloads.names import ASSIGNMENT

log = get_logger(__name__)

_FIELD_MANAGER = "jobrelay"
_WORKERS = 32
NOT_LEADING = Result(requeue_after=0.5)
"""The renewal of the lease is late. If the lease is lost this controller ends; otherwise the work is still due."""


class OriginalController:
    """One controller for the originals of all kinds.

    `leads` says whether this replica may write, `ask` has a worker asked to admit an original by its own queue.
    """

    def __init__(
        self,
        state: RelayState,
        snapshots: SnapshotBuilder,
        dispatcher: Dispatcher,
        client: Client,
        recorder: EventRecorder,
        metrics: RelayMetrics,
        *,
        leads: Callable[[], bool],
        ask: Callable[[Object, str], None],
        grace: float,
    ) -> None:
        self._ask = ask
        self._state, self._snapshots, self._dispatcher = state, snapshots, dispatcher
        self._client, self._recorder, self._metrics, self._leads = client, recorder, metrics, leads
        queue, clock = dispatcher.originals, state.clock
        self.controller = Controller(
            "originals", self.reconcile, workers=_WORKERS, queue=queue, clock=clock, grace=grace
        )

    def decision(self, ref: WorkloadRef) -> tuple[WorkloadSnapshot, OriginalDecision] | None:
        """What is to be done about a workload now, and the snapshot behind it; None if there is no such original.

        For requests about it: the sentence includes what is known of its pods, which decides nothing.
        """
        return self._decide(ref, pods=True)

    def _decide(self, ref: WorkloadRef, *, pods: bool) -> tuple[WorkloadSnapshot, OriginalDecision] | None:
        kind = self._state.kinds[ref.kind]
        original = kind.originals.get(ref.key)
        if original is None:
            return None
        snapshot = self._snapshots.snapshot(kind, original, pods=pods)
        return snapshot, reconcile_original(snapshot)

    def preview(self, kind: WorkloadKind, original: Object) -> tuple[WorkloadSnapshot, OriginalDecision]:
        """What is to be done about an original, which need not have been created yet."""
        snapshot = self._snapshots.snapshot(kind, original)
        return snapshot, reconcile_original(snapshot)

    async def reconcile(self, ref: WorkloadRef) -> Result | None:
        found = self._decide(ref, pods=False)
        if found is None:
            return None
        if not self._leads():
            return NOT_LEADING
        snapshot, decision = found
        if decision.stage is Stage.NOT_OURS and not decision.events:
            return None
        self._report_lookalikes(ref, snapshot)
        if snapshot.assignment is None:
            self._record_events(snapshot.original, misspelled(snapshot.original.metadata.annotations), snapshot)
        self._follow_line(ref, snapshot, decision)
        waits = decision.stage in (Stage.MOVING, Stage.MIRRORING, Stage.ADMISSION) and snapshot.mirror is None
        if waits:
            self._dispatcher.enqueue_runs(ref, snapshot.assignment, snapshot.held)  # what it waits for may be over
        if decision.lease_stops is not None:
            self._state.record(snapshot.original.uid).stopped_by_lease(decision.lease_stops)
        if decision.holds_status:
            self._state.record(snapshot.original.uid).hold_status(self._state.clock.monotonic())
        try:
            return await self._carry_out(ref, snapshot, decision)
        except NotLeading:
            return NOT_LEADING

    def _follow_line(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, decision: OriginalDecision) -> None:
        line = self._dispatcher.pending
        if decision.waits_in_line:
            original = snapshot.original
            line.claim(ref, Claimant(original.uid, str(original.key), snapshot.priority), decision.claim)
            asking, placement = decision.stage is Stage.PROBING, decision.placement
            stuck = not placement.waits_for_room if placement is not None else None
            line.add(ref, snapshot.line_group, snapshot.rank, asking=asking, stuck=stuck)
        elif isinstance(decision.action, decisions.CommitAssignment) and not decision.action.assignment.waiting:
            line.placed(ref)
        elif isinstance(decision.action, decisions.AskWorker):
            line.passed_on(ref)
        else:
            line.discard(ref)

    async def _carry_out(
        self, ref: WorkloadRef, snapshot: WorkloadSnapshot, decision: OriginalDecision
    ) -> Result | None:
        obj = snapshot.original
        try:
            match decision.action:
                case decisions.CommitAssignment():
                    obj = await self._commit(ref, snapshot, decision.action)
                case decisions.RecordStart(assignment):
                    obj = await self._patch(ref, snapshot, _annotation(assignment))
                    self._dispatcher.originals.add(ref)
                case decisions.DropAssignment():
                    self._state.forget_record(obj.uid)
                    obj = await self._patch(ref, snapshot, {"metadata": {"annotations": {ASSIGNMENT: None}}})
                case decisions.PatchOriginal(patch):
                    obj = await self._patch(ref, snapshot, dict(patch))
                    self._dispatcher.originals.add(ref)
                case decisions.WriteStatus(status):
                    written = await self._write_status(ref, snapshot, dict(status))
                    if written is None or _lacks_end(snapshot, written):
                        return Result(requeue_after=self._state.settings.ask_again)
                    obj = written
                case decisions.ProbeWorker(worker):
                    self._dispatcher.enqueue_probe(ref, worker)
                case decisions.AskWorker(worker):
                    self._ask(obj, worker)
        except NotFound:
            return None  # deleted: the watch will report it
        self._record_events(obj, decision.events, snapshot)
        return Result(requeue_after=decision.requeue_after) if decision.requeue_after is not None else None

    async def _commit(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, action: decisions.CommitAssignment) -> Object:
        original, kind, assignment = snapshot.original, self._state.kinds[ref.kind], action.assignment
        record = self._state.record(original.uid)
        if not assignment.waiting:
            self._state.reserve(original, assignment.cluster, snapshot.demand)
        record.commit_started()
        try:
            new = await self._patch(ref, snapshot, _annotation(assignment))
        except BaseException:
            record.commit_failed()
            self._state.cancel_reservation(kind, original)
            self._dispatcher.enqueue_run(ref)
            raise
        record.committed(assignment, starts=action.starts)
        if not assignment.waiting:
            self._metrics.placed(assignment.cluster, again=snapshot.assignment is not None)
        if not action.starts:
            self._dispatcher.originals.add(ref)  # its mirror may have ended, and then nothing more happens there
        return new

    async def _write_status(
        self, ref: WorkloadRef, snapshot: WorkloadSnapshot, status: dict[str, Any]
    ) -> Object | None:
        """Write the status, or the largest part of it that the API server accepts; None if it accepts no part."""
        mirror, record = snapshot.mirror, self._state.record(snapshot.original.uid)
        changed_at, new = record.take_mirror_change(), None
        try:
            new = await self._patch_status(ref, snapshot, status)
        except Invalid as error:
            if mirror is None:
                raise
            self._report_defect(snapshot, mirror.obj, error)
            new = await self._write_part(ref, snapshot, mirror.obj)
        finally:
            if new is None and changed_at is not None:
                record.mirror_changed(changed_at)
        if new is None:
            return None
        record.status_written()
        if mirror is not None:
            lag = self._state.clock.monotonic() - changed_at if changed_at is not None else None
            self._metrics.returned(mirror.worker, lag)
            self._metrics.progressed(mirror.worker, snapshot.workload, snapshot.adapter.read(new), new)
        return new

    async def _write_part(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, mirror: Object) -> Object | None:
        for part in snapshot.adapter.reduced_statuses(snapshot.original, mirror):
            with suppress(Invalid):
                return await self._patch_status(ref, snapshot, part)
        return None

    async def _patch_status(self, ref: WorkloadRef, snapshot: WorkloadSnapshot, status: dict[str, Any]) -> Object:
        old: dict[str, Any] = snapshot.original.decode().get("status") or {}
        return await self._patch(ref, snapshot, {"status": status_patch(old, status)}, "status")

    async def _patch(
        self, ref: WorkloadRef, snapshot: WorkloadSnapshot, change: dict[str, Any], subresource: str | None = None
    ) -> Object:
        """Patch the original, if it is still this version of this object."""
        original, resource = snapshot.original, snapshot.adapter.resource
        known = {"uid": original.uid, "resourceVersion": original.resource_version}
        patch = merge_patch({**change, "metadata": known | change.get("metadata", {})})
        request = self._client.patch(
            resource, original.name, patch, original.namespace, subresource=subresource, field_manager=_FIELD_MANAGER
        )
        try:
            return await self._dispatcher.write_original(self._state.kinds[ref.kind], ref, request)
        except Conflict:
            await self._read_again(ref, original)
            raise

    async def _read_again(self, ref: WorkloadRef, known: Object) -> None:
        """The watch is behind: read the newer version, since no write to the known one can succeed."""
        kind = self._state.kinds[ref.kind]
        with suppress(KubeError):
            found = await self._client.get(kind.adapter.resource, known.name, known.namespace)
            if found.uid == known.uid:
                kind.originals.observe(found)

    def _report_defect(self, snapshot: WorkloadSnapshot, mirror: Object, error: Invalid) -> None:
        """Log both statuses, once for each version of the mirror: a rejected status is a defect of the relay."""
        original = snapshot.original
        if not self._state.record(original.uid).status_rejected(mirror.resource_version):
            return
        self._metrics.defects.inc()
        log.error(
            "the API server refused a status that should be legal: please report this",
            workload=str(original.key),
            error=str(error),
            original=original.decode().get("status"),
            mirror=mirror.decode().get("status"),
        )
        note = f"The API server refused the whole status: {error}"
        self._recorder.record(original, [EventNote("StatusRefused", note, "Warning")])

    def _report_lookalikes(self, ref: WorkloadRef, snapshot: WorkloadSnapshot) -> None:
        """Record an event for each new look-alike."""
        unreported = self._state.kinds[ref.kind].lookalikes.take_unreported(snapshot.original.uid)
        if unreported:
            notes = [in_the_way(each) if each in snapshot.unproven else ignored(each) for each in unreported]
            self._recorder.record(snapshot.original, [EventNote("LookAlike", note, "Warning") for note in notes])

    def _record_events(self, original: Object, notes: tuple[EventNote, ...], snapshot: WorkloadSnapshot) -> None:
        """Record each event once per epoch."""
        if not notes:
            return
        record = self._state.record(original.uid)
        epoch = snapshot.assignment.epoch if snapshot.assignment is not None else 0
        about = ObjectReference.of(original, snapshot.adapter.resource)
        self._recorder.record(about, [note for note in notes if record.first_report(note.reason, epoch)])
        if any(note.reason == "Finished" for note in notes):
            self._state.forget_record(original.uid)


def _annotation(assignment: WorkerAssignment) -> dict[str, Any]:
    return {"metadata": {"annotations": {ASSIGNMENT: assignment.encode()}}}


def _lacks_end(snapshot: WorkloadSnapshot, written: Object) -> bool:
    """Whether the mirror has ended, but the part of its status that was written does not say so."""
    mirror = snapshot.mirror
    return mirror is not None and mirror.facts.end is not None and snapshot.adapter.read(written).end is None
