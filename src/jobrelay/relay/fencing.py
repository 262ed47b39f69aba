"""A mirror's deadline as a lease.

A fenced mirror carries an `activeDeadlineSeconds` that ends soon, and the relay keeps extending it. When worker and
relay lose contact, the worker's own Job controller stops the pods at the deadline. So the relay only has to wait that
long before it may start the workload elsewhere.

The deadline is an absolute time: the start of the mirror plus seconds, chosen as the time of sending plus the lease. A
renewal that arrives late therefore grants nothing more, and the pods are stopped within one lease after the last
renewal was sent, whatever was lost on the way. Renewals are only sent while the worker answers; so `lost_since + lease`
bounds every lease that the worker may have received, even across a restart of the relay.

The user's own deadline still counts from the first start: a later run gets what is left of it.

The limit: where a worker's control plane is dead but its kubelets run on, nothing enforces the deadline.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from jobrelay.workloads import Workload

_MAX_INT32 = 2**31 - 1


def deadline(job: Workload, mirror: Workload | None, lease: float | None, now: datetime) -> int | None:
    """The deadline that a mirror should have now, in seconds after its start; None for no deadline."""
    own = _own_deadline(job, mirror, now)
    leased = _lease_deadline(mirror, lease, now)
    return min((each for each in (own, leased) if each is not None), default=None)


def renewal(mirror: Workload, lease: float | None, now: datetime) -> float | None:
    """In how many seconds a mirror's lease should be renewed."""
    if lease is None or mirror.end is not None or mirror.started is None or mirror.suspended:
        return None
    ends = mirror.started + timedelta(seconds=mirror.deadline or 0)
    return max(0.0, (ends - now).total_seconds() - lease * 2 / 3)


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
    return end.at < started + timedelta(seconds=job.deadline - 1)


def _own_deadline(job: Workload, mirror: Workload | None, now: datetime) -> int | None:
    if job.deadline is None or job.started is None:
        return job.deadline
    began = mirror.started if mirror is not None and mirror.started is not None else now
    gone = (began - job.started).total_seconds()
    return max(1, job.deadline - max(0, math.floor(gone)))


def _lease_deadline(mirror: Workload | None, lease: float | None, now: datetime) -> int | None:
    if lease is None:
        return None
    if mirror is None or mirror.started is None or mirror.suspended:
        return math.ceil(lease)
    run = (now - mirror.started).total_seconds()
    if mirror.deadline is not None and lease * 2 / 3 < mirror.deadline - run <= lease + 1:
        return mirror.deadline
    return min(_MAX_INT32, max(1, math.floor(run + lease)))
