"""A mirror's deadline as a lease.

A fenced mirror carries an `activeDeadlineSeconds` that ends soon, and the relay keeps extending it. When worker and
relay lose contact, the worker's own Job controller stops the pods at the deadline. So the relay only has to wait that
long before it may start the workload elsewhere.

The deadline is an absolute time: the start of the mirror plus seconds, chosen as the time of sending plus the lease. A
renewal that arrives late therefore grants nothing more, and the pods are stopped within one lease after the last
renewal was sent, whatever was lost on the way. Start and deadline are in the worker's clock, so the lease is reckoned
in it; where that clock is unknown, too uncertain, or has jumped, the worker gets nothing that is fenced.

A lease begins when the worker's Job controller starts the mirror, and that moment is not the relay's to choose. So a
mirror is created suspended, and *released* by a write that is conditional on the version that was seen, after the
worker's Job controller has confirmed the suspension. A creation that takes effect late is harmless by that. Only when
the start has been seen, with a deadline that ends in time, it is recorded in the assignment: from then on the lease can
be waited out, even across a restart of the relay. A run that may have been released, but whose start is not on record,
cannot be: a Job controller that comes back much later would still start it. Before a mirror is released once more, the
record is removed.

The user's own deadline still counts from the first start: a later run gets what is left of it.

The limits: where a worker's control plane is dead but its kubelets run on, nothing enforces the deadline. And a clock
that is put back while its worker is out of reach stretches the lease by as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jobrelay.relay.model import ClockReading
from jobrelay.workloads import Workload

_MAX_INT32 = 2**31 - 1
_SLACK: Final = 1.0
"""By how much a lease may exceed its length, since deadlines and starts have whole seconds."""
_STEADY: Final = 120.0
"""How long a clock must not jump before it is relied on again."""
_FIRST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 300.0


@dataclass(frozen=True, slots=True)
class Lease:
    """How a fenced mirror is leased at one moment: for how long, and its worker's clock."""

    seconds: float
    clock: ClockReading | None

    def left(self, mirror: Workload) -> float | None:
        """For how many seconds from now a started mirror may run at most; None if nothing limits that.

        Without a clock nothing is known to limit it.
        """
        if mirror.started is None or mirror.deadline is None or self.clock is None:
            return None
        return (mirror.started - self.clock.earliest).total_seconds() + mirror.deadline

    def holds(self, mirror: Workload) -> bool:
        """Whether a mirror has started, and is stopped in time without the relay."""
        if mirror.suspended or mirror.halted or self.clock is None:
            return False
        left = self.left(mirror)
        return left is not None and left <= self.seconds + _SLACK + self.clock.uncertain

    def renewed(self, mirror: Workload | None, *, rests: bool) -> int | None:
        """The deadline for a mirror: the one that it has, unless that is to be renewed.

        One that `rests`, suspended, is renewed when it is resumed. A Job controller that resumes it compares the
        deadline with the old start first, and sets a new start then: until the deadline is shortened, the lease is too
        long, which `holds` tells.
        """
        if mirror is None or mirror.started is None:
            return math.ceil(self.seconds)
        if self.clock is None or (rests and mirror.deadline is not None):
            return mirror.deadline
        run, left = (self.clock.earliest - mirror.started).total_seconds(), self.left(mirror)
        if left is not None and self.seconds * 2 / 3 < left <= self.seconds + _SLACK + self.clock.uncertain:
            return mirror.deadline
        return min(_MAX_INT32, max(1, math.floor(run + self.seconds)))


def deadline(
    job: Workload, mirror: Workload | None, lease: Lease | None, now: datetime, *, rests: bool = False
) -> int | None:
    """The deadline that a mirror should have now, in seconds after its start; None for no deadline.

    `now` is the time by its worker's clock.
    """
    own = _own_deadline(job, mirror, now)
    leased = lease.renewed(mirror, rests=rests) if lease is not None else None
    return min((each for each in (own, leased) if each is not None), default=None)


def renewal(mirror: Workload, lease: Lease | None) -> float | None:
    """In how many seconds a mirror's lease should be renewed."""
    if lease is None or mirror.end is not None or mirror.started is None or mirror.suspended:
        return None
    left = lease.left(mirror)
    return max(1.0, left - lease.seconds * 2 / 3) if left is not None else 1.0


def clock_problem(clock: ClockReading | None, margin: float) -> str:
    """Why a worker's clock does not allow leases there; empty if it does.

    `margin` is by how much a lease may last longer than the relay thinks. One half of it is for the reading of the
    clock, the other for the lag of the Job controller.
    """
    if clock is None:
        return "its clock is unknown, since its answers have no Date"
    if clock.uncertain > margin / 2:
        return f"its clock is known to {clock.uncertain:.1f} s only, which is more than {margin / 2:g} s"
    if abs(clock.jump) > margin and clock.steady < _STEADY:
        return f"its clock jumped by {clock.jump:+.0f} s less than {_STEADY:g} s ago"
    return ""


def stopped_by_lease(job: Workload, mirror: Workload) -> bool:
    """Whether a mirror failed because its lease ran out, and not at the user's own deadline."""
    end = mirror.end
    if end is None or not end.deadline_exceeded:
        return False
    if job.deadline is None:
        return True
    started = job.started or mirror.started
    if started is None or end.at is None:
        return False
    return (end.at - started).total_seconds() < job.deadline - 1


@dataclass(frozen=True, slots=True)
class LeaseStops:
    """How often in a row leases have stopped the runs of a workload, and the last time."""

    epoch: int = 0
    count: int = 0
    at: datetime | None = None

    def after(self, epoch: int, mirror: Workload, assigned: datetime | None, now: datetime) -> LeaseStops:
        """This, with the stop of the run `epoch`. One that ran for long before that is the first of its row again.

        It ran for long only if the clock of the relay agrees: that of the worker may have jumped, which ends leases.
        """
        if self.epoch == epoch:
            return self
        ended = mirror.end.at if mirror.end is not None else None
        lasted = (ended - mirror.started).total_seconds() if ended is not None and mirror.started is not None else 0.0
        known = (now - assigned).total_seconds() if assigned is not None else 0.0
        return LeaseStops(epoch, 1 if min(lasted, known) > 2 * _LONGEST_PAUSE else self.count + 1, now)

    def left(self, now: datetime) -> float:
        """In how many seconds the next run may start."""
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(self.count - 1, 10))
        return pause - (now - self.at).total_seconds() if self.at is not None else 0.0


NO_STOPS: Final = LeaseStops()


def _own_deadline(job: Workload, mirror: Workload | None, now: datetime) -> int | None:
    if job.deadline is None or job.started is None:
        return job.deadline
    began = mirror.started if mirror is not None and mirror.started is not None else now
    gone = (began - job.started).total_seconds()
    return max(1, job.deadline - max(0, math.floor(gone)))
