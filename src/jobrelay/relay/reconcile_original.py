"""Decides the next step for one workload on the management cluster.

    takeover     is it delegated to the relay, and not suspended?
    admission    may it run now? (for quotas; today every workload is admitted)
    placement    which worker?
    commit       write the assignment, with a new epoch
    return       write the mirror's status back
    loss         the worker is lost, drained or refused the workload: place it again

`reconcile_original` is a pure function of a snapshot and is level-based: it does not matter which events were missed.
It returns at most one write, whose own event leads to the next step. What happens on workers is decided by
`reconcile_mirror`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import EventNote
from jobrelay.relay.admission import NotAdmitted, admit
from jobrelay.relay.assignment import MAX_EPOCH, Assignment, invalid_epoch
from jobrelay.relay.fencing import stopped_by_lease
from jobrelay.relay.lookalikes import in_the_way
from jobrelay.relay.lost_worker import describe_loss, wait_for
from jobrelay.relay.model import State, WorkerFacts
from jobrelay.relay.original_decision import (
    CommitAssignment,
    OriginalDecision,
    ProbeWorker,
    RecordStart,
    Stage,
    WriteStatus,
)
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.workloads import Urgency
from jobrelay.workloads.names import ASSIGNMENT, EPOCH

_HOLD: Final = {Urgency.NOW: 0.0, Urgency.SOON: 1.0, Urgency.LATER: 8.0}
"""How long a status is held back for the next change, as a multiple of `Settings.coalesce`."""
_MAX_JUMP: Final = 1000
"""By how much the epoch of a mirror may exceed that of the assignment, which may come from a backup."""
_LOOK_AGAIN: Final = 5.0
"""How often it is looked at what only time changes: clocks, and workers that were not seen yet; in seconds."""


def reconcile_original(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """The next step for an original."""
    job = snapshot.workload
    if job.managed_by not in snapshot.adapter.managers:
        sentence = f"It is not delegated to the relay: spec.managedBy is {job.managed_by or 'not set'}."
        return OriginalDecision(Stage.NOT_OURS, sentence)
    if job.end is not None:
        return OriginalDecision(Stage.FINISHED, _finished(snapshot))
    if job.deleting:
        return OriginalDecision(Stage.DELETING, "It is being deleted, and its mirror with it.")
    known = snapshot.assignment.epoch if snapshot.assignment is not None else 0
    reached = max((known, *(run.epoch for run in snapshot.runs)))
    believed = [mirror for mirror in snapshot.mirrors.values() if mirror.epoch <= reached + _MAX_JUMP]
    newest = max(believed, key=lambda mirror: mirror.epoch, default=None)
    if newest is not None and newest.epoch > known:
        return _adopt(snapshot, newest)
    if len(believed) < len(snapshot.mirrors) and snapshot.mirror is None:
        return _jumped(snapshot, known)
    if snapshot.remembered is not None and snapshot.remembered.epoch > known:
        return _remember(snapshot.remembered, known)
    if snapshot.unproven and snapshot.mirror is None:
        return _unproven(snapshot)
    if snapshot.assignment is None:
        return _first(snapshot)
    return _assigned(snapshot, snapshot.assignment)


def _finished(snapshot: WorkloadSnapshot) -> str:
    end, where = snapshot.workload.end, snapshot.assignment
    assert end is not None
    result = "It is complete" if end.succeeded else f"It failed ({end.reason or 'no reason given'})"
    return f"{result}{f', on {where.cluster}' if where is not None else ''}."


def _adopt(snapshot: WorkloadSnapshot, mirror: Mirror) -> OriginalDecision:
    """A mirror has a higher epoch than the assignment, so the assignment was lost: restore it from the mirror."""
    worker = snapshot.workers.get(mirror.worker)
    uid = worker.identity if worker is not None else ""
    held = tuple(run for run in snapshot.next_held if run.epoch != mirror.epoch)
    found = Assignment(mirror.worker, mirror.epoch, format_time(snapshot.now), uid=uid, held=held)
    where = f"run {mirror.epoch} on {mirror.worker}"
    note = f"The assignment was missing or outdated; it is restored from the mirror of {where}"
    told = (EventNote("MirrorFound", note, "Warning"),)
    return OriginalDecision(Stage.COMMITTING, f"{note}.", CommitAssignment(found, starts=False), told)


def _remember(assignment: Assignment, known: int) -> OriginalDecision:
    """The assignment went back while this process was looking: the client that replaced it did not mean to."""
    was = f"went back to run {known}" if known else "was removed"
    note = f"The assignment {was}; run {assignment.epoch} on {assignment.cluster} is restored"
    told = (EventNote("AssignmentRestored", note, "Warning"),)
    return OriginalDecision(Stage.COMMITTING, f"{note}.", CommitAssignment(assignment, starts=False), told)


def _jumped(snapshot: WorkloadSnapshot, known: int) -> OriginalDecision:
    """A mirror has an epoch that runs of this workload cannot have reached, so somebody else wrote it."""
    mirror = max(snapshot.mirrors.values(), key=lambda mirror: mirror.epoch)
    problem = f"its mirror on {mirror.worker} says that it is run {mirror.epoch}, but the last known run is {known}"
    return _refuse_epoch(f"{problem}; delete that mirror, or correct its annotation {EPOCH}")


def _refuse_epoch(problem: str) -> OriginalDecision:
    sentence = f"Nothing is started: {problem}."
    return OriginalDecision(Stage.FROZEN, sentence, events=(EventNote("EpochRefused", sentence, "Warning"),))


def _unproven(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """Look-alikes are where mirrors would be. The controller tells of each by an event."""
    return OriginalDecision(Stage.FROZEN, f"Nothing is started: {'; '.join(map(in_the_way, snapshot.unproven))}.")


def _first(snapshot: WorkloadSnapshot) -> OriginalDecision:
    if wrong := invalid_epoch(snapshot.original):
        return _refuse_epoch(f"the epoch {wrong} in annotation {ASSIGNMENT} is not one that a relay writes; remove it")
    if snapshot.workload.suspended:
        status = snapshot.adapter.suspended_status(snapshot.original, snapshot.now)
        sentence = "It is suspended; a worker is chosen when it is resumed."
        return OriginalDecision(Stage.SUSPENDED, sentence, WriteStatus(status) if status is not None else None)
    if snapshot.unseen:
        return _unseen(snapshot)
    answer = admit(snapshot)
    if isinstance(answer, NotAdmitted):
        return OriginalDecision(Stage.ADMISSION, answer.sentence, requeue_after=answer.requeue_after)
    return _place(snapshot, {}, Stage.PLACING, "")


def _unseen(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """It may run on a worker that has not been seen since the relay started."""
    sentence = f"It may have been started before, on {', '.join(snapshot.unseen)}: not seen since the relay started."
    return OriginalDecision(Stage.WORKER_LOST, sentence, requeue_after=_LOOK_AGAIN)


def _place(snapshot: WorkloadSnapshot, avoid: Mapping[str, str], stage: Stage, why: str) -> OriginalDecision:
    """Choose a worker and commit to it; `why` says what happened to the previous run."""
    placement = snapshot.place(avoid)
    lead = f"{why} " if why else ""
    sentence = f"{lead}{placement.sentence}"
    if placement.chosen is None:
        waits = min((refusal.until for refusal in snapshot.refused.values()), default=None)
        again = (waits - snapshot.now).total_seconds() if waits is not None else None
        if snapshot.fenced and any(map(snapshot.clock_problem, snapshot.workers)):
            again = min(again or _LOOK_AGAIN, _LOOK_AGAIN)
        told = (EventNote("NotPlaced", sentence, "Warning"),)
        return OriginalDecision(stage, sentence, events=told, requeue_after=again, placement=placement)
    if not snapshot.accepted(placement.chosen):
        sentence = f"{lead}{placement.chosen} is asked whether it would accept it."
        return OriginalDecision(Stage.PROBING, sentence, ProbeWorker(placement.chosen), placement=placement)
    before = snapshot.assignment
    epoch = (before.epoch if before is not None else 0) + 1
    if epoch > MAX_EPOCH:
        return _refuse_epoch(f"the epoch {MAX_EPOCH} in annotation {ASSIGNMENT} is the last one; remove it")
    new = Assignment(
        placement.chosen,
        epoch,
        format_time(snapshot.now),
        before.cluster if before is not None else "",
        snapshot.workers[placement.chosen].identity,
        snapshot.next_held,
    )
    told = (EventNote("Redispatched" if why else "Placed", sentence, "Warning" if why else "Normal"),)
    return OriginalDecision(Stage.COMMITTING, sentence, CommitAssignment(new), told, placement=placement)


def _assigned(snapshot: WorkloadSnapshot, to: Assignment) -> OriginalDecision:
    worker, mirror, free_at = snapshot.worker_of(to.run), snapshot.mirror, snapshot.free_at(to.run)
    if worker is None and free_at is None:
        sentence = f"Its worker {to.cluster} is not registered (yet)."
        return OriginalDecision(Stage.WORKER_LOST, sentence, requeue_after=5.0)
    if free_at is not None:
        return wait_for(snapshot, to, (free_at - snapshot.now).total_seconds()) or _replace(snapshot, to)
    assert worker is not None
    if mirror is not None and mirror.facts.end is not None:
        if snapshot.fenced and stopped_by_lease(snapshot.workload, mirror.facts):
            return _stopped(snapshot, to, mirror)
        return _return(snapshot, mirror)
    if mirror is not None and (start := _known_start(snapshot, mirror)) != bool(to.started):
        return _record_start(to, mirror, known=start)
    if mirror is None and not worker.serves(snapshot.original.namespace):
        return _not_served(snapshot, to)
    if why := snapshot.forbidden(worker):
        return _place(snapshot, {worker.name: why}, Stage.PLACING, f"{worker.name} may not take it: {why}.")
    if worker.state in (State.DRAINING, State.LOST):
        avoid = {worker.name: f"it is {worker.state}"}
        moved = _place(snapshot, avoid, Stage.MOVING, f"{worker.name} is {worker.state}.")
        if isinstance(moved.action, CommitAssignment | ProbeWorker) or mirror is None:
            return moved
    refusal = snapshot.refusal(worker.name)
    if mirror is None and refusal is not None:
        return _place(snapshot, {}, Stage.PLACING, f"{worker.name} refused it: {refusal.message}.")
    return _return(snapshot, mirror) if mirror is not None else _without_mirror(snapshot, to, worker)


def _known_start(snapshot: WorkloadSnapshot, mirror: Mirror) -> bool:
    """Whether a fenced mirror has been started, with a deadline that ends in time."""
    return snapshot.fenced and snapshot.lease is not None and snapshot.lease.holds(mirror.facts)


def _record_start(to: Assignment, mirror: Mirror, *, known: bool) -> OriginalDecision:
    started = mirror.facts.started
    text = format_time(started) if known and started is not None else ""
    sentence = (
        f"It was started on {to.cluster}; that is recorded, so that its lease can be waited out."
        if known
        else (f"It is not leased on {to.cluster} at present; that is recorded before it is started again.")
    )
    return OriginalDecision(Stage.RUNNING, sentence, RecordStart(msgspec.structs.replace(to, started=text)))


def _stopped(snapshot: WorkloadSnapshot, to: Assignment, mirror: Mirror) -> OriginalDecision:
    """Its lease ran out: start it again, after a pause that grows with each time in a row."""
    stops = snapshot.lease_stops.after(to.epoch, mirror.facts, snapshot.now)
    left = stops.left(snapshot.now)
    why = (
        f"{to.cluster} stopped it when its lease ran out{f', for the {stops.count}. time' if stops.count > 1 else ''}."
    )
    if left <= 0:
        return _place(snapshot, {}, Stage.PLACING, why)
    sentence = f"{why} It is started again at {format_time(snapshot.now + timedelta(seconds=left))}."
    told = (EventNote("LeaseExpired", sentence, "Warning"),)
    return OriginalDecision(Stage.PLACING, sentence, events=told, requeue_after=left, lease_stops=stops)


def _replace(snapshot: WorkloadSnapshot, to: Assignment) -> OriginalDecision:
    """The rule for lost workers lets its run go."""
    worker = snapshot.worker_of(to.run)
    avoid = {worker.name: "it is lost"} if worker is not None else {}
    return _place(snapshot, avoid, Stage.WORKER_LOST, f"{describe_loss(snapshot, to)}.")


def _without_mirror(snapshot: WorkloadSnapshot, to: Assignment, worker: WorkerFacts) -> OriginalDecision:
    """Committed, and the mirror does not exist yet."""
    if worker.name in snapshot.mirrors:
        sentence = f"It starts on {worker.name} when the mirror of an earlier run there is gone."
        return OriginalDecision(Stage.MOVING, sentence)
    if snapshot.held:
        sentence = _waits_for_runs(snapshot, worker.name)
        return OriginalDecision(Stage.MOVING, sentence, requeue_after=snapshot.held_for)
    if not worker.connected:
        return OriginalDecision(Stage.MIRRORING, f"Its mirror is created when {worker.name} is connected.")
    if snapshot.runs.may_exist(to.run) and snapshot.unseen:
        return _unseen(snapshot)
    if snapshot.why_not_gone:
        return OriginalDecision(Stage.MIRRORING, f"It starts on {worker.name} later: {snapshot.why_not_gone}.")
    failed = f"; the last attempt failed: {snapshot.last_error}" if snapshot.last_error else ""
    return OriginalDecision(Stage.MIRRORING, f"Its mirror is being created on {worker.name}{failed}.")


def _waits_for_runs(snapshot: WorkloadSnapshot, worker: str) -> str:
    runs = ", ".join(f"run {run.epoch} on {run.cluster}" for run in snapshot.held)
    sentence = f"It starts on {worker} when {runs} is gone"
    if snapshot.why_not_gone:
        return f"{sentence}: {snapshot.why_not_gone}."
    free_at = min(filter(None, map(snapshot.free_at, snapshot.held)), default=None)
    return f"{sentence}{f', or lost at {format_time(free_at)}' if free_at is not None else ''}."


def _not_served(snapshot: WorkloadSnapshot, to: Assignment) -> OriginalDecision:
    """Its mirror may still run where the relay cannot see it, so it is not started elsewhere."""
    place = snapshot.original.namespace
    sentence = (
        f"{to.cluster} no longer serves namespace {place}, and what may run there cannot be seen; "
        f"have it serve {place} again, or declare it lost."
    )
    return OriginalDecision(Stage.MIRRORING, sentence, events=(EventNote("NotServed", sentence, "Warning"),))


def _return(snapshot: WorkloadSnapshot, mirror: Mirror) -> OriginalDecision:
    """Write the status back: at once if more than counts changed, otherwise together with the next change."""
    facts = mirror.facts
    if snapshot.lease is not None and facts.suspended and facts.end is None and not snapshot.workload.suspended:
        failed = f"; the last attempt failed: {snapshot.last_error}" if snapshot.last_error else ""
        why = f": {found}" if (found := snapshot.obstacle(mirror)) else f", and is being released{failed}"
        sentence = f"Its mirror on {mirror.worker} is held back{why}."
        return OriginalDecision(Stage.MIRRORING, sentence)
    status = snapshot.adapter.merged_status(snapshot.original, mirror.obj)
    stage, sentence = Stage.RUNNING, _where(snapshot, mirror)
    if status is None:
        return OriginalDecision(stage, sentence)
    wait = _HOLD[snapshot.adapter.urgency(snapshot.original, status)] * snapshot.settings.coalesce
    if snapshot.waited < wait:
        return OriginalDecision(stage, sentence, requeue_after=wait - snapshot.waited, holds_status=True)
    told: tuple[EventNote, ...] = ()
    if mirror.facts.started is not None and snapshot.workload.started is None:
        told = (EventNote("Started", f"Started on {mirror.worker}"),)
    end = mirror.facts.end
    if end is not None:
        how = "Complete" if end.succeeded else f"Failed ({end.reason})"
        told = (*told, EventNote("Finished", f"{how} on {mirror.worker}", "Normal" if end.succeeded else "Warning"))
    return OriginalDecision(stage, sentence, WriteStatus(status), told)


def _where(snapshot: WorkloadSnapshot, mirror: Mirror) -> str:
    facts = mirror.facts
    if facts.end is not None:
        return f"It has ended on {mirror.worker}; its last status is being written."
    if facts.deleting:
        return f"Its mirror on {mirror.worker} is being deleted by someone there; it is created again after that."
    if facts.suspended:
        return f"It is suspended on {mirror.worker}."
    if facts.started is None:
        return f"Its mirror on {mirror.worker} has not been started by the Job controller there yet."
    return f"It has been running on {mirror.worker} since {format_time(facts.started)}."
