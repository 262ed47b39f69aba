"""Decides the next step for the mirror of one workload on one worker.

`reconcile_mirror` is a pure function of a snapshot and one worker, so that each worker has its own queue and a slow one
delays only itself. Only mirrors that carry our origin and the original's uid are touched (own-only): a snapshot holds
no others. A mirror is created only for a committed assignment (commit-first), and only while no other reachable worker
holds one (one-run).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from jobrelay.kube.client import Propagation
from jobrelay.relay.fencing import deadline, renewal
from jobrelay.relay.settings import Settings
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.workloads import MirrorParameters


@dataclass(frozen=True, slots=True)
class CreateMirror:
    body: Mapping[str, Any]
    releases: bool = True
    """Whether it runs at once, and is not held back first."""


@dataclass(frozen=True, slots=True)
class UpdateMirror:
    """`releases` if it lets a suspended mirror run: it must still be the version that was seen then."""

    mirror: Mirror
    patch: Mapping[str, Any]
    releases: bool = False


@dataclass(frozen=True, slots=True)
class DeleteMirror:
    """`Foreground` where a new run must not start before the pods are gone."""

    mirror: Mirror
    why: str
    propagation: Propagation = "Background"


@dataclass(frozen=True, slots=True)
class MirrorDecision:
    """At most one action, and when to reconcile again although nothing happened."""

    action: CreateMirror | UpdateMirror | DeleteMirror | None = None
    requeue_after: float | None = None


NOTHING = MirrorDecision()
_ASK_AGAIN: Final = 5.0
"""When a mirror that is held back is looked at again, since its worker's clock may have become known."""


def orphaned(mirror: Mirror) -> MirrorDecision:
    """The decision about a mirror whose original was deleted, was replaced, or is no longer delegated."""
    if mirror.facts.deleting:
        return NOTHING
    return MirrorDecision(DeleteMirror(mirror, "its original is gone"))


def reconcile_mirror(snapshot: WorkloadSnapshot, worker: str, name: str) -> MirrorDecision:
    """The next step on one worker; `name` is the name of the mirror there."""
    mirror, to = snapshot.mirrors.get(worker), snapshot.assignment
    if snapshot.workload.managed_by not in snapshot.adapter.managers or snapshot.workload.deleting:
        return orphaned(mirror) if mirror is not None else NOTHING
    if mirror is not None and mirror.facts.deleting:
        return NOTHING
    if mirror is not None and (to is None or mirror.epoch > to.epoch):
        return NOTHING  # it proves a newer run, which `reconcile_original` adopts
    if to is None:
        return NOTHING
    if mirror is not None and (to.cluster != worker or mirror.epoch < to.epoch):
        return MirrorDecision(DeleteMirror(mirror, f"run {to.epoch} is on {to.cluster}", "Foreground"))
    if mirror is not None:
        return _keep(snapshot, mirror, name)
    if to.cluster != worker or snapshot.workload.end is not None:
        return NOTHING
    return _create(snapshot, worker, name)


def _create(snapshot: WorkloadSnapshot, worker: str, name: str) -> MirrorDecision:
    if snapshot.refusal(worker) is not None:
        return NOTHING
    facts = snapshot.workers.get(worker)
    others = (snapshot.workers.get(other) for other in snapshot.mirrors if other != worker)
    if facts is None or not facts.serves(snapshot.original.namespace):
        return NOTHING
    if snapshot.forbidden(facts):
        return NOTHING  # `reconcile_original` places it anew
    if not facts.connected or any(other is not None and other.connected for other in others):
        return NOTHING
    parameters = mirror_parameters(snapshot, None, name)
    body = snapshot.adapter.mirror(snapshot.original, parameters)
    return MirrorDecision(CreateMirror(body, releases=not parameters.suspend))


def _keep(snapshot: WorkloadSnapshot, mirror: Mirror, name: str) -> MirrorDecision:
    if mirror.facts.end is not None:
        now = snapshot.time_on(mirror.worker)
        return _after_end(mirror, snapshot.settings, now, reported=snapshot.workload.end is not None)
    if snapshot.workload.end is not None:
        return MirrorDecision(DeleteMirror(mirror, "its original has ended"))
    parameters = mirror_parameters(snapshot, mirror, name)
    patch = snapshot.adapter.mirror_patch(snapshot.original, mirror.obj, parameters)
    if patch is not None:
        resumed = mirror.facts.suspended and not (parameters.suspend or snapshot.workload.suspended)
        return MirrorDecision(UpdateMirror(mirror, patch, resumed))
    if mirror.facts.suspended and parameters.suspend:
        return MirrorDecision(requeue_after=_ASK_AGAIN)
    return MirrorDecision(requeue_after=renewal(mirror.facts, snapshot.lease))


def _after_end(mirror: Mirror, settings: Settings, now: datetime, *, reported: bool) -> MirrorDecision:
    """A finished mirror is kept for a while after its end was written to the original."""
    if not reported:
        return NOTHING
    end = mirror.facts.end
    assert end is not None
    ended = end.at or now
    left = (ended + timedelta(seconds=settings.keep_finished) - now).total_seconds()
    if left > 0:
        return MirrorDecision(requeue_after=left)
    return MirrorDecision(DeleteMirror(mirror, f"it finished {settings.keep_finished:g} s ago"))


def mirror_parameters(snapshot: WorkloadSnapshot, mirror: Mirror | None, name: str) -> MirrorParameters:
    """What the mirror of the current epoch has to carry."""
    to = snapshot.assignment
    epoch = to.epoch if to is not None else 0
    facts = mirror.facts if mirror is not None else None
    held = snapshot.lease is not None and (
        mirror is None or (mirror.facts.suspended and snapshot.obstacle(mirror) != "")
    )
    now = snapshot.time_on(to.cluster) if to is not None else snapshot.now
    ends = deadline(snapshot.workload, facts, snapshot.lease, now, rests=held)
    return MirrorParameters(snapshot.settings.origin, epoch, name, ends, held)
