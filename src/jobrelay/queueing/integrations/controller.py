"""Reconciles queued objects of all kinds: carries out what `decide.next_step` says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from jobrelay.control import Controller, Result
from jobrelay.kube import AlreadyExists, Cache, Client, Clock, EventRecorder, NotFound, Object, Resource, merge_patch
from jobrelay.kube.events import ObjectReference
from jobrelay.kube.objects import Key
from jobrelay.queueing import core, names
from jobrelay.queueing.admitting import NOT_LEADING
from jobrelay.queueing.integrations import decide
from jobrelay.queueing.integrations.podsets import pod_sets
from jobrelay.queueing.objects import QueueObjects
from jobrelay.queueing.priorities import find_priority
from jobrelay.queueing.views import WorkloadView
from jobrelay.queueing.writing import WorkloadWriter
from jobrelay.relay.copying.sources import CopySources
from jobrelay.workloads import Adapter, ObjectName
from jobrelay.workloads.dependencies import Known, references_of

_WORKERS: Final = 16
_DEEPEST: Final = 4
"""How often it is asked what objects name that were just found: a run names a Pipeline, which names Tasks."""

Originals = Mapping[Resource, tuple[Adapter, Cache]]
ObjectKey = tuple[Resource, Key]
QueueOf = Callable[[Adapter, Object], str | None]
"""From an object to the name of its LocalQueue; None if it is not queued."""


class QueuedObjectController:
    """One step of a queued object at a time."""

    def __init__(
        self,
        originals: Originals,
        objects: QueueObjects,
        client: Client,
        writer: WorkloadWriter,
        recorder: EventRecorder,
        clock: Clock,
        *,
        queue_of: QueueOf,
        has_runs: Callable[[Object], bool],
        flavors: Callable[[], Mapping[str, core.FlavorSpec]],
        sources: CopySources,
        copied: tuple[str, ...],
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._originals, self._objects, self._client, self._writer = originals, objects, client, writer
        self._recorder, self._clock, self._leads = recorder, clock, leads
        self._queue_of, self._has_runs, self._flavors, self._copied = queue_of, has_runs, flavors, copied
        self._sources = sources
        self._kinds = {(resource.api_version, resource.kind): resource for resource in originals}
        self.controller: Controller[ObjectKey] = Controller(
            "queued objects", self.reconcile, workers=_WORKERS, clock=clock, grace=grace
        )
        for resource, (_, cache) in originals.items():
            self.controller.watch(cache, partial(self._of_object, resource))
        self.controller.watch(objects.workloads, self._of_workload)
        self.controller.watch(objects.priority_classes, self._of_priority_class)

    def _of_object(self, resource: Resource, old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
        if new is None:
            return ()
        adapter = self._originals[resource][0]
        return ((resource, new.key),) if self._queue_of(adapter, new) is not None else ()

    def _of_workload(self, old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
        workload = new or old
        owner = workload.metadata.controller if workload is not None else None
        if workload is None or owner is None:
            return ()
        resource = self._kinds.get((owner.api_version, owner.kind))
        return ((resource, Key(workload.namespace, owner.name)),) if resource is not None else ()

    def _of_priority_class(self, old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
        """Waiting Workloads follow the value of their class."""
        changed = new or old
        for resource, (_, cache) in self._originals.items():
            for each in cache:
                if changed is not None and each.metadata.labels.get(names.PRIORITY_CLASS) == changed.name:
                    yield resource, each.key

    def queued(self, adapter: Adapter, obj: Object, known: Known | None = None) -> decide.QueuedObject | None:
        """Everything about an object, now; None if it is not queued."""
        queue = self._queue_of(adapter, obj)
        if queue is None:
            return None
        sets = pod_sets(adapter, obj, known)
        return decide.QueuedObject(
            adapter,
            obj,
            queue,
            sets,
            find_priority(obj, sets, self._objects.priority, self._objects.default_priority()),
            self._clock.now(),
            self._objects.workload_of(obj.uid),
            self._flavors(),
            self._has_runs(obj),
            self._copied,
        )

    async def reconcile(self, key: ObjectKey) -> Result | None:
        resource, name = key
        adapter, cache = self._originals[resource]
        obj = cache.get(name)
        if obj is None:
            return None
        if not self._leads():
            return NOT_LEADING
        queued = self.queued(adapter, obj, await self._described_by(adapter, obj))
        if queued is None:
            return None
        step = decide.next_step(queued)
        try:
            await self._carry_out(queued, step.action)
        except NotFound:
            return None
        self._recorder.record(ObjectReference.of(obj, resource), step.events)
        return None

    async def _described_by(self, adapter: Adapter, obj: Object) -> Known | None:
        """What describes the pods of a waiting object beside itself: a runtime, a Pipeline. Later that is settled."""
        workload = self._objects.workload_of(obj.uid)
        if workload is not None and workload.decode(WorkloadView).status.admission is not None:
            return None
        known: dict[ObjectName, Object] = {}
        for _ in range(_DEEPEST):
            named = {each.target for each in references_of(adapter, obj, known) if each.resource.group}
            found = [(each, await self._sources.find(each)) for each in named - known.keys()]
            if not any(one for _, one in found):
                break
            known |= {each: one for each, one in found if one is not None}
        return known

    async def _carry_out(self, queued: decide.QueuedObject, action: decide.ObjectAction | None) -> None:
        match action:
            case decide.CreateWorkload(body):
                try:
                    await self._writer.create(body)
                except AlreadyExists:
                    return  # it was created before a restart; the watch shows it
            case decide.DeleteWorkload():
                assert queued.workload is not None
                await self._writer.delete(queued.workload)
            case decide.PatchWorkload(spec, annotations):
                assert queued.workload is not None
                await self._writer.patch(queued.workload, spec, annotations)
            case decide.PatchWorkloadStatus(status):
                assert queued.workload is not None
                await self._writer.patch_status(queued.workload, status)
            case decide.PatchObject(patch, subresource):
                await self._patch_object(queued, patch, subresource)
            case None:
                pass

    async def _patch_object(
        self, queued: decide.QueuedObject, patch: dict[str, object], subresource: str | None
    ) -> None:
        """Patch the object, if it is still this version, and put the reply into the cache."""
        obj, resource = queued.obj, queued.adapter.resource
        known = {"uid": obj.uid, "resourceVersion": obj.resource_version}
        new = await self._client.patch(
            resource,
            obj.name,
            merge_patch({**patch, "metadata": known}),
            obj.namespace,
            subresource=subresource,
            field_manager=names.MANAGER,
        )
        self._originals[resource][1].observe(new)
