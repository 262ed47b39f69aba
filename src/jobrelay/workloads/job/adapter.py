"""The adapter of batch/v1 Jobs."""

from __future__ import annotations

from jobrelay.workloads.job import demand as demands
from jobrelay.workloads.job import mirror as mirrors
from jobrelay.workloads.job import status
from jobrelay.workloads.job.reader import JobReader

__all__ = ["JobAdapter"]


class JobAdapter(JobReader):
    """batch/v1 Jobs, see `jobrelay.workloads.adapter.Adapter`."""

    demand = staticmethod(demands.demand)
    mirror = staticmethod(mirrors.mirror)
    mirror_patch = staticmethod(mirrors.mirror_patch)
    merged_status = staticmethod(status.merged_status)
    reduced_statuses = staticmethod(status.reduced_statuses)
    suspended_status = staticmethod(status.suspended_status)
    urgency = staticmethod(status.urgency)
