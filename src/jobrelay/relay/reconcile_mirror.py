"""Decides the next step for the mirror of one workload on one worker.

`reconcile_mirror` is a pure function of a snapshot and one worker, so that each worker has its own queue and a slow one
delays only itself. Only mirrors that are proven to be ours are touched (own-only): a snapshot holds no others. A mirror
is created only for a committed assignment (commit-first), and only when every earlier run that may exist, on whatever
cluster, is proven gone or let go by the rule for lost workers (one-run).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

import msgspec

from jobrelay.kube.client import Propagation
from jobrelay.relay.dependencies.renaming import mirror_patch
from jobrelay.relay.fencing import deadline, renewal
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.worker_assignment import Run, WorkerAssignment
from jobrelay.workloads import MirrorParameters
from jobrelay.workloads.metadata import is_queued, metadata_patch, queued_mirror


@dataclass(frozen=True, slots=True)
class CreateMirror:
    body: Mapping[str, Any]
    parameters: MirrorParameters

    queued: bool = False
    """Whether the worker's own queue lets it run, and not the relay."""

    @property
    def releases(self) -> bool:
        """Whether it runs without the relay's doing, and is not held back first."""
        return self.queued or not self.parameters.suspend


@dataclass(frozen=True, slots=True)
class UpdateMirror:
    """`releases` if it lets a suspended mirror run: it must still be the version that was seen then."""

    mirror: Mirror
    patch: Mapping[str, Any]
    releases: bool = False


@dataclass(frozen=True, slots=True)
class DeleteMirror:
    """`Foreground` where a new run must not start before the pods are gone; `exact` where a newer version than the one
    that was seen may say something that has to be returned first."""

    mirror: Mirror
    why: str
    propagation: Propagation = "Background"
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ProveGone:
    """Find out by consistent reads whether a run is gone, with its pods."""

    run: Run


@dataclass(frozen=True, slots=True)
class MirrorDecision:
    """At most one action, and when to reconcile again although nothing happened."""

    action: CreateMirror | UpdateMirror | DeleteMirror | ProveGone | None = None
    requeue_after: float | None = None


NOTHING = MirrorDecision()
_LOOK_AGAIN: Final = 5.0
"""When to look again at what time alone changes, in seconds."""
_RETURN_WITHIN: Final = 60.0
"""How much longer a finished mirror is kept while its last status is not returned, in seconds: the management cluster
may refuse it for good."""


def orphaned(mirror: Mirror) -> MirrorDecision:
    """The decision about a mirror whose original was deleted, was replaced, or is no longer delegated."""
    if mirror.facts.deleting:
        return NOTHING
    return MirrorDecision(DeleteMirror(mirror, "its original is gone"))


def reconcile_mirror(snapshot: WorkloadSnapshot, worker: str, name: str) -> MirrorDecision:
    """The next step on one worker; `name` is the name of the mirror there."""
    mirror, to = snapshot.mirrors.get(worker), snapshot.assignment
    if not snapshot.delegated or snapshot.workload.deleting:
        return orphaned(mirror) if mirror is not None else NOTHING
    if mirror is None and snapshot.adapter.runs_anyway:
        return NOTHING
    if mirror is not None and mirror.facts.deleting:
        return NOTHING
    if mirror is not None and (to is None or mirror.epoch > to.epoch):
        if snapshot.workload.end is not None:
            return _keep(snapshot, mirror, name)  # the assignment was removed after the end
        return NOTHING  # it proves a newer run, which `reconcile_original` adopts
    if to is not None and mirror is not None and (snapshot.runs_on != worker or mirror.epoch < to.epoch):
        why = "it is not admitted any more" if to.waiting else f"run {to.epoch} is on {to.cluster}"
        return MirrorDecision(DeleteMirror(mirror, why, "Foreground"))
    if mirror is not None:
        return _keep(snapshot, mirror, name)
    if snapshot.mirror is not None or snapshot.workload.end is not None:
        return NOTHING
    if doubtful := next(filter(partial(_runs_on, snapshot, worker), snapshot.held), None):
        return MirrorDecision(ProveGone(doubtful))
    return _create(snapshot, to, worker, name) if to is not None and snapshot.runs_on == worker else NOTHING


def _runs_on(snapshot: WorkloadSnapshot, worker: str, run: Run) -> bool:
    found = snapshot.worker_of(run)
    return found is not None and found.name == worker


def _create(snapshot: WorkloadSnapshot, to: WorkerAssignment, worker: str, name: str) -> MirrorDecision:
    if snapshot.refusal(worker) is not None or snapshot.committing:
        return NOTHING
    if snapshot.unnamed_cluster:
        return NOTHING  # `reconcile_original` names it
    if snapshot.taken_back or snapshot.waits_for_resume or to.waiting:
        return NOTHING  # it is placed anew when it is admitted again, or created when it is resumed
    facts = snapshot.workers[worker]
    if not facts.serves(snapshot.original.namespace) or not facts.connected or snapshot.kind in facts.unfit:
        return NOTHING
    if snapshot.forbidden(facts):
        return NOTHING  # `reconcile_original` places it anew
    if snapshot.held:
        return MirrorDecision(requeue_after=snapshot.held_for)
    if snapshot.runs.may_exist(to.run):
        return MirrorDecision(requeue_after=_LOOK_AGAIN) if snapshot.unseen else MirrorDecision(ProveGone(to.run))
    if snapshot.unproven:
        return NOTHING  # one of them may be a run of it
    parameters = mirror_parameters(snapshot, None, name, snapshot.proof(worker, name))
    if prebuilt := snapshot.prebuilt_on(worker):
        parameters = msgspec.structs.replace(parameters, suspend=True)
        body = queued_mirror(snapshot.adapter.mirror(snapshot.original, parameters), prebuilt)
        return MirrorDecision(CreateMirror(body, parameters, queued=True))
    body = snapshot.adapter.mirror(snapshot.original, parameters)
    return MirrorDecision(CreateMirror(body, parameters))


def _keep(snapshot: WorkloadSnapshot, mirror: Mirror, name: str) -> MirrorDecision:
    if mirror.facts.end is not None:
        return _after_end(snapshot, mirror)
    if snapshot.workload.end is not None:
        return MirrorDecision(DeleteMirror(mirror, "its original has ended"))
    parameters = mirror_parameters(snapshot, mirror, name, snapshot.proof(mirror.worker, name))
    if is_queued(mirror.obj):
        marks = metadata_patch(snapshot.original, mirror.obj, parameters)
        return MirrorDecision(UpdateMirror(mirror, {"metadata": marks}) if marks else None)
    patch = mirror_patch(snapshot.adapter, snapshot.original, mirror.obj, parameters)
    if patch is not None:
        resumed = mirror.facts.suspended and not (parameters.suspend or snapshot.workload.suspended)
        return MirrorDecision(UpdateMirror(mirror, patch, resumed))
    if mirror.facts.suspended and parameters.suspend:
        return MirrorDecision(requeue_after=_LOOK_AGAIN)
    return MirrorDecision(requeue_after=renewal(mirror.facts, snapshot.lease))


def _after_end(snapshot: WorkloadSnapshot, mirror: Mirror) -> MirrorDecision:
    """A finished mirror is kept for a while after its end was written to the original, which shows all that it says
    until it is removed."""
    if snapshot.workload.end is None:
        return NOTHING
    end, now, keep = mirror.facts.end, snapshot.time_on(mirror.worker), snapshot.settings.keep_finished
    assert end is not None
    left = ((end.at or now) + timedelta(seconds=keep) - now).total_seconds()
    if left > 0:
        return MirrorDecision(requeue_after=left)
    if left > -_RETURN_WITHIN and snapshot.adapter.merged_status(snapshot.original, mirror.obj) is not None:
        return MirrorDecision(requeue_after=_LOOK_AGAIN)
    return MirrorDecision(DeleteMirror(mirror, f"it finished {keep:g} s ago", exact=True))


def mirror_parameters(
    snapshot: WorkloadSnapshot, mirror: Mirror | None, name: str, proof: str = ""
) -> MirrorParameters:
    """What the mirror of the current epoch has to carry."""
    to = snapshot.assignment
    epoch = to.epoch if to is not None else 0
    facts = mirror.facts if mirror is not None else None
    held = snapshot.lease is not None and (
        mirror is None or (mirror.facts.suspended and snapshot.obstacle(mirror) != "")
    )
    now = snapshot.time_on(snapshot.runs_on)
    ends = deadline(snapshot.workload, facts, snapshot.lease, now, rests=held)
    return MirrorParameters(snapshot.settings.origin, epoch, name, ends, held, proof)
