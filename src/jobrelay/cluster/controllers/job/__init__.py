"""The built-in Job controller: a pure core (`decide`) and a thin shell around it (`JobController`)."""

from jobrelay.cluster.controllers.job.controller import JobController, set_up
from jobrelay.cluster.controllers.job.decision import Decision, decide
from jobrelay.cluster.controllers.job.situation import Memory
from jobrelay.cluster.controllers.job.views import Job, Pod, Status

__all__ = ["Decision", "Job", "JobController", "Memory", "Pod", "Status", "decide", "set_up"]
