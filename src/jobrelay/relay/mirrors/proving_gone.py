"""Finds out whether a run is gone from one worker, and lets the current one go on if it is."""

from __future__ import annotations

from jobrelay.relay.absence import NotProvenGone, check_gone, settles_in
from jobrelay.relay.mirrors.context import MirrorContext
from jobrelay.relay.mirrors.judging import judge
from jobrelay.relay.runs import KnownRun
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.worker_assignment import Run
from jobrelay.relay.workload_kind import WorkloadRef, mirror_name


async def prove_gone(context: MirrorContext, ref: WorkloadRef, snapshot: WorkloadSnapshot, run: Run) -> None:
    """Look for a run by consistent reads, once all that was sent for it has settled."""
    record, clock, worker = context.state.record(snapshot.original.uid), context.state.clock, context.worker
    wait = 0.0 if snapshot.runs_on == worker.name else _settles_in(context, record.runs.known(run))
    if wait > 0:
        why = f"a creation on {worker.name} that was not answered may still take effect for {wait:.0f} s"
        record.not_proven_gone(why, None)
        context.queue.queue.add_after(ref, wait)
        return
    absent_since = record.absent_since if record.absent_since is not None else clock.monotonic()
    try:
        mirror = mirror_name(ref.key, own_cluster=worker.is_self)
        await check_gone(worker, snapshot, run, mirror, clock.monotonic() - absent_since)
    except NotProvenGone as error:
        record.not_proven_gone(str(error), None if error.mirror is not None else absent_since)
        if error.mirror is not None:
            judge(context, ref, snapshot, error.mirror)
        context.queue.queue.add_after(ref, error.again)
        return
    record.proved_gone(run)
    context.enqueue_run(ref)
    context.enqueue_original(ref)


def _settles_in(context: MirrorContext, known: KnownRun) -> float:
    state, since = context.state, context.worker.connected_since
    return settles_in(known, state.leading_since, since, state.settings.settle, state.clock.monotonic())
