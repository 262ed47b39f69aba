"""Decides when the status of a mirror is written to its original, and describes the run by it.

A status is written at once if more than counts has changed, otherwise together with the next change. Of a workload that
is suspended until it is admitted, none is written before it is resumed.
"""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import EventNote
from jobrelay.relay.original_decision import OriginalDecision, PatchOriginal, Stage, WriteStatus
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.workloads import Urgency

_HOLD: Final = {Urgency.NOW: 0.0, Urgency.SOON: 1.0, Urgency.LATER: 8.0}
"""How long a status is held back for the next change, as a multiple of `Settings.coalesce`."""


def finished(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """Of some kinds the status goes on after the end: counts follow, until the mirror is removed."""
    end, where, mirror = snapshot.workload.end, snapshot.assignment, snapshot.mirror
    assert end is not None
    result = "It is complete" if end.succeeded else f"It failed ({end.reason or 'no reason given'})"
    told = snapshot.pods.headline if not end.succeeded else ""
    sentence = f"{result}{f', on {where.cluster}' if where is not None else ''}{f': {told}' if told else ''}."
    status = None
    if mirror is not None and mirror.facts.end is not None and not mirror.facts.deleting:
        status = snapshot.adapter.merged_status(snapshot.original, mirror.obj)
    return OriginalDecision(Stage.FINISHED, sentence, WriteStatus(status) if status is not None else None)


def return_status(snapshot: WorkloadSnapshot, mirror: Mirror) -> OriginalDecision:
    """Write the status back: at once if more than counts changed, otherwise together with the next change."""
    facts = mirror.facts
    if snapshot.lease is not None and facts.suspended and facts.end is None and not snapshot.workload.suspended:
        failed = f"; the last attempt failed: {snapshot.last_error}" if snapshot.last_error else ""
        why = f": {found}" if (found := snapshot.obstacle(mirror)) else f", and is being released{failed}"
        sentence = f"Its mirror on {mirror.worker} is held back{why}."
        return OriginalDecision(Stage.MIRRORING, sentence)
    stage, sentence = _stage(snapshot, mirror), _where(snapshot, mirror)
    if facts.deleting and facts.end is None:
        return OriginalDecision(stage, sentence)  # its deletion says nothing about the workload
    if snapshot.about_to_resume:
        return OriginalDecision(Stage.ADMISSION, f"{mirror.worker} has let it in; it shows that when it is resumed.")
    status = snapshot.adapter.merged_status(snapshot.original, mirror.obj)
    if status is None:
        return OriginalDecision(stage, sentence)
    wait = _HOLD[snapshot.adapter.urgency(snapshot.original, status)] * snapshot.settings.coalesce
    if snapshot.waited < wait:
        return OriginalDecision(stage, sentence, requeue_after=wait - snapshot.waited, holds_status=True)
    before = snapshot.adapter.original_patch(snapshot.original, mirror.obj)
    if before is not None:
        return OriginalDecision(stage, sentence, PatchOriginal(before))
    told: tuple[EventNote, ...] = ()
    if mirror.facts.started is not None and snapshot.workload.started is None:
        told = (EventNote("Started", f"Started on {mirror.worker}"),)
    end = mirror.facts.end
    if end is not None:
        how = "Complete" if end.succeeded else f"Failed ({end.reason})"
        told = (*told, EventNote("Finished", f"{how} on {mirror.worker}", "Normal" if end.succeeded else "Warning"))
    return OriginalDecision(stage, sentence, WriteStatus(status), told)


def _stage(snapshot: WorkloadSnapshot, mirror: Mirror) -> Stage:
    """Whether it runs: what its pods do counts, and not only that it was started."""
    facts = mirror.facts
    if snapshot.workers[mirror.worker].unanswered:
        return Stage.WORKER_LOST
    goes_on = facts.end is None and not facts.suspended
    return Stage.NOT_RUNNING if goes_on and (facts.started is None or snapshot.pods.idle) else Stage.RUNNING


def _where(snapshot: WorkloadSnapshot, mirror: Mirror) -> str:
    facts = mirror.facts
    if facts.end is not None:
        return f"It has ended on {mirror.worker}; its last status is being written."
    if facts.deleting:
        return f"Its mirror on {mirror.worker} is being deleted by someone there; it is created again after that."
    if why := snapshot.workers[mirror.worker].unfit.get(snapshot.kind):
        return f"It was last seen on {mirror.worker}, but now {why}."
    if facts.suspended:
        return f"It is suspended on {mirror.worker}."
    if facts.started is None:
        kind = snapshot.adapter.resource.kind
        return f"Its mirror on {mirror.worker} has not been started by the {kind} controller there yet."
    since, silence = format_time(facts.started), snapshot.workers[mirror.worker].unanswered
    if silence:
        return f"{mirror.worker} has not answered for {silence:.0f} s; it has been running there since {since}."
    told = snapshot.pods.headline
    if snapshot.pods.idle:
        return (
            f"None of its pods runs on {mirror.worker}, where it was started at {since}{f': {told}' if told else ''}."
        )
    return f"It has been running on {mirror.worker} since {since}{f', with trouble: {told}' if told else ''}."
