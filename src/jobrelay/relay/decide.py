"""What to do next about one workload on the management cluster.

    takeover     is it ours, and does it want to run?
    admission    may it run now? (a place for quotas; without a queue the answer is yes)
    placement    which worker?
    commit       write that down, with a new epoch
    return       bring the mirror's status back
    loss         the worker is gone, drained or refused it: place again

`decide` is a pure function and looks at everything afresh each time, so it does not matter which events were missed. It
returns at most one write; the write's own event brings it back here. What happens on the workers is decided in `tend`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, Literal

from jobrelay.apimachinery.times import format_time
from jobrelay.relay.admission import Waiting, admit
from jobrelay.relay.assignment import Assignment
from jobrelay.relay.fencing import stopped_by_lease
from jobrelay.relay.health import lost_at
from jobrelay.relay.model import State
from jobrelay.relay.placement import Placement
from jobrelay.relay.situation import Mirror, Situation
from jobrelay.workloads import Haste

__all__ = ["Commit", "Decision", "Probe", "Stage", "Tell", "WriteStatus", "decide"]


_PATIENCE: Final = {Haste.NOW: 0.0, Haste.SOON: 1.0, Haste.LATER: 8.0}
"""How long a status waits for what follows it, in times of the setting."""


class Stage(StrEnum):
    """How far a workload has come."""

    NOT_OURS = "NotOurs"
    DELETING = "Deleting"
    SUSPENDED = "Suspended"
    ADMISSION = "WaitingForAdmission"
    PLACING = "WaitingForPlacement"
    PROBING = "AskingWorker"
    COMMITTING = "Committing"
    MIRRORING = "CreatingMirror"
    RUNNING = "Running"
    WORKER_LOST = "WorkerLost"
    FROZEN = "Frozen"
    MOVING = "Moving"
    FINISHED = "Finished"


@dataclass(frozen=True, slots=True)
class Tell:
    """An event on the original."""

    reason: str
    note: str
    type: Literal["Normal", "Warning"] = "Normal"


@dataclass(frozen=True, slots=True)
class Commit:
    """Write an assignment on the original, if it has not changed meanwhile."""

    assignment: Assignment


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Replace the original's status."""

    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Probe:
    """Ask a worker by a dry run whether it would take the mirror."""

    worker: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One step, why, and when to look again though nothing happened."""

    stage: Stage
    sentence: str
    act: Commit | WriteStatus | Probe | None = None
    tell: tuple[Tell, ...] = ()
    look_again: float | None = None
    placement: Placement | None = None
    """The verdicts on all workers, where there were any to give."""
    holding: bool = False
    """Whether a new status waits for more."""


def decide(now: Situation) -> Decision:
    """The next step."""
    job = now.job
    if job.managed_by not in now.adapter.managers:
        return Decision(
            Stage.NOT_OURS, f"It is not handed to the relay: spec.managedBy is {job.managed_by or 'not set'}."
        )
    if job.end is not None:
        return Decision(Stage.FINISHED, _finished(now))
    if job.deleting:
        return Decision(Stage.DELETING, "It is being deleted, and its mirror with it.")
    newest = max(now.mirrors.values(), key=lambda mirror: mirror.epoch, default=None)
    known = now.assignment.epoch if now.assignment is not None else 0
    if newest is not None and newest.epoch > known:
        return _adopt(now, newest)
    if now.assignment is None:
        return _first(now)
    return _assigned(now, now.assignment)


def _finished(now: Situation) -> str:
    end, where = now.job.end, now.assignment
    assert end is not None
    result = "It is complete" if end.succeeded else f"It failed ({end.reason or 'no reason given'})"
    return f"{result}{f', on {where.cluster}' if where is not None else ''}."


def _adopt(now: Situation, mirror: Mirror) -> Decision:
    """A mirror of a newer run than the assignment tells of: the assignment was lost, and the mirror proves it."""
    found = Assignment(mirror.worker, mirror.epoch, format_time(now.now))
    note = f"The assignment was missing or outdated; the mirror of run {mirror.epoch} on {mirror.worker} is taken on"
    return Decision(Stage.COMMITTING, f"{note}.", Commit(found), (Tell("MirrorFound", note, "Warning"),))


def _first(now: Situation) -> Decision:
    if now.job.suspended:
        status = now.adapter.idle(now.obj, now.now)
        sentence = "It is suspended; a worker is chosen when it is resumed."
        return Decision(Stage.SUSPENDED, sentence, WriteStatus(status) if status is not None else None)
    answer = admit(now)
    if isinstance(answer, Waiting):
        return Decision(Stage.ADMISSION, answer.sentence, look_again=answer.look_again)
    return _place(now, {}, Stage.PLACING, "")


def _place(now: Situation, avoid: Mapping[str, str], stage: Stage, why: str) -> Decision:
    """Find a worker and commit to it; `why` says what happened to the run before."""
    placement = now.place(avoid)
    lead = f"{why} " if why else ""
    if placement.chosen is None:
        waits = min((refusal.until for refusal in now.refused.values()), default=None)
        again = (waits - now.now).total_seconds() if waits is not None else None
        told = (Tell("NotPlaced", f"{lead}{placement.sentence}", "Warning"),)
        return Decision(stage, f"{lead}{placement.sentence}", tell=told, look_again=again, placement=placement)
    if not now.proven(placement.chosen):
        sentence = f"{lead}{placement.chosen} is asked whether it would take it."
        return Decision(Stage.PROBING, sentence, Probe(placement.chosen), placement=placement)
    before = now.assignment
    epoch = (before.epoch if before is not None else 0) + 1
    new = Assignment(placement.chosen, epoch, format_time(now.now), before.cluster if before is not None else "")
    told = (Tell("Redispatched" if why else "Placed", f"{lead}{placement.sentence}", "Warning" if why else "Normal"),)
    return Decision(Stage.COMMITTING, f"{lead}{placement.sentence}", Commit(new), told, placement=placement)


def _assigned(now: Situation, to: Assignment) -> Decision:
    worker, mirror = now.workers.get(to.cluster), now.mirror
    free_at = lost_at(to.cluster, now.workers, now.removed, now.settings, _grace(now))
    if worker is None and free_at is None:
        return Decision(Stage.WORKER_LOST, f"Its worker {to.cluster} is not registered (yet).", look_again=5.0)
    if free_at is not None:
        return _lost(now, to, (free_at - now.now).total_seconds())
    assert worker is not None
    if mirror is not None and mirror.facts.end is not None and now.fenced and stopped_by_lease(now.job, mirror.facts):
        return _place(now, {}, Stage.PLACING, f"{to.cluster} stopped it when its lease ran out.")
    if mirror is not None and mirror.facts.end is not None:
        return _return(now, mirror)
    if mirror is None and not worker.serves(now.obj.namespace):
        return _out_of_sight(now, to)
    if worker.state in (State.DRAINING, State.LOST):
        moved = _place(now, {to.cluster: f"it is {worker.state}"}, Stage.MOVING, f"{to.cluster} is {worker.state}.")
        if isinstance(moved.act, Commit | Probe) or mirror is None:
            return moved
    refusal = now.refusal(to.cluster)
    if mirror is None and refusal is not None:
        return _place(now, {}, Stage.PLACING, f"{to.cluster} refused it: {refusal.message}.")
    return _return(now, mirror) if mirror is not None else _awaited(now, to)


def _grace(now: Situation) -> float | None:
    return now.demand.grace if now.fenced else None


def _lost(now: Situation, to: Assignment, left: float) -> Decision:
    """The worker does not answer; `left` seconds until the workload may start elsewhere."""
    worker = now.workers.get(to.cluster)
    since = worker.lost_since if worker is not None else now.removed.get(to.cluster)
    assert since is not None
    gone = (now.now - since).total_seconds()
    reason = (worker.reason if worker is not None else "it is no longer registered") or "no answer"
    lost = f"{to.cluster} has been unreachable since {format_time(since)} ({reason})"
    told: tuple[Tell, ...] = ()
    if gone >= now.settings.loss_told:
        told = (Tell("WorkerLost", f"{lost}", "Warning"),)
    again = now.settings.loss_told - gone
    if left > 0:
        when = f"it is started elsewhere at {format_time(now.now + timedelta(seconds=left))} unless that worker returns"
        return Decision(
            Stage.WORKER_LOST, f"{lost}; {when}.", tell=told, look_again=min(left, again) if again > 0 else left
        )
    if now.frozen and (worker is None or worker.state is not State.LOST):
        sentence = f"{lost}; most workers vanished at once, so the relay takes itself for cut off and moves nothing."
        return Decision(Stage.FROZEN, sentence, tell=(*told, Tell("Frozen", sentence, "Warning")), look_again=15.0)
    return _place(now, {to.cluster: "it is lost"}, Stage.WORKER_LOST, f"{lost}.")


def _awaited(now: Situation, to: Assignment) -> Decision:
    """Committed, and the mirror is not there yet."""
    others = [name for name in now.mirrors if name != to.cluster and _reachable(now, name)]
    if others:
        return Decision(Stage.MOVING, f"It starts on {to.cluster} when its mirror on {', '.join(others)} is gone.")
    if to.cluster in now.mirrors:
        return Decision(Stage.MOVING, f"It starts on {to.cluster} when the mirror of an earlier run there is gone.")
    if not _reachable(now, to.cluster):
        return Decision(Stage.MIRRORING, f"Its mirror is created when {to.cluster} is connected.")
    trouble = f"; the last try failed: {now.trouble}" if now.trouble else ""
    return Decision(Stage.MIRRORING, f"Its mirror is being created on {to.cluster}{trouble}.")


def _out_of_sight(now: Situation, to: Assignment) -> Decision:
    """Its mirror may run where nobody may look, so it is started nowhere else."""
    place = now.obj.namespace
    sentence = (
        f"{to.cluster} no longer serves namespace {place}, and what may run there cannot be seen; "
        f"have it serve {place} again, or declare it lost."
    )
    return Decision(Stage.MIRRORING, sentence, tell=(Tell("NotServed", sentence, "Warning"),))


def _reachable(now: Situation, name: str) -> bool:
    worker = now.workers.get(name)
    return worker is not None and worker.connected


def _return(now: Situation, mirror: Mirror) -> Decision:
    """Bring the status back: at once if it says more than counts, else together with what follows."""
    status = now.adapter.returned(now.obj, mirror.obj)
    stage, sentence = Stage.RUNNING, _where(now, mirror)
    if status is None:
        return Decision(stage, sentence)
    wait = _PATIENCE[now.adapter.haste(now.obj, status)] * now.settings.coalesce
    if now.waited < wait:
        return Decision(stage, sentence, look_again=wait - now.waited, holding=True)
    told: tuple[Tell, ...] = ()
    if mirror.facts.started is not None and now.job.started is None:
        told = (Tell("Started", f"Started on {mirror.worker}"),)
    end = mirror.facts.end
    if end is not None:
        how = "Complete" if end.succeeded else f"Failed ({end.reason})"
        told = (*told, Tell("Finished", f"{how} on {mirror.worker}", "Normal" if end.succeeded else "Warning"))
    return Decision(stage, sentence, WriteStatus(status), told)


def _where(now: Situation, mirror: Mirror) -> str:
    facts = mirror.facts
    if facts.end is not None:
        return f"It has ended on {mirror.worker}; its last status is being written."
    if facts.deleting:
        return (
            f"Its mirror on {mirror.worker} is being deleted by someone there; it is created again when that is done."
        )
    if facts.suspended:
        return f"It is suspended on {mirror.worker}."
    if facts.started is None:
        return f"Its mirror on {mirror.worker} has not been started by the Job controller there yet."
    return f"It runs on {mirror.worker} since {format_time(facts.started)}."
