"""Decides the next step for one queued object and its Workload: at most one write.

    create     the Workload of an object that has none
    stop       an object that runs without being admitted, or was evicted
    release    the quota of an evicted one, when nothing of it runs any more
    restore    the pod templates of a stopped one
    start      an admitted one, with what its flavors stand for
    replace    the Workload of a Job that was given another number of pods: stop, restore, delete, create
    report     whether its pods are ready, which of them have ended, and its end

A delegated object is run by the relay, which asks whether it is admitted. So it need not be suspended while it waits.
It is suspended when its pod templates have to be changed, since API servers accept that only then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from jobrelay.kube import EventNote, Object
from jobrelay.kube.resource import JOBS
from jobrelay.queueing import changes, core, names
from jobrelay.queueing.changes import Change
from jobrelay.queueing.conditions import find, holds
from jobrelay.queueing.integrations.building import make_workload, same_pods
from jobrelay.queueing.integrations.injecting import Clash, Injection, injections
from jobrelay.queueing.integrations.podsets import pods_at_once
from jobrelay.queueing.integrations.suspending import suspension_patch
from jobrelay.queueing.integrations.templates import is_injected, lacks, restore_patch, start_patch
from jobrelay.queueing.priorities import Priority
from jobrelay.queueing.views import NamedCount, WorkloadView
from jobrelay.workloads import Adapter, Workload


@dataclass(frozen=True, slots=True)
class QueuedObject:
    """Everything that is known about one queued object at one moment."""

    adapter: Adapter
    obj: Object
    queue: str
    pod_sets: list[dict[str, Any]]
    priority: Priority | None
    """None if there is no priority class of the name that it gives."""
    now: datetime
    workload: Object | None = None
    flavors: Mapping[str, core.FlavorSpec] | None = None
    has_runs: bool = False
    """Whether something of it may run on a worker."""
    copied: tuple[str, ...] = ()
    """The labels that its Workload gets, too."""

    @property
    def facts(self) -> Workload:
        return self.adapter.read(self.obj)

    @property
    def delegated(self) -> bool:
        return self.facts.managed_by in self.adapter.managers

    @property
    def runs(self) -> bool:
        """Whether pods of it may run somewhere."""
        return self.has_runs if self.delegated else self.facts.active > 0

    @property
    def kind(self) -> str:
        return self.adapter.resource.kind


@dataclass(frozen=True, slots=True)
class CreateWorkload:
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeleteWorkload:
    pass


@dataclass(frozen=True, slots=True)
class PatchWorkload:
    spec: dict[str, Any]
    annotations: dict[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class PatchWorkloadStatus:
    status: Change


@dataclass(frozen=True, slots=True)
class PatchObject:
    patch: dict[str, Any]
    subresource: str | None = None


ObjectAction: TypeAlias = CreateWorkload | DeleteWorkload | PatchWorkload | PatchWorkloadStatus | PatchObject


@dataclass(frozen=True, slots=True)
class ObjectStep:
    """At most one action, and the events to record about the object."""

    action: ObjectAction | None = None
    events: tuple[EventNote, ...] = ()


NOTHING: Final = ObjectStep()
_FORGET_START: Final = PatchObject({"status": {"startTime": None}}, "status")
"""The template of a Job that has ever been started may not be changed."""
_NO_MATCH: Final = "No matching Workload; restoring pod templates according to existent Workload"
_NOT_ADMITTED: Final = "Not admitted by cluster queue"


def next_step(queued: QueuedObject) -> ObjectStep:
    """The next step for a queued object."""
    facts, workload = queued.facts, queued.workload
    view = workload.decode(WorkloadView) if workload is not None else None
    if facts.end is not None:
        return _finish(queued, view)
    if facts.deleting or (workload is not None and workload.deleting):
        return NOTHING
    if view is None:
        return _stop(queued, _NOT_ADMITTED) or _create(queued)
    if holds(view.status.conditions, names.FINISHED):
        return NOTHING
    if (update := _update(queued, view)) is not None:
        return ObjectStep(update)
    evicted = find(view.status.conditions, names.EVICTED)
    if evicted is not None and evicted.holds:
        return _evict(queued, view, evicted.message)
    if holds(view.status.conditions, names.ADMITTED):
        return _admitted(queued, view)
    return _stop(queued, _NOT_ADMITTED) or _restore(queued, view)


def _create(queued: QueuedObject) -> ObjectStep:
    if queued.priority is None:
        missing = queued.obj.metadata.labels.get(names.PRIORITY_CLASS)
        return ObjectStep(None, (EventNote("NotQueued", f"WorkloadPriorityClass {missing} does not exist", "Warning"),))
    body = make_workload(
        queued.adapter.resource, queued.obj, queued.queue, queued.pod_sets, queued.priority, queued.copied
    )
    metadata = body["metadata"]
    told = EventNote("CreatedWorkload", f"Created Workload: {metadata['namespace']}/{metadata['name']}")
    return ObjectStep(CreateWorkload(body), (told,))


def _finish(queued: QueuedObject, view: WorkloadView | None) -> ObjectStep:
    end = queued.facts.end
    if view is None or end is None or holds(view.status.conditions, names.FINISHED):
        return NOTHING
    assert queued.workload is not None
    reason = "Succeeded" if end.succeeded else "Failed"
    message = end.message or (f"{queued.kind} finished successfully" if end.succeeded else f"{queued.kind} failed")
    told = EventNote("FinishedWorkload", f"Workload '{queued.workload.key}' is declared finished")
    return ObjectStep(PatchWorkloadStatus(changes.finished(view.status, reason, message, queued.now)), (told,))


def _update(queued: QueuedObject, view: WorkloadView) -> PatchWorkload | None:
    """What a Workload has to take over from its object; if it has quota, only its priority."""
    change = _new_priority(queued, view)
    if view.status.admission is not None:
        return PatchWorkload(change) if change else None
    assert queued.workload is not None
    held: list[dict[str, Any]] = queued.workload.decode()["spec"].get("podSets") or []
    same = len(held) == len(queued.pod_sets) and all(map(same_pods, held, queued.pod_sets))
    if not same and not is_injected(queued.adapter, queued.obj):
        change["podSets"] = queued.pod_sets
    if view.spec.queue_name != queued.queue:
        change["queueName"] = queued.queue or None
    gates, known = (each.get(names.ADMISSION_GATED_BY) for each in (queued.obj.metadata.annotations, view.annotations))
    gated = {names.ADMISSION_GATED_BY: gates} if gates != known else None
    return PatchWorkload(change, gated) if change or gated else None


def _new_priority(queued: QueuedObject, view: WorkloadView) -> dict[str, Any]:
    """The priority and the class of an object, as far as its Workload has others."""
    wanted, change = queued.priority, dict[str, Any]()
    if wanted is not None and view.spec.priority != wanted.value:
        change["priority"] = wanted.value
    if wanted is not None and view.spec.priority_class_ref != wanted.ref:
        change["priorityClassRef"] = msgspec.to_builtins(wanted.ref)
    return change


def _stop(queued: QueuedObject, why: str) -> ObjectStep | None:
    """Suspend an object that its own controller would run; None if there is no need or no way."""
    if queued.delegated or queued.facts.suspended:
        return None
    patch = suspension_patch(queued.adapter, suspend=True)
    if patch is None:
        note = f"A {queued.kind} cannot be suspended, so it runs without waiting in queue {queued.queue}"
        return ObjectStep(None, (EventNote("NotQueued", note, "Warning"),))
    return ObjectStep(PatchObject(patch), (EventNote("Stopped", why),))


def _evict(queued: QueuedObject, view: WorkloadView, why: str) -> ObjectStep:
    """Stop it, then give its quota back, then restore it."""
    if not queued.facts.suspended and view.status.admission is not None:
        patch = suspension_patch(queued.adapter, suspend=True)
        if patch is not None:
            return ObjectStep(PatchObject(patch), (EventNote("Stopped", why),))
    if view.status.admission is not None:
        change = changes.released(view.status, queued.now)
        return NOTHING if queued.runs else ObjectStep(PatchWorkloadStatus(change))
    return _restore(queued, view)


def _restore(queued: QueuedObject, view: WorkloadView) -> ObjectStep:
    if queued.runs or (not queued.facts.suspended and suspension_patch(queued.adapter, suspend=True) is not None):
        return NOTHING
    patch = restore_patch(queued.adapter, queued.obj, view.spec.pod_sets)
    if patch is None:
        return NOTHING
    if queued.adapter.resource == JOBS and queued.facts.started is not None:
        return ObjectStep(_FORGET_START)
    return ObjectStep(PatchObject(patch))


def _was_resized(queued: QueuedObject, view: WorkloadView) -> bool:
    """Whether a Job has another number of pods than it has asked for and than it has got.

    One that may shrink can have the number from an earlier admission, and cannot be given another one while it runs.
    """
    if queued.adapter.resource != JOBS or queued.delegated or not view.spec.pod_sets:
        return False
    if names.MIN_PARALLELISM in queued.obj.metadata.annotations and is_injected(queued.adapter, queued.obj):
        return False
    assert view.status.admission is not None
    counts = {each.count for each in view.status.admission.pod_set_assignments}
    return pods_at_once(queued.obj) not in {view.spec.pod_sets[0].count, *counts}


def _replace(queued: QueuedObject, view: WorkloadView) -> ObjectStep:
    """Give back the quota of a Job that needs another one, and queue it again."""
    assert queued.workload is not None
    if (stop := _stop(queued, _NO_MATCH)) is not None:
        return stop
    if queued.runs:
        return NOTHING
    if (restored := restore_patch(queued.adapter, queued.obj, view.spec.pod_sets, counts=False)) is not None:
        return ObjectStep(PatchObject(restored) if queued.facts.started is None else _FORGET_START)
    told = EventNote("DeletedWorkload", f"Deleted not matching Workload: {queued.workload.key}")
    return ObjectStep(DeleteWorkload(), (told,))


def _admitted(queued: QueuedObject, view: WorkloadView) -> ObjectStep:
    assert view.status.admission is not None
    if _was_resized(queued, view):
        return _replace(queued, view)
    try:
        start = _start(queued, injections(view, queued.flavors or {}))
    except Clash as error:
        return ObjectStep(PatchWorkloadStatus(changes.finished(view.status, "FailedToStart", str(error), queued.now)))
    if start is _FORGET_START:
        return ObjectStep(start)
    if start is not None:
        told = EventNote("Started", f"Admitted by clusterQueue {view.status.admission.cluster_queue}")
        return ObjectStep(start, (told,))
    return _report(queued, view)


def _start(queued: QueuedObject, wanted: Sequence[Injection]) -> PatchObject | None:
    """The write that an admitted object needs to run; None if it may run as it is."""
    adapter, obj = queued.adapter, queued.obj
    suspend = suspension_patch(adapter, suspend=True)
    if queued.facts.suspended:
        if adapter.resource == JOBS and wanted and queued.facts.started is not None:
            return _FORGET_START
        return PatchObject(start_patch(adapter, obj, wanted))
    if needs_injection(adapter, obj, wanted) and not queued.has_runs:
        return PatchObject(suspend or start_patch(adapter, obj, wanted))
    return None


def needs_injection(adapter: Adapter, obj: Object, wanted: Sequence[Injection]) -> bool:
    """Whether a delegated object still has to get what its flavors stand for."""
    delegated = adapter.read(obj).managed_by in adapter.managers
    return delegated and not is_injected(adapter, obj) and lacks(adapter, obj, wanted)


def _report(queued: QueuedObject, view: WorkloadView) -> ObjectStep:
    reclaimed = _reclaimable(queued, view)
    if reclaimed is not None and reclaimed != view.status.reclaimable_pods:
        return ObjectStep(PatchWorkloadStatus(changes.reclaimable(reclaimed)))
    change = changes.pods_ready(view.status, _ready(queued, view), queued.now)
    return ObjectStep(PatchWorkloadStatus(change)) if change is not None else NOTHING


def _ready(queued: QueuedObject, view: WorkloadView) -> bool:
    if queued.adapter.resource != JOBS:
        return queued.facts.started is not None
    assert view.status.admission is not None
    status = queued.obj.decode().get("status") or {}
    wanted = sum(each.count or 0 for each in view.status.admission.pod_set_assignments)
    found = int(status.get("ready") or 0) + int(status.get("succeeded") or 0)
    if holds(view.status.conditions, names.PODS_READY):  # they were ready, and are not lost when they end
        found += len((status.get("uncountedTerminatedPods") or {}).get("succeeded") or ())
    return found >= wanted


def _reclaimable(queued: QueuedObject, view: WorkloadView) -> tuple[NamedCount, ...] | None:
    """The pods of a Job that have succeeded and are not replaced; None if there are none."""
    if queued.adapter.resource != JOBS:
        return None
    job = queued.obj.decode()
    completions, parallelism = job["spec"].get("completions"), job["spec"].get("parallelism", 1)
    succeeded = int((job.get("status") or {}).get("succeeded") or 0)
    if completions is None or parallelism == 1 or succeeded == 0:
        return None
    remaining = completions - succeeded
    pod_set = view.spec.pod_sets[0]
    return (NamedCount(pod_set.name, pod_set.count - remaining),) if remaining < pod_set.count else None
