"""The worker and epoch of a workload, as written on the original.

The assignment is the only thing that the relay persists about a workload. It is written before anything is created on a
worker (commit-first), and its epoch grows with each run, so that of two mirrors the one with the lower epoch is the
stale one.

A run is known by the uid of its cluster, since the name of a worker can be pointed at another cluster, and a cluster
can be registered under another name. `held` lists earlier runs that may still exist: the next one starts when each of
them is proven gone, or the rule for lost workers lets it go. `earlier` is the history of the last ten runs, for users:
no decision depends on it.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.times import TimeError, parse_time
from jobrelay.kube import Object
from jobrelay.workloads.names import ASSIGNMENT, EPOCH

MAX_EPOCH = 10**15 - 1
"""No workload runs this often: a greater number was not written by a relay."""


_MOST_HELD = 64
"""A relay holds a few runs at most: a longer list was not written by one, and would take long to look through."""

_MOST_EARLIER = 10
_LONGEST_WHY = 300
"""What is kept of earlier runs must not make the annotation large."""

_LONGEST = 16 * 1024
"""Of the text of an assignment with that many runs; a longer one is not read."""


class Run(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of a workload: its worker, its number, and the uid of the worker's cluster; empty if that is unknown."""

    cluster: str
    epoch: int
    uid: str = ""
    started: str = ""
    """When it started, as `WorkerAssignment.started`."""

    @property
    def key(self) -> tuple[str, int]:
        """What distinguishes it from other runs of the workload."""
        return self.uid or self.cluster, self.epoch


class PastRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run that is over for the relay: when its worker was chosen, when another assignment replaced it, and why."""

    cluster: str
    epoch: int
    since: str = ""
    until: str = ""
    why: str = ""


class WorkerAssignment(msgspec.Struct, frozen=True, omit_defaults=True):
    """The worker that runs a workload, and the number of this run."""

    cluster: str
    epoch: int
    since: str = ""
    """When the worker was chosen."""
    previous: str = ""
    """The worker of the previous run."""
    uid: str = ""
    """The uid of the worker's cluster."""
    held: tuple[Run, ...] = ()
    """Earlier runs that may still exist."""
    started: str = ""
    """When the mirror of a fenced run started, by the worker's clock. While it is set, the run has a lease that ends by
    itself; see `fencing`."""
    admission: str = ""
    """The id of the admission under which the worker was chosen; empty if there are no queues."""
    waiting: bool = False
    """Whether it waits for admission, after an earlier run: nothing is created for it, and a worker is chosen anew when
    it is admitted."""

    earlier: tuple[PastRun, ...] = ()
    """The last runs before this one, the oldest first."""

    @property
    def run(self) -> Run:
        return Run(self.cluster, self.epoch, self.uid, self.started)

    @property
    def assigned_at(self) -> datetime | None:
        """When the worker was chosen; None if that cannot be read."""
        try:
            return parse_time(self.since)
        except TimeError:
            return None

    def left(self, at: str, why: str) -> tuple[PastRun, ...]:
        """The `earlier` runs of the assignment that replaces this one at a time, for a reason."""
        if self.waiting:
            return self.earlier  # it was no run
        past = PastRun(self.cluster, self.epoch, self.since, at, why.rstrip(".")[:_LONGEST_WHY])
        return (*self.earlier, past)[-_MOST_EARLIER:]

    def encode(self) -> str:
        return _encoder.encode(self).decode()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(WorkerAssignment)


def assignment_of(obj: Object) -> WorkerAssignment | None:
    """The assignment on an original; None if it has none, or an invalid one."""
    text = obj.metadata.annotations.get(ASSIGNMENT)
    return _decode(text) if text and len(text) <= _LONGEST else None


@lru_cache(2048)
def _decode(text: str) -> WorkerAssignment | None:
    try:
        found = _decoder.decode(text)
    except UNREADABLE:
        return None
    valid = found.cluster and 0 < found.epoch <= MAX_EPOCH and len(found.held) <= _MOST_HELD
    return found if valid else None


def invalid_epoch(obj: Object) -> str:
    """The epoch in the assignment of an original, as text, if it is not one that a relay writes; else empty."""
    text = obj.metadata.annotations.get(ASSIGNMENT)
    if not text or assignment_of(obj) is not None:
        return ""
    try:
        epoch = msgspec.json.decode(text, type=_EpochView).epoch
    except UNREADABLE:
        return ""
    sane = epoch is msgspec.UNSET or (type(epoch) is int and 0 < epoch <= MAX_EPOCH)
    return "" if sane else msgspec.json.encode(epoch).decode()[:40]


class _EpochView(msgspec.Struct):
    epoch: Any = msgspec.UNSET


def epoch_of(mirror: Object) -> int:
    """The epoch of a mirror; 0 if its annotation is missing or is not what a relay writes."""
    text = mirror.metadata.annotations.get(EPOCH, "")
    return int(text) if _EPOCH.fullmatch(text) else 0


_EPOCH = re.compile("[1-9][0-9]{0,14}")
