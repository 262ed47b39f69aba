"""A mirror's deadline as a lease.

A fenced mirror carries an `activeDeadlineSeconds` that ends soon, and the relay keeps moving it. When worker and relay
are cut off from each other, the worker's own Job controller stops the pods at the deadline, without having to know why. So
the relay only has to wait that long before it may start the workload elsewhere.

The deadline is an absolute moment: start of the mirror plus seconds, chosen as the moment of sending plus the lease. A
renewal that arrives late therefore grants nothing more, and after the last one that was sent the pods are stopped within a
lease, whatever was lost on the way. Renewals are only sent while the worker answers; so `lost_since + lease` bounds every
lease that the worker may know of, also for a relay that has been restarted since.

The user's own deadline still counts from the first start: a later run gets what is left of it.

What this cannot do: where a worker's control plane is dead but its kubelets live, nobody there looks at deadlines.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from jobrelay.workloads import Workload

__all__ = ["deadline", "renewal", "stopped_by_lease"]

_LONGEST = 2**31 - 1


def deadline(job: Workload, mirror: Workload | None, lease: float | None, now: datetime) -> int | None:
    """The deadline that a mirror should carry now, in seconds after its start; None is none."""
    own = _users(job, mirror, now)
    granted = _granted(mirror, lease, now)
    return min((each for each in (own, granted) if each is not None), default=None)


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


def _users(job: Workload, mirror: Workload | None, now: datetime) -> int | None:
    if job.deadline is None or job.started is None:
        return job.deadline
    began = mirror.started if mirror is not None and mirror.started is not None else now
    gone = (began - job.started).total_seconds()
    return max(1, job.deadline - max(0, math.floor(gone)))


def _granted(mirror: Workload | None, lease: float | None, now: datetime) -> int | None:
    if lease is None:
        return None
    if mirror is None or mirror.started is None or mirror.suspended:
        return math.ceil(lease)
    run = (now - mirror.started).total_seconds()
    if mirror.deadline is not None and lease * 2 / 3 < mirror.deadline - run <= lease + 1:
        return mirror.deadline
    return min(_LONGEST, max(1, math.floor(run + lease)))
