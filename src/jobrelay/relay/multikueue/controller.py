"""Reconciles the Workloads of the management cluster: carries out what `reconcile_workload` decides."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from jobrelay.apimachinery.times import format_time
from jobrelay.control import LOW_PRIORITY, Controller, Result, WorkQueue
from jobrelay.kube import Conflict, EventNote, Key, NotFound, Object, merge_patch
from jobrelay.kube.events import ObjectReference
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.multikueue.claims import CheckClaims
from jobrelay.relay.multikueue.decide import (
    CheckUpdate,
    Nominate,
    Remotes,
    WorkloadUpdate,
    no_adapter,
    reconcile_workload,
)
from jobrelay.relay.multikueue.dispatching import next_round
from jobrelay.relay.multikueue.gate import KueueGate
from jobrelay.relay.multikueue.leader import LeaderContext
from jobrelay.relay.multikueue.objects import KueueObjects, owner_of
from jobrelay.relay.multikueue.views import PENDING, REJECTED, WORKLOADS, QueuedWorkload, read_workload
from jobrelay.relay.original_controller import NOT_LEADING
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.snapshot_builder import SnapshotBuilder

_FIELD_MANAGER: Final = "jobrelay"
_WORKERS: Final = 16
_LOOK_AGAIN: Final = 5.0
"""How often runs on workers that do not answer are reconciled, since only their timeout ends them; in seconds."""


class MultiKueueController:
    """One controller for all Workloads that have a check of ours."""

    def __init__(
        self,
        objects: KueueObjects,
        gate: KueueGate,
        claims: CheckClaims,
        snapshots: SnapshotBuilder,
        clones: Callable[[Key], None],
        leader: LeaderContext,
    ) -> None:
        self._objects, self._gate, self._claims, self._snapshots = objects, gate, claims, snapshots
        self._client, self._recorder, self._leads = leader.client, leader.recorder, leader.leads
        self._clock = clock = leader.clock
        self._queue: WorkQueue[Key] = WorkQueue(clock=clock, max_delay=30.0)
        self.controller = Controller(
            "workloads", self.reconcile, workers=_WORKERS, queue=self._queue, clock=clock, grace=leader.grace
        )
        self._clones = clones
        gate.subscribe_asked(self._queue.add)
        objects.workloads.subscribe(self._workload_changed)
        objects.workloads.subscribe(self._for_workers)

    def _workload_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None and self._gate.is_checked(new):
            synced = self._objects.workloads.synced.is_set()
            self._queue.add(new.key, priority=0 if synced else LOW_PRIORITY)

    def add(self, key: Key) -> None:
        """Queue a Workload: its clone on a worker has changed."""
        self._queue.add(key)

    def _for_workers(self, old: Object | None, new: Object | None) -> None:
        """Queue a Workload for the workers that may have to have a clone, or have one."""
        obj = new or old
        if obj is not None and (new is None or self._gate.is_checked(obj)):
            self._clones(obj.key)

    def original_changed(self, old: Object | None, new: Object | None) -> None:
        """Queue the Workload of an original: its assignment may be another one."""
        found = self._objects.workload_of(new) if new is not None else None
        if found is not None and self._gate.own_check(found[1]) is not None:
            self._queue.add(found[0].key)
            self._clones(found[0].key)

    def all_changed(self) -> None:
        """Queue all Workloads again."""
        for workload in self._objects.workloads:
            self._workload_changed(None, workload)
            self._for_workers(None, workload)

    async def reconcile(self, key: Key) -> Result | None:
        obj = self._objects.workloads.get(key)
        workload = read_workload(obj) if obj is not None else None
        own = self._gate.own_check(workload) if workload is not None else None
        if obj is None or workload is None or own is None or obj.deleting or not self._claims.is_ours(own.name):
            return None
        if not self._leads():
            return NOT_LEADING
        found = self._gate.original_of(obj)
        snapshot = self._snapshots.snapshot(*found) if found is not None else None
        if snapshot is not None:
            gone = frozenset({workload.cluster} if self._gate.is_gone(workload.cluster, key) else ())
            remotes = Remotes(self._gate.clones(key, workload), gone, self._gate.wished(key))
            update = reconcile_workload(workload, own, snapshot, remotes, self._gate.config(own), self._gate.how)
            if not workload.reserved:
                self._gate.forget(key)
        else:
            owner = owner_of(obj)
            known = self._gate.knows(obj) or own.state == REJECTED
            update = None if known else no_adapter(own, owner.kind if owner is not None else "")
        try:
            if update is not None:
                await self._write(obj, workload, own.name, update)
        except NotLeading:
            return NOT_LEADING
        if snapshot is not None and _waits(snapshot):
            return Result(requeue_after=_LOOK_AGAIN)
        later = next_round(self._gate.how, workload, self._clock.now()) if own.state == PENDING else None
        return Result(requeue_after=later) if later is not None else None

    async def _write(self, obj: Object, workload: QueuedWorkload, check: str, update: WorkloadUpdate) -> None:
        status = status_change(obj, check, update, format_time(self._clock.now()))
        patch = merge_patch({"metadata": {"uid": obj.uid, "resourceVersion": obj.resource_version}, "status": status})
        with suppress(Conflict, NotFound):  # the watch reports what it is now
            self._objects.workloads.observe(
                await self._client.patch(
                    WORKLOADS, obj.name, patch, obj.namespace, subresource="status", field_manager=_FIELD_MANAGER
                )
            )
            if isinstance(update, CheckUpdate):
                note = EventNote("MultiKueue", update.message, "Normal" if update.cluster else "Warning")
                self._recorder.record(ObjectReference.of(obj, WORKLOADS), [note])


def _waits(snapshot: WorkloadSnapshot) -> bool:
    """Whether its worker does not answer, so that time alone changes what is to be done."""
    to = snapshot.assignment
    return to is not None and snapshot.workload.end is None and snapshot.lost_since(to.run) is not None


def status_change(obj: Object, check: str, update: WorkloadUpdate, now: str) -> dict[str, Any]:
    """The merge patch of a Workload's status; lists are replaced as a whole."""
    if isinstance(update, Nominate):
        return {"nominatedClusterNames": list(update.clusters)}
    if not isinstance(update, CheckUpdate):
        return {"clusterName": None, "nominatedClusterNames": None}
    checks = obj.decode().get("status", {}).get("admissionChecks") or []
    fresh = {"state": update.state, "message": update.message, "lastTransitionTime": now}
    changed: dict[str, Any] = {
        "admissionChecks": [each | fresh if each.get("name") == check else each for each in checks]
    }
    return changed | ({"clusterName": update.cluster, "nominatedClusterNames": None} if update.cluster else {})
