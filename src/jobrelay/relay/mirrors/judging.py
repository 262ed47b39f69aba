"""Finds out who owns the object that has the name of a mirror on a worker, and acts on that."""

from __future__ import annotations

from jobrelay.kube import EventNote, Object, merge_patch
from jobrelay.relay.mirrors.context import FIELD_MANAGER, MirrorContext
from jobrelay.relay.reconcile_mirror import mirror_parameters
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads.metadata import metadata_patch, prebuilt_workload
from jobrelay.workloads.names import KUEUE_ORIGIN, ORIGIN, ORIGIN_UID


async def examine(context: MirrorContext, ref: WorkloadRef, snapshot: WorkloadSnapshot, name: str) -> None:
    """The name is taken: by our own mirror, if the reply to its creation was lost, or by a foreign object."""
    found = await context.worker.client.get(snapshot.adapter.resource, name, ref.key.namespace)
    if _is_multikueues(context, snapshot, found):
        found = await _take_over(context, snapshot, found)
    judge(context, ref, snapshot, found)


def _is_multikueues(context: MirrorContext, snapshot: WorkloadSnapshot, found: Object) -> bool:
    """Whether Kueue's own MultiKueue controller has created an object, under our origin and for the same Workload."""
    prebuilt, labels = snapshot.prebuilt_on(context.worker.name), found.metadata.labels
    ours = labels.get(KUEUE_ORIGIN) == context.state.settings.origin and ORIGIN not in labels
    return ours and bool(prebuilt) and prebuilt_workload(found) == prebuilt


async def _take_over(context: MirrorContext, snapshot: WorkloadSnapshot, found: Object) -> Object:
    """Make a mirror of it, as it runs: only our marks are added."""
    worker, original = context.worker, snapshot.original
    parameters = mirror_parameters(snapshot, None, found.name, snapshot.proof(worker.name, found.name))
    marks = {"uid": found.uid, "resourceVersion": found.resource_version}
    change = merge_patch({"metadata": marks | metadata_patch(original, found, parameters)})
    resource = snapshot.adapter.resource
    note = EventNote("TakenOver", f"{worker.name} runs it already, for Kueue; the relay takes that over")
    context.recorder.record(original, [note])
    return await worker.client.patch(resource, found.name, change, found.namespace, field_manager=FIELD_MANAGER)


def judge(context: MirrorContext, ref: WorkloadRef, snapshot: WorkloadSnapshot, found: Object) -> None:
    """Find out who owns the object, and act on that."""
    mirrors = context.worker.mirrors[snapshot.adapter.resource]
    marked = found.metadata.labels.get(ORIGIN) == context.state.settings.origin
    uid = found.metadata.annotations.get(ORIGIN_UID, "")
    if marked:
        mirrors.observe(found)
    if found.key in mirrors:
        context.queue.add(ref)
    elif found.metadata.controller is not None:
        _foreign(context, ref, snapshot, found)  # a child of something, which has inherited our marks
    elif marked and uid == snapshot.original.uid:
        context.enqueue_original(ref)  # it reports this look-alike, and the end of that starts the next attempt
    elif uid == snapshot.original.uid or (marked and not uid):
        _unmarked(context, ref, snapshot, found, ORIGIN_UID if marked else ORIGIN)
    else:
        _foreign(context, ref, snapshot, found)


def _foreign(context: MirrorContext, ref: WorkloadRef, snapshot: WorkloadSnapshot, found: Object) -> None:
    kind = snapshot.adapter.resource.kind
    message = f"there is a {kind} {found.key} that is not ours, and it is left alone"
    context.refused(snapshot, message, same_shape=False)
    context.enqueue_original(ref)


def _unmarked(context: MirrorContext, ref: WorkloadRef, snapshot: WorkloadSnapshot, found: Object, mark: str) -> None:
    """Someone removed the label or the uid from our mirror: it is left alone, and no other mirror is created."""
    where = f"{found.namespace}/{found.name} on {context.worker.name}"
    what = "label" if mark == ORIGIN else "annotation"
    message = f"someone removed the {what} {mark} from {where}; put it back, or delete that object"
    context.state.record(snapshot.original.uid).mirror_unmarked(message)
    context.recorder.record(snapshot.original, [EventNote("MirrorUnmarked", message, "Warning")])
    context.queue.queue.add_after(ref, context.state.settings.ask_again)
