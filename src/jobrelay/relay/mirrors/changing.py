"""Changes and removes mirrors on one worker."""

from __future__ import annotations

from typing import Any

from jobrelay.kube import Conflict, EventNote, NotFound, Resource, StatusError, Unauthorized, merge_patch
from jobrelay.logs import get_logger
from jobrelay.relay.mirrors.context import FIELD_MANAGER, MirrorContext, may_be_transient
from jobrelay.relay.reconcile_mirror import DeleteMirror, UpdateMirror
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.workload_kind import WorkloadRef

log = get_logger(__name__)


async def update_mirror(
    context: MirrorContext, ref: WorkloadRef, snapshot: WorkloadSnapshot, action: UpdateMirror
) -> None:
    """Forward a change of the original to its mirror, or let it run."""
    record, mirror, worker = context.state.record(snapshot.original.uid), action.mirror.obj, context.worker
    generations = f"{snapshot.original.metadata.generation}/{mirror.metadata.generation}"
    if record.unforwarded == generations and not action.releases:
        return
    resource = snapshot.adapter.resource
    change: dict[str, Any] = {**action.patch, "metadata": {**action.patch.get("metadata", {}), "uid": mirror.uid}}
    if action.releases and snapshot.assignment is not None:
        record.runs.release_sent(snapshot.assignment.run)
        change["metadata"]["resourceVersion"] = mirror.resource_version
    try:
        new = await worker.client.patch(
            resource, mirror.name, merge_patch(change), ref.key.namespace, field_manager=FIELD_MANAGER
        )
    except (NotFound, Conflict) as error:
        if action.releases and isinstance(error, Conflict):
            raise  # only its status may have changed, which would not queue it again
        return  # the watch will report what became of it
    except StatusError as error:
        if may_be_transient(error) or isinstance(error, Unauthorized):
            raise
        record.change_rejected(generations, str(error))
        context.metrics.mirrors.labels(worker.name, "update", "refused").inc()
        note = f"{worker.name} refused a change of the mirror: {error}"
        context.recorder.record(snapshot.original, [EventNote("ForwardRefused", note, "Warning")])
        if action.releases:
            context.queue.queue.add_after(ref, context.state.settings.ask_again)
        return
    context.metrics.mirrors.labels(worker.name, "update", "success").inc()
    worker.mirrors[resource].observe(new)


async def delete_mirror(context: MirrorContext, resource: Resource, action: DeleteMirror) -> None:
    """Remove a mirror, if it is still the same object."""
    mirror, worker = action.mirror.obj, context.worker
    log.info("removing a mirror", worker=worker.name, mirror=str(mirror.key), why=action.why)
    try:
        await worker.client.delete(
            resource,
            mirror.name,
            mirror.namespace,
            propagation=action.propagation,
            uid=mirror.uid,
            resource_version=mirror.resource_version if action.exact else "",
        )
    except (NotFound, Conflict):
        return  # deleted, changed, or replaced by another object: the watch will report which
    context.metrics.mirrors.labels(worker.name, "delete", "success").inc()
    context.metrics.sweeps.labels(worker.name).inc()
