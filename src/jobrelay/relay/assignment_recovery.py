"""What is done when an assignment does not agree with what is found: with mirrors, or with what this process wrote.

An assignment is an annotation, which clients can remove or put back, and objects come back from backups. Mirrors with a
proof, and what was written before, say which run is the newest; where that cannot be believed nothing is started.
"""

from __future__ import annotations

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import EventNote
from jobrelay.relay.lookalikes import in_the_way
from jobrelay.relay.model import WorkerFacts
from jobrelay.relay.original_decision import CommitAssignment, OriginalDecision, Stage
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.worker_assignment import WorkerAssignment
from jobrelay.workloads.names import EPOCH


def adopt(snapshot: WorkloadSnapshot, mirror: Mirror) -> OriginalDecision:
    """A mirror has a higher epoch than the assignment, so the assignment was lost: restore it from the mirror."""
    worker = snapshot.workers.get(mirror.worker)
    uid = worker.identity if worker is not None else ""
    held = tuple(run for run in snapshot.next_held if run.epoch != mirror.epoch)
    where, at = f"run {mirror.epoch} on {mirror.worker}", format_time(snapshot.now)
    note = f"The assignment was missing or outdated; it is restored from the mirror of {where}"
    earlier = snapshot.assignment.left(at, note) if snapshot.assignment is not None else ()
    found = WorkerAssignment(mirror.worker, mirror.epoch, at, uid=uid, held=held, earlier=earlier)
    told = (EventNote("MirrorFound", note, "Warning"),)
    return OriginalDecision(Stage.COMMITTING, f"{note}.", CommitAssignment(found, starts=False), told)


def remember(assignment: WorkerAssignment, known: int) -> OriginalDecision:
    """The assignment went back while this process was looking: the client that replaced it did not mean to."""
    was = f"went back to run {known}" if known else "was removed"
    note = f"The assignment {was}; run {assignment.epoch} on {assignment.cluster} is restored"
    told = (EventNote("AssignmentRestored", note, "Warning"),)
    return OriginalDecision(Stage.COMMITTING, f"{note}.", CommitAssignment(assignment, starts=False), told)


def name_cluster(to: WorkerAssignment, worker: WorkerFacts) -> OriginalDecision:
    """The assignment names no cluster, so a relay did not write it, or could not read the cluster's uid: its worker's
    name may be pointed at another cluster, and nobody would know where the run is."""
    sentence = f"The cluster of {worker.name} is recorded before it is started there."
    new = msgspec.structs.replace(to, uid=worker.identity)
    return OriginalDecision(Stage.COMMITTING, sentence, CommitAssignment(new, starts=False))


def jumped(snapshot: WorkloadSnapshot, known: int) -> OriginalDecision:
    """A mirror has an epoch that runs of this workload cannot have reached, so somebody else wrote it."""
    mirror = max(snapshot.mirrors.values(), key=lambda mirror: mirror.epoch)
    problem = f"its mirror on {mirror.worker} says that it is run {mirror.epoch}, but the last known run is {known}"
    return refuse_epoch(f"{problem}; delete that mirror, or correct its annotation {EPOCH}")


def refuse_epoch(problem: str) -> OriginalDecision:
    sentence = f"Nothing is started: {problem}."
    return OriginalDecision(Stage.FROZEN, sentence, events=(EventNote("EpochRefused", sentence, "Warning"),))


def unproven(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """Look-alikes are where mirrors would be. The controller reports each by an event."""
    return OriginalDecision(Stage.FROZEN, f"Nothing is started: {'; '.join(map(in_the_way, snapshot.unproven))}.")
