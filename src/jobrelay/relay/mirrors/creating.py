"""Creates mirrors on one worker, with the copies that they need there.

A refusal is the worker's answer and sends the workload elsewhere. An error may be transient, and is retried a few times
before it counts as a refusal. What came of a creation without an answer is read back before the next attempt, and until
it is proven gone its run counts as one that exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

from jobrelay.kube import AlreadyExists, Conflict, EventNote, KubeError, Object, Unauthorized
from jobrelay.kube.events import ObjectReference
from jobrelay.relay.copying.worker import WorkerDependencies
from jobrelay.relay.dependencies.copies import CopyFailed
from jobrelay.relay.dependencies.renaming import mirror_patch, with_copies
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.mirrors.context import FIELD_MANAGER, MirrorContext, had_no_effect, may_be_transient
from jobrelay.relay.mirrors.judging import examine
from jobrelay.relay.reconcile_mirror import CreateMirror
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.worker_assignment import Run
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import ObjectName

_TRIES: Final = 5


async def provide(
    context: MirrorContext,
    dependencies: WorkerDependencies,
    ref: WorkloadRef,
    snapshot: WorkloadSnapshot,
    stack: AsyncExitStack,
) -> Mapping[ObjectName, str] | None:
    """Provide what the mirror needs on the worker.

    Returns the names of copies by their source, which stay as long as `stack`; None if the worker cannot be used.
    """
    try:
        return await stack.enter_async_context(dependencies.provided(snapshot))
    except (NotLeading, Unauthorized):
        raise
    except CopyFailed as error:
        if error.kind:
            context.metrics.copies.labels(context.worker.name, error.kind, "failed").inc()
        context.refused(snapshot, str(error), same_shape=False, event="CopyFailed" if error.kind else "Refused")
        context.enqueue_original(ref)
    except KubeError as error:
        _count_failure(context, ref, snapshot, error)
        raise
    return None


async def create_mirror(
    context: MirrorContext,
    ref: WorkloadRef,
    snapshot: WorkloadSnapshot,
    action: CreateMirror,
    copies: Mapping[ObjectName, str],
) -> None:
    """Create a mirror that uses these `copies`, by their source."""
    resource, original = snapshot.adapter.resource, snapshot.original
    assert snapshot.assignment is not None
    run = snapshot.assignment.run
    body = with_copies(snapshot.adapter, original, action.body, copies)
    sending = _send(context, snapshot, run, body, releases=action.releases)
    try:
        created = await context.queue.create(ref, sending, context.worker.mirrors[resource].observe)
    except AlreadyExists:
        await examine(context, ref, snapshot, action.parameters.name)
        return
    except (Conflict, NotLeading, Unauthorized):
        raise
    except KubeError as error:
        if may_be_transient(error):
            _count_failure(context, ref, snapshot, error)
            raise
        context.refused(snapshot, error, same_shape=True)
        context.enqueue_original(ref)
        return
    again = context.state.record(original.uid).mirror_created(run.epoch)
    context.metrics.mirrors.labels(context.worker.name, "create", "success").inc()
    if mirror_patch(snapshot.adapter, original, created, action.parameters) is not None:
        context.queue.add(ref)  # a webhook of the worker has changed it
    if snapshot.assignment.admission and not again:
        return  # the queue that admits it reports its start
    note = f"Mirror created {'again ' if again else ''}on {context.worker.name}"
    event = EventNote("MirrorCreated", note, "Warning" if again else "Normal")
    context.recorder.record(ObjectReference.of(original, resource), [event])


async def _send(
    context: MirrorContext, snapshot: WorkloadSnapshot, run: Run, body: dict[str, Any], *, releases: bool
) -> Object:
    """Create a mirror, and keep account of whether it may exist."""
    runs = context.state.record(snapshot.original.uid).runs
    before = runs.creation_sent(run, releases=releases)
    try:
        return await context.worker.client.create(snapshot.adapter.resource, body, field_manager=FIELD_MANAGER)
    except BaseException as error:
        if isinstance(error, KubeError) and had_no_effect(error):
            runs.creation_had_no_effect(before)
        else:
            runs.creation_unanswered(run, context.state.clock.monotonic())
        raise


def _count_failure(context: MirrorContext, ref: WorkloadRef, snapshot: WorkloadSnapshot, error: KubeError) -> None:
    """Count a failure; too many in a row count as a refusal."""
    context.metrics.mirrors.labels(context.worker.name, "create", "error").inc()
    if context.state.record(snapshot.original.uid).creation_failed(str(error), _TRIES):
        context.refused(snapshot, error, same_shape=False)
        context.enqueue_original(ref)
