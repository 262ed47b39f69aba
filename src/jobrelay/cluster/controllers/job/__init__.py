"""The built-in Job controller: a pure core (`decide`), and `BatchJobController`, which carries its decisions out."""

from jobrelay.cluster.controllers.job.controller import BatchJobController, set_up
from jobrelay.cluster.controllers.job.decision import JobDecision, decide
from jobrelay.cluster.controllers.job.snapshot import SyncState
from jobrelay.cluster.controllers.job.views import BatchJobStatus, Job, Pod

__all__ = ["BatchJobController", "BatchJobStatus", "Job", "JobDecision", "Pod", "SyncState", "decide", "set_up"]
