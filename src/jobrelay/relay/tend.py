"""What to do about one workload's mirror on one worker.

A pure function of the same situation that `decide` looks at, but for one worker at a time, so that each worker has a
queue of its own and a slow one delays only itself. Nothing is touched that does not carry our origin and the original's uid
(own-only): the situation holds no other mirrors. A mirror is created only for a committed assignment (commit-first), and only
when no other worker in reach still holds one (one-run).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobrelay.kube.client import Propagation
from jobrelay.relay.fencing import deadline, renewal
from jobrelay.relay.settings import Settings
from jobrelay.relay.situation import Mirror, Situation
from jobrelay.workloads import MirrorParameters

__all__ = ["Create", "Delete", "Tending", "Update", "tend", "unclaimed"]


@dataclass(frozen=True, slots=True)
class Create:
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Update:
    mirror: Mirror
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    """`Foreground` where something must not start before the pods are gone."""

    mirror: Mirror
    why: str
    propagation: Propagation = "Background"


@dataclass(frozen=True, slots=True)
class Tending:
    act: Create | Update | Delete | None = None
    look_again: float | None = None


NOTHING = Tending()


def unclaimed(mirror: Mirror) -> Tending:
    """A mirror whose original is gone, is another one by now, or was taken away from us."""
    if mirror.facts.deleting:
        return NOTHING
    return Tending(Delete(mirror, "its original is gone"))


def tend(now: Situation, worker: str, name: str) -> Tending:
    """The next step on one worker, where the mirror would have this name."""
    mirror, to = now.mirrors.get(worker), now.assignment
    if now.job.managed_by not in now.adapter.managers or now.job.deleting:
        return unclaimed(mirror) if mirror is not None else NOTHING
    if mirror is not None and mirror.facts.deleting:
        return NOTHING
    if mirror is not None and (to is None or mirror.epoch > to.epoch):
        return NOTHING  # it proves a newer run: `decide` takes that on
    if to is None:
        return NOTHING
    if mirror is not None and (to.cluster != worker or mirror.epoch < to.epoch):
        return Tending(Delete(mirror, f"run {to.epoch} is on {to.cluster}", "Foreground"))
    if mirror is not None:
        return _keep(now, mirror, name)
    if to.cluster != worker or now.job.end is not None:
        return NOTHING
    return _create(now, worker, name)


def _create(now: Situation, worker: str, name: str) -> Tending:
    if now.refusal(worker) is not None:
        return NOTHING
    facts = now.workers.get(worker)
    others = (now.workers.get(other) for other in now.mirrors if other != worker)
    if facts is None or not facts.serves(now.obj.namespace):
        return NOTHING
    if not facts.connected or any(other is not None and other.connected for other in others):
        return NOTHING
    return Tending(Create(now.adapter.mirror(now.obj, marks(now, None, name))))


def _keep(now: Situation, mirror: Mirror, name: str) -> Tending:
    if mirror.facts.end is not None:
        return _after_end(mirror, now.settings, now.now, reported=now.job.end is not None)
    if now.job.end is not None:
        return Tending(Delete(mirror, "its original has ended"))
    patch = now.adapter.mirror_patch(now.obj, mirror.obj, marks(now, mirror, name))
    if patch is not None:
        return Tending(Update(mirror, patch))
    return Tending(look_again=renewal(mirror.facts, now.lease, now.now))


def _after_end(mirror: Mirror, settings: Settings, now: datetime, *, reported: bool) -> Tending:
    """A finished mirror stays for a while once its end is written down."""
    if not reported:
        return NOTHING
    end = mirror.facts.end
    assert end is not None
    ended = end.at or now
    left = (ended + timedelta(seconds=settings.keep_finished) - now).total_seconds()
    if left > 0:
        return Tending(look_again=left)
    return Tending(Delete(mirror, f"it finished {settings.keep_finished:g} s ago"))


def marks(now: Situation, mirror: Mirror | None, name: str) -> MirrorParameters:
    """What the mirror of the present run carries."""
    to = now.assignment
    epoch = to.epoch if to is not None else 0
    ends = deadline(now.job, mirror.facts if mirror is not None else None, now.lease, now.now)
    return MirrorParameters(now.settings.origin, epoch, name, ends)
