"""The built-in Job controller: a pure core (`decide`), and `JobController`, which carries its decisions out."""

from jobrelay.cluster.controllers.job.controller import JobController, set_up
from jobrelay.cluster.controllers.job.decision import JobDecision, decide
from jobrelay.cluster.controllers.job.snapshot import SyncState
from jobrelay.cluster.controllers.job.views import BatchJobStatus, Job, Pod

__all__ = ["BatchJobStatus", "Job", "JobController", "JobDecision", "Pod", "SyncState", "decide", "set_up"]
