"""Reconciles the mirrors on one worker: carries out what `reconcile_mirror` decides, by the actions of `mirrors`.

Each worker has its own controller, with its own queue and a limit on concurrent requests, so a worker that hangs delays
nothing but its own mirrors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from jobrelay.control import Controller, Result
from jobrelay.kube.objects import Key
from jobrelay.relay.copying.worker import WorkerDependencies
from jobrelay.relay.kept_logs.keeper import LogKeeper
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.mirrors.changing import delete_mirror, update_mirror
from jobrelay.relay.mirrors.context import MirrorContext
from jobrelay.relay.mirrors.creating import create_mirror, provide
from jobrelay.relay.mirrors.probing import WorkerProbes
from jobrelay.relay.mirrors.proving_gone import prove_gone
from jobrelay.relay.original_controller import NOT_LEADING
from jobrelay.relay.reconcile_mirror import (
    CreateMirror,
    DeleteMirror,
    MirrorDecision,
    ProveGone,
    UpdateMirror,
    orphaned,
    reconcile_mirror,
)
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.snapshot_builder import SnapshotBuilder
from jobrelay.relay.worker_assignment import epoch_of
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef, mirror_name
from jobrelay.workloads import ObjectName
from jobrelay.workloads.names import ORIGIN_UID

_WORKERS: Final = 16
_SUSPICIOUS: Final = Result(requeue_after=1.0)
"""The worker does not answer: it gets no more requests until it does, so that leases begin before that."""


class MirrorController:
    """The controller of one worker's mirrors; `keeper` keeps their logs when they are removed."""

    def __init__(
        self,
        context: MirrorContext,
        snapshots: SnapshotBuilder,
        dependencies: WorkerDependencies,
        keeper: LogKeeper | None,
        *,
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._context, self._snapshots, self._dependencies = context, snapshots, dependencies
        self._keeper = keeper
        self._worker, self._kinds, self._leads = context.worker, context.state.kinds, leads
        self._probes = WorkerProbes(context, dependencies)
        self.controller = Controller(
            f"mirrors on {context.worker.name}",
            self.reconcile,
            workers=_WORKERS,
            queue=context.queue.queue,
            clock=context.state.clock,
            grace=grace,
        )

    async def reconcile(self, ref: WorkloadRef) -> Result | None:
        if not self._worker.connected:
            return None  # queued again when the worker is connected
        if self._worker.suspicious:
            return _SUSPICIOUS
        if not self._leads():
            return NOT_LEADING
        kind = self._kinds[ref.kind]
        if not kind.known:
            return None  # queued again when its originals are known
        snapshot = self._snapshot(ref, kind)
        try:
            if snapshot is not None and self._context.queue.take_probe(ref):
                await self._probes.probe(ref, snapshot)
                return None
            decision = self._decide(ref, kind, snapshot)
            if isinstance(decision.action, CreateMirror) and snapshot is not None and snapshot.dependencies:
                decision = await self._create_with_dependencies(ref, kind, snapshot)
            else:
                await self._carry_out(ref, kind, snapshot, decision)
        except NotLeading:
            return NOT_LEADING
        return Result(requeue_after=decision.requeue_after) if decision.requeue_after is not None else None

    def _look_again(self, ref: WorkloadRef) -> None:
        self._context.queue.add(ref)

    def _snapshot(self, ref: WorkloadRef, kind: WorkloadKind) -> WorkloadSnapshot | None:
        original = kind.originals.get(ref.key)
        return self._snapshots.snapshot(kind, original) if original is not None else None

    def _decide(self, ref: WorkloadRef, kind: WorkloadKind, snapshot: WorkloadSnapshot | None) -> MirrorDecision:
        name = mirror_name(ref.key, own_cluster=self._worker.is_self)
        found = self._worker.mirrors[kind.adapter.resource].get(Key(ref.key.namespace, name))
        uid = found.metadata.annotations.get(ORIGIN_UID) if found is not None else None
        if found is not None and uid and (snapshot is None or snapshot.original.uid != uid):
            return orphaned(Mirror(self._worker.name, found, kind.adapter.read(found), epoch_of(found)))
        return reconcile_mirror(snapshot, self._worker.name, name) if snapshot is not None else MirrorDecision()

    async def _create_with_dependencies(
        self, ref: WorkloadRef, kind: WorkloadKind, snapshot: WorkloadSnapshot
    ) -> MirrorDecision:
        """Provide what the mirror needs on the worker, then decide again: much may have happened meanwhile."""
        async with AsyncExitStack() as stack:
            copies = await provide(self._context, self._dependencies, ref, snapshot, stack)
            fresh = self._snapshot(ref, kind) if copies is not None else None
            if fresh is None:
                return MirrorDecision()
            if fresh.references != snapshot.references:
                self._context.queue.add(ref)
                return MirrorDecision()
            decision = self._decide(ref, kind, fresh)
            await self._carry_out(ref, kind, fresh, decision, copies)
            return decision

    async def _carry_out(
        self,
        ref: WorkloadRef,
        kind: WorkloadKind,
        snapshot: WorkloadSnapshot | None,
        decision: MirrorDecision,
        copies: Mapping[ObjectName, str] | None = None,
    ) -> None:
        """Carry a decision out; a mirror that is created uses these `copies`, by their source."""
        match decision.action:
            case CreateMirror():
                assert snapshot is not None
                await create_mirror(self._context, ref, snapshot, decision.action, copies or {})
            case UpdateMirror():
                assert snapshot is not None
                await update_mirror(self._context, ref, snapshot, decision.action)
            case DeleteMirror(mirror):
                if self._keeper is None or self._keeper.is_taken(snapshot, mirror, partial(self._look_again, ref)):
                    await delete_mirror(self._context, kind.adapter.resource, decision.action)
            case ProveGone(run):
                assert snapshot is not None
                await prove_gone(self._context, ref, snapshot, run)
