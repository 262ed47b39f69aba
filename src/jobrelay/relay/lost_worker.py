"""What becomes of a run whose worker does not answer: it is waited for, until the rule for lost workers lets it go."""

from __future__ import annotations

from datetime import timedelta

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import EventNote
from jobrelay.relay.model import State
from jobrelay.relay.original_decision import OriginalDecision, Stage
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.worker_assignment import WorkerAssignment


def wait_for(snapshot: WorkloadSnapshot, to: WorkerAssignment, left: float) -> OriginalDecision | None:
    """How its worker is waited for, for `left` seconds at least; None if the workload may be started elsewhere now."""
    worker, since = snapshot.worker_of(to.run), snapshot.lost_since(to.run)
    assert since is not None
    lost, gone = describe_loss(snapshot, to), (snapshot.now - since).total_seconds()
    told: tuple[EventNote, ...] = ()
    if gone >= snapshot.settings.loss_event_after:
        told = (EventNote("WorkerLost", lost, "Warning"),)
    again = snapshot.settings.loss_event_after - gone
    if not snapshot.lease_ends(to.run):
        return _may_start_late(snapshot, to, lost, told, again)
    if left > 0:
        at = format_time(snapshot.now + timedelta(seconds=left))
        sentence = f"{lost}; it is started elsewhere at {at} unless that worker returns."
        again = min(left, again) if again > 0 else left
        return OriginalDecision(Stage.WORKER_LOST, sentence, events=told, requeue_after=again)
    if snapshot.frozen and not (worker is not None and worker.state is State.LOST):
        sentence = f"{lost}; most workers were lost at once, so the relay assumes that it is cut off and moves nothing."
        told = (*told, EventNote("Frozen", sentence, "Warning"))
        return OriginalDecision(Stage.FROZEN, sentence, events=told, requeue_after=15.0)
    return None


def describe_loss(snapshot: WorkloadSnapshot, to: WorkerAssignment) -> str:
    """Since when its worker has not answered, and why."""
    worker, since = snapshot.worker_of(to.run), snapshot.lost_since(to.run)
    assert since is not None
    reason = (worker.reason if worker is not None else _why_unregistered(snapshot, to)) or "no answer"
    return f"{to.cluster} has been unreachable since {format_time(since)} ({reason})"


def _why_unregistered(snapshot: WorkloadSnapshot, to: WorkerAssignment) -> str:
    renamed = to.cluster in snapshot.workers
    return "its name is that of another cluster now" if renamed else "it is no longer registered"


def _may_start_late(
    snapshot: WorkloadSnapshot, to: WorkerAssignment, lost: str, told: tuple[EventNote, ...], again: float
) -> OriginalDecision:
    """The mirror may have been released, and nobody has seen it start: it may at any time, so no wait is enough."""
    how = "declare it lost" if to.cluster in snapshot.workers else "register it again, and declare it lost"
    sentence = (
        f"{lost}; its start there was not seen, so it may still start there at any time. It is fenced, and is not "
        f"started elsewhere unless that worker returns; if it is gone for good, {how}."
    )
    if told:
        told = (*told, EventNote("StartUnknown", sentence, "Warning"))
    return OriginalDecision(Stage.WORKER_LOST, sentence, events=told, requeue_after=again if again > 0 else None)
