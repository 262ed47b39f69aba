"""Decides the next step for one workload on the management cluster.

    takeover     is it delegated to the relay (`takeover.py`), and not suspended?
    admission    may it be placed now, and where? (queues: `admission.py`; without a queue it may)
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
from jobrelay.relay.admission import Admitted, NotAdmitted
from jobrelay.relay.assignment_recovery import adopt, jumped, name_cluster, refuse_epoch, remember, unproven
from jobrelay.relay.claims import choose_claim
from jobrelay.relay.fencing import stopped_by_lease
from jobrelay.relay.lost_worker import describe_loss, wait_for
from jobrelay.relay.model import State, WorkerFacts
from jobrelay.relay.original_decision import (
    AskWorker,
    CommitAssignment,
    OriginalDecision,
    ProbeWorker,
    RecordStart,
    Stage,
    WriteStatus,
)
from jobrelay.relay.pending import Turn
from jobrelay.relay.placement import Placement
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.status_return import finished, return_status
from jobrelay.relay.takeover import deleting, not_ours, refused
from jobrelay.relay.worker_assignment import MAX_EPOCH, Run, WorkerAssignment, invalid_epoch
from jobrelay.workloads.names import ASSIGNMENT

_MAX_JUMP: Final = 1000
"""By how much the epoch of a mirror may exceed that of the assignment, which may come from a backup."""
_LOOK_AGAIN: Final = 5.0
"""How often to check what only time changes: clocks, and workers that were not seen yet; in seconds."""


def reconcile_original(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """The next step for an original."""
    job = snapshot.workload
    if not snapshot.delegated:
        return not_ours(snapshot)
    if job.deleting and (deletion := deleting(snapshot)) is not None:
        return deletion
    if job.end is not None:
        return finished(snapshot)
    if (refusal := refused(snapshot)) is not None:
        return refusal
    known = snapshot.assignment.epoch if snapshot.assignment is not None else 0
    reached = max((known, *(run.epoch for run in snapshot.runs)))
    believed = [mirror for mirror in snapshot.mirrors.values() if mirror.epoch <= reached + _MAX_JUMP]
    newest = max(believed, key=lambda mirror: mirror.epoch, default=None)
    if newest is not None and newest.epoch > known:
        return adopt(snapshot, newest)
    if len(believed) < len(snapshot.mirrors) and snapshot.mirror is None:
        return jumped(snapshot, known)
    if snapshot.remembered is not None and snapshot.remembered.epoch > known:
        return remember(snapshot.remembered, known)
    if snapshot.unproven and snapshot.mirror is None:
        return unproven(snapshot)
    if snapshot.assignment is None:
        return _first(snapshot)
    return _assigned(snapshot, snapshot.assignment)


def _first(snapshot: WorkloadSnapshot) -> OriginalDecision:
    if wrong := invalid_epoch(snapshot.original):
        return refuse_epoch(f"the epoch {wrong} in annotation {ASSIGNMENT} is not one that a relay writes; remove it")
    if snapshot.held:
        return _started_before(snapshot)
    if isinstance(snapshot.admission, NotAdmitted):
        return _not_admitted(snapshot, snapshot.admission)
    if snapshot.workload.suspended and not snapshot.suspended_by_admission:
        sentence = "It is suspended; a worker is chosen when it is resumed."
        return OriginalDecision(Stage.SUSPENDED, sentence, _suspended_status(snapshot))
    if snapshot.unseen:
        return _unseen(snapshot)
    return _place(snapshot, {}, Stage.PLACING, "")


def _started_before(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """Its assignment was lost after it had been started. What shows its start stays until no run can be left."""
    places = ", ".join(_place_of(snapshot, run) for run in snapshot.held)
    why = f": {snapshot.why_not_gone}" if snapshot.why_not_gone else ""
    sentence = (
        f"It was started before, and its annotation {ASSIGNMENT}, which says where, was removed. A worker is chosen "
        f"when no earlier run can be left on {places}{why}."
    )
    return OriginalDecision(Stage.MOVING, sentence, requeue_after=_LOOK_AGAIN)


def _place_of(snapshot: WorkloadSnapshot, run: Run) -> str:
    """Where a run may be, and until when that is waited for, if its worker does not answer."""
    name, free_at = run.cluster or "a worker that is no longer registered", snapshot.free_at(run)
    return f"{name} (waited for until {format_time(free_at)})" if free_at is not None else name


def _suspended_status(snapshot: WorkloadSnapshot) -> WriteStatus | None:
    if not snapshot.workload.suspended:
        return None
    status = snapshot.adapter.suspended_status(snapshot.original, snapshot.now)
    return WriteStatus(status) if status is not None else None


def _not_admitted(snapshot: WorkloadSnapshot, answer: NotAdmitted) -> OriginalDecision:
    status = _suspended_status(snapshot) if answer.shows_suspension else None
    return OriginalDecision(Stage.ADMISSION, answer.sentence, status, requeue_after=answer.requeue_after)


def _evicted(snapshot: WorkloadSnapshot, to: WorkerAssignment) -> OriginalDecision:
    """The admission of its run was taken back: that is removed, and it is placed anew when it is admitted."""
    now = snapshot.admission
    why = now.sentence if isinstance(now, NotAdmitted) else "It was admitted again since."
    if not to.waiting:
        held, epoch = snapshot.next_held, min(to.epoch + 1, MAX_EPOCH)
        since = format_time(snapshot.now)
        earlier = to.left(since, why)
        new = WorkerAssignment(to.cluster, epoch, since, to.cluster, to.uid, held, waiting=True, earlier=earlier)
        told = (EventNote("Evicted", f"Its run on {to.cluster} is removed: {why}", "Warning"),)
        return OriginalDecision(Stage.ADMISSION, why, CommitAssignment(new), told)
    if snapshot.mirrors or snapshot.held:
        return OriginalDecision(Stage.ADMISSION, f"{why} Its earlier run is being removed.", requeue_after=_LOOK_AGAIN)
    if to.held:
        settled = CommitAssignment(msgspec.structs.replace(to, held=()), starts=False)
        return OriginalDecision(Stage.ADMISSION, why, settled)
    return OriginalDecision(Stage.ADMISSION, why, _suspended_status(snapshot))


def _unseen(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """It may run on a worker that has not been seen since the relay started."""
    sentence = f"It may have been started before, on {', '.join(snapshot.unseen)}: not seen since the relay started."
    return OriginalDecision(Stage.WORKER_LOST, sentence, requeue_after=_LOOK_AGAIN)


def _place(snapshot: WorkloadSnapshot, avoid: Mapping[str, str], stage: Stage, why: str) -> OriginalDecision:
    """Choose a worker and commit to it; `why` says what happened to the previous run."""
    if isinstance(snapshot.admission, NotAdmitted):
        return _not_admitted(snapshot, snapshot.admission)
    admission = snapshot.admission
    if admission.chosen and admission.chosen in snapshot.workers:
        return _follow(snapshot, admission.chosen, avoid, stage, why)
    lead = f"{why} " if why else ""
    if not snapshot.turn.now:
        return _in_line(snapshot.turn, stage, lead)
    placement = snapshot.place(avoid)
    if placement.chosen is not None and placement.chosen in admission.asked:
        sentence = f"{placement.chosen} is asked to admit it by its own queue."
        return OriginalDecision(Stage.ADMISSION, sentence, AskWorker(placement.chosen), placement=placement)
    sentence = f"{lead}{placement.sentence}"
    if placement.chosen is None:
        due = next(filter(snapshot.unanswered, placement.lacking), None)
        told = (EventNote("NotPlaced", sentence, "Normal" if placement.has_room_later else "Warning"),)
        return OriginalDecision(
            stage,
            sentence,
            ProbeWorker(due) if due is not None else None,
            told,
            _tried_again(snapshot, placement) if due is None else _LOOK_AGAIN,
            placement,
            waits_in_line=True,
            claim=_claim(snapshot.turn, placement),
        )
    if not snapshot.accepted(placement.chosen) or snapshot.unanswered(placement.chosen):
        sentence = f"{lead}{placement.chosen} is asked whether it would accept it."
        probe = ProbeWorker(placement.chosen)
        return OriginalDecision(
            Stage.PROBING, sentence, probe, placement=placement, waits_in_line=True, claim=snapshot.turn.claimed
        )
    return _commit(snapshot, placement.chosen, sentence, placement, why)


def _commit(
    snapshot: WorkloadSnapshot, worker: str, sentence: str, placement: Placement | None, why: str
) -> OriginalDecision:
    """Assign it to a worker, as a new run; `why` says what happened to the previous one, if there was one."""
    before, at = snapshot.assignment, format_time(snapshot.now)
    epoch = (before.epoch if before is not None else 0) + 1
    if epoch > MAX_EPOCH:
        return refuse_epoch(f"the epoch {MAX_EPOCH} in annotation {ASSIGNMENT} is the last one; remove it")
    new = WorkerAssignment(
        worker,
        epoch,
        at,
        before.cluster if before is not None else "",
        snapshot.workers[worker].identity,
        snapshot.next_held,
        admission=snapshot.admission.id if isinstance(snapshot.admission, Admitted) else "",
        earlier=before.left(at, why) if before is not None else (),
    )
    told = (EventNote("Redispatched", sentence, "Warning") if why else EventNote("Placed", sentence),)
    return OriginalDecision(Stage.COMMITTING, sentence, CommitAssignment(new), told, placement=placement)


def _follow(
    snapshot: WorkloadSnapshot, chosen: str, avoid: Mapping[str, str], stage: Stage, why: str
) -> OriginalDecision:
    """Assign it to the worker that has let it in, unless it does not take the mirror."""
    refused = avoid.get(chosen) or (found.message if (found := snapshot.refusal(chosen)) is not None else "")
    if refused:
        sentence = f"It was admitted on {chosen}, which does not take it: {refused}."
        told = (EventNote("NotPlaced", sentence, "Warning"),)
        return OriginalDecision(stage, sentence, events=told, requeue_after=_LOOK_AGAIN)
    return _commit(snapshot, chosen, f"It was admitted on {chosen}.", None, why)


def _in_line(turn: Turn, stage: Stage, lead: str) -> OriginalDecision:
    """It waits although there may be room, since others have waited for that longer or have a higher priority."""
    if not turn.alike:
        sentence = f"{lead}Waits for its turn: {turn.ahead} in line are tried before it."
        return OriginalDecision(stage, sentence, waits_in_line=True, claim=turn.claimed)
    sentence = f"{lead}Waits for its turn: {turn.ahead} are before it in line, {turn.alike} of them need the same."
    told = (EventNote("NotPlaced", sentence),)
    return OriginalDecision(stage, sentence, events=told, waits_in_line=True, claim=turn.claimed)


def _claim(turn: Turn, placement: Placement) -> str:
    """The worker that is to be kept free for it from now on."""
    if not turn.may_claim and not turn.claimed:
        return ""
    return choose_claim(placement.trace.candidates, turn.claimed)


def _tried_again(snapshot: WorkloadSnapshot, placement: Placement) -> float | None:
    """The seconds until time alone may change that no worker can take it."""
    times = [refusal.until for refusal in snapshot.refused.values()]
    times += filter(None, map(snapshot.asks_again, placement.lacking))
    again = (min(times) - snapshot.now).total_seconds() if times else None
    if snapshot.fenced and any(map(snapshot.clock_problem, snapshot.workers)):
        again = min(again or _LOOK_AGAIN, _LOOK_AGAIN)
    return again


def _assigned(snapshot: WorkloadSnapshot, to: WorkerAssignment) -> OriginalDecision:
    worker, mirror, free_at = snapshot.worker_of(to.run), snapshot.mirror, snapshot.free_at(to.run)
    ended = mirror is not None and mirror.facts.end is not None
    if snapshot.taken_back and not ended:
        return _evicted(snapshot, to)
    if to.waiting and not ended:
        return _admitted_again(snapshot)
    if worker is None and free_at is None:
        sentence = f"Its worker {to.cluster} is not registered (yet)."
        return OriginalDecision(Stage.WORKER_LOST, sentence, requeue_after=5.0)
    if free_at is not None:
        waits = wait_for(snapshot, to, (free_at - snapshot.now).total_seconds())
        return waits or _stopped_without_answer(snapshot, to) or _replace(snapshot, to)
    assert worker is not None
    if snapshot.unnamed_cluster and not ended:
        return name_cluster(to, worker)
    if mirror is not None and mirror.facts.end is not None:
        if snapshot.fenced and stopped_by_lease(snapshot.workload, mirror.facts):
            return _stopped(snapshot, to, mirror)
        return return_status(snapshot, mirror)
    if mirror is not None and (start := _known_start(snapshot, mirror)) != bool(to.started):
        return _record_start(to, mirror, known=start)
    if mirror is None and not worker.serves(snapshot.original.namespace):
        return _not_served(snapshot, to)
    if mirror is None and worker.connected and (why := worker.unfit.get(snapshot.kind)):
        if snapshot.kind in worker.unread:
            return OriginalDecision(Stage.MIRRORING, f"It waits for {worker.name}: {why}.")
        return _place(snapshot, {worker.name: why}, Stage.PLACING, f"{worker.name} cannot run it: {why}.")
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
    return return_status(snapshot, mirror) if mirror is not None else _without_mirror(snapshot, to, worker)


def _admitted_again(snapshot: WorkloadSnapshot) -> OriginalDecision:
    if snapshot.workload.suspended and not snapshot.suspended_by_admission:
        sentence = "It is suspended; a worker is chosen when it is resumed."
        return OriginalDecision(Stage.SUSPENDED, sentence, _suspended_status(snapshot))
    return _place(snapshot, {}, Stage.PLACING, "")


def _known_start(snapshot: WorkloadSnapshot, mirror: Mirror) -> bool:
    """Whether a fenced mirror has been started, with a deadline that ends in time."""
    return snapshot.fenced and snapshot.lease is not None and snapshot.lease.holds(mirror.facts)


def _record_start(to: WorkerAssignment, mirror: Mirror, *, known: bool) -> OriginalDecision:
    started = mirror.facts.started
    text = format_time(started) if known and started is not None else ""
    sentence = (
        f"It was started on {to.cluster}; that is recorded, so that its lease can be waited out."
        if known
        else (f"It is not leased on {to.cluster} at present; that is recorded before it is started again.")
    )
    return OriginalDecision(Stage.RUNNING, sentence, RecordStart(msgspec.structs.replace(to, started=text)))


def _stopped(snapshot: WorkloadSnapshot, to: WorkerAssignment, mirror: Mirror) -> OriginalDecision:
    """Its lease ran out: start it again, after a pause that grows with each time in a row."""
    stops = snapshot.lease_stops.after(to.epoch, mirror.facts, to.assigned_at, snapshot.now)
    left = stops.left(snapshot.now)
    why = (
        f"{to.cluster} stopped it when its lease ran out{f', for the {stops.count}. time' if stops.count > 1 else ''}."
    )
    if left <= 0:
        return _place(snapshot, {}, Stage.PLACING, why)
    sentence = f"{why} It is started again at {format_time(snapshot.now + timedelta(seconds=left))}."
    told = (EventNote("LeaseExpired", sentence, "Warning"),)
    return OriginalDecision(Stage.PLACING, sentence, events=told, requeue_after=left, lease_stops=stops)


def _stopped_without_answer(snapshot: WorkloadSnapshot, to: WorkerAssignment) -> OriginalDecision | None:
    """Whoever admits it has suspended it, and waits until nothing runs: the lost worker will not tell."""
    if not snapshot.suspended_by_admission:
        return None
    status = snapshot.adapter.suspended_status(snapshot.original, snapshot.now)
    sentence = f"{describe_loss(snapshot, to)}; what ran there is given up."
    return OriginalDecision(Stage.WORKER_LOST, sentence, WriteStatus(status) if status is not None else None)


def _replace(snapshot: WorkloadSnapshot, to: WorkerAssignment) -> OriginalDecision:
    """The rule for lost workers lets its run go."""
    worker = snapshot.worker_of(to.run)
    avoid = {worker.name: "it is lost"} if worker is not None else {}
    return _place(snapshot, avoid, Stage.WORKER_LOST, f"{describe_loss(snapshot, to)}.")


def _without_mirror(snapshot: WorkloadSnapshot, to: WorkerAssignment, worker: WorkerFacts) -> OriginalDecision:
    """Committed, and the mirror does not exist yet."""
    if snapshot.waits_for_resume:
        return OriginalDecision(Stage.ADMISSION, f"Its mirror is created on {worker.name} when it is resumed.")
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


def _not_served(snapshot: WorkloadSnapshot, to: WorkerAssignment) -> OriginalDecision:
    """Its mirror may still run where the relay cannot see it, so it is not started elsewhere."""
    place = snapshot.original.namespace
    sentence = (
        f"{to.cluster} no longer serves namespace {place}, and what may run there cannot be seen; "
        f"have it serve {place} again, or declare it lost."
    )
    return OriginalDecision(Stage.MIRRORING, sentence, events=(EventNote("NotServed", sentence, "Warning"),))
