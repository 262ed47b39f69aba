"""Runs one controller of clones for each worker, so that one that hangs delays nothing but its own clones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from jobrelay.control import Controller, Result, WorkQueue
from jobrelay.kube import AlreadyExists, Conflict, Key, KubeError, NotFound, Object, merge_patch
from jobrelay.logs import get_logger
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.multikueue.claims import CheckClaims
from jobrelay.relay.multikueue.clones import (
    CloneAction,
    CreateClone,
    DeleteClone,
    FindClone,
    PatchClone,
    asked,
    clone_body,
    identity,
    reconcile_clone,
)
from jobrelay.relay.multikueue.gate import KueueGate
from jobrelay.relay.multikueue.leader import LeaderContext
from jobrelay.relay.multikueue.objects import KueueObjects
from jobrelay.relay.multikueue.views import WORKLOADS, read_workload
from jobrelay.relay.original_controller import NOT_LEADING
from jobrelay.relay.proofs import ProofSubject, cluster_binding
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.workers import Registry, WorkerConnection
from jobrelay.relay.workers.tasks import OwnedTasks
from jobrelay.workloads.names import KUEUE_ORIGIN, ORIGIN_UID

log = get_logger(__name__)

_FIELD_MANAGER: Final = "jobrelay"
_WORKERS: Final = 16


class CloneController:
    """The clones on one worker; `changed` is called with the key of a Workload whose clone is another one by now."""

    def __init__(
        self,
        worker: WorkerConnection,
        objects: KueueObjects,
        gate: KueueGate,
        claims: CheckClaims,
        registry: Registry,
        changed: Callable[[Key], None],
        leader: LeaderContext,
    ) -> None:
        self._worker, self._objects, self._gate, self._claims = worker, objects, gate, claims
        self._proofs, self._changed, self._leads = registry.proofs, changed, leader.leads
        self._queue: WorkQueue[Key] = WorkQueue(clock=leader.clock, max_delay=30.0)
        self.controller = Controller(
            f"workloads on {worker.name}",
            self.reconcile,
            workers=_WORKERS,
            queue=self._queue,
            clock=leader.clock,
            grace=leader.grace,
        )
        self._unsubscribe = [worker.mirrors[WORKLOADS].subscribe(self._clone_changed), worker.subscribe(self._reviewed)]
        self._ready = False
        self._reviewed()

    def close(self) -> None:
        for each in self._unsubscribe:
            each()

    def add(self, key: Key) -> None:
        self._queue.add(key)

    def _clone_changed(self, old: Object | None, new: Object | None) -> None:
        clone = new or old
        assert clone is not None
        self._gate.clone_changed(self._worker.name, clone.key, gone=new is None)
        self._queue.add(clone.key)
        self._changed(clone.key)

    def _reviewed(self) -> None:
        """When the worker is connected and its clones are known, compare them with what should be there."""
        ready = self._worker.connected and self._worker.mirrors.kueue is True
        if ready and not self._ready:
            keys = {obj.key for obj in self._worker.mirrors[WORKLOADS]} | {obj.key for obj in self._objects.workloads}
            for key in keys:
                self._queue.add(key)
        if ready != self._ready:
            self._ready = ready
            self._gate.all_changed()

    async def reconcile(self, key: Key) -> Result | None:
        if not self._worker.connected or not self._worker.mirrors.kueue or not self._objects.in_place:
            return None
        if not self._leads():
            return NOT_LEADING
        try:
            await self._carry_out(key, *self._decide(key))
        except NotLeading:
            return NOT_LEADING
        return None

    def _decide(self, key: Key) -> tuple[CloneAction, Object | None, Object | None]:
        obj, clone = self._objects.workloads.get(key), self._worker.mirrors[WORKLOADS].get(key)
        if obj is None or (clone is not None and clone.metadata.annotations.get(ORIGIN_UID) != obj.uid):
            gone = DeleteClone("its Workload is gone") if clone is not None and not clone.deleting else None
            return gone, obj, clone
        workload = read_workload(obj)
        own = self._gate.own_check(workload) if workload is not None else None
        if workload is None or own is None or not self._claims.is_ours(own.name):
            return None, obj, clone
        found = self._gate.original_of(obj)
        if clone is None and found is not None and found[0].adapter.read(found[1]).end is not None:
            return None, obj, clone  # it went with its mirror
        to = assignment_of(found[1]) if found is not None else None
        wanted = self._worker.name in asked(workload, own, to) and not obj.deleting
        body = clone_body(obj, workload.id, self._proofs.origin, self._proof(obj))
        return reconcile_clone(workload, obj, own.state, wanted, clone, body), obj, clone

    def _proof(self, obj: Object) -> str:
        binding = cluster_binding(self._worker.name, self._worker.facts().identity)
        subject = ProofSubject(self._proofs.origin, str(WORKLOADS), obj.uid, binding, obj.namespace, obj.name, "1")
        return self._proofs.keys.sign(subject)

    async def _carry_out(self, key: Key, action: CloneAction, obj: Object | None, clone: Object | None) -> None:
        match action:
            case CreateClone(body):
                assert obj is not None
                await self._create(obj, body)
            case FindClone():
                assert obj is not None
                await self._find(obj)
            case PatchClone(patch, subresource):
                assert clone is not None
                await self._patch(clone, patch, subresource)
            case DeleteClone(why):
                assert clone is not None
                await self._delete(clone, why)

    async def _create(self, obj: Object, body: Mapping[str, Any]) -> None:
        try:
            made = await self._worker.client.create(WORKLOADS, body, field_manager=_FIELD_MANAGER)
        except AlreadyExists:
            await self._find(obj)
            return
        except KubeError as error:
            self._gate.clone_failed(self._worker.name, obj.key, str(error))
            raise
        self._gate.clone_failed(self._worker.name, obj.key, "")
        self._worker.mirrors[WORKLOADS].observe(made)

    async def _find(self, obj: Object) -> None:
        """Take over a clone that Kueue's own controller has made under our origin; otherwise report that it is gone."""
        try:
            found = await self._worker.client.get(WORKLOADS, obj.name, obj.namespace)
        except NotFound:
            self._gate.clone_changed(self._worker.name, obj.key, gone=True)
            self._changed(obj.key)
            return
        if found.metadata.labels.get(KUEUE_ORIGIN) != self._proofs.origin:
            self._gate.clone_failed(self._worker.name, obj.key, "there is a Workload of that name that is not ours")
            self._changed(obj.key)
            return
        log.info("taking over a Workload", worker=self._worker.name, workload=str(obj.key))
        workload = read_workload(obj)
        reservation = workload.id if workload is not None else ""
        marks = identity(obj, reservation, self._proofs.origin, self._proof(obj))
        await self._patch(found, {"metadata": marks}, None)

    async def _patch(self, clone: Object, patch: Mapping[str, Any], subresource: str | None) -> None:
        known = {"uid": clone.uid, "resourceVersion": clone.resource_version}
        change = merge_patch({**patch, "metadata": known | patch.get("metadata", {})})
        with suppress(NotFound, Conflict):  # the watch reports what became of it
            new = await self._worker.client.patch(
                WORKLOADS, clone.name, change, clone.namespace, subresource=subresource, field_manager=_FIELD_MANAGER
            )
            self._worker.mirrors[WORKLOADS].observe(new)

    async def _delete(self, clone: Object, why: str) -> None:
        """Remove a clone; what Kueue holds it by is removed first, since nothing of it counts any more."""
        log.info("removing a Workload", worker=self._worker.name, workload=str(clone.key), why=why)
        client, name = self._worker.client, clone.name
        with suppress(NotFound, Conflict):
            if clone.metadata.finalizers:
                freed = merge_patch({"metadata": {"uid": clone.uid, "finalizers": None}})
                await client.patch(WORKLOADS, name, freed, clone.namespace, field_manager=_FIELD_MANAGER)
            await client.delete(WORKLOADS, name, clone.namespace, uid=clone.uid, propagation="Background")


class CloneControllers:
    """Starts a controller of clones when a worker is registered and stops it when the worker is removed."""

    def __init__(self, registry: Registry, make: Callable[[WorkerConnection], CloneController]) -> None:
        self._registry, self._make = registry, make
        self._running: dict[str, tuple[WorkerConnection, CloneController, asyncio.Task[None]]] = {}
        self._tasks = OwnedTasks()

    def add(self, key: Key) -> None:
        """Queue a Workload for all workers."""
        for _, controller, _ in self._running.values():
            controller.add(key)

    async def run(self) -> None:
        """Follow the registry until cancelled."""
        stop = self._registry.subscribe(self._registration_changed)
        try:
            for name in list(self._registry.workers):
                self._registration_changed(name)
            await asyncio.Event().wait()
        finally:
            stop()
            for name in list(self._running):
                self._stop(name)
            await self._tasks.wait()

    def _registration_changed(self, name: str) -> None:
        worker, running = self._registry.workers.get(name), self._running.get(name)
        if running is not None and running[0] is not worker:
            self._stop(name)
        if worker is not None and name not in self._running:
            controller = self._make(worker)
            task = self._tasks.start(controller.controller.run(), controller.controller.name)
            self._running[name] = (worker, controller, task)

    def _stop(self, name: str) -> None:
        _, controller, task = self._running.pop(name)
        controller.close()
        task.cancel()
