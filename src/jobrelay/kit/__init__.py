"""What a Job controller of one's own is made of.

Kubernetes' Job controller leaves Jobs alone whose `.spec.managedBy` names another controller. Such a controller is a
function that is called with a Job, makes something run, and reports what it sees:

    async def reconcile(job: ManagedJob) -> Result | None:
        await job.report(JobReport(active=1))

A `JobController` calls it, until cancelled:

    async with connect() as client:
        await JobController(client, "example.com/jobs", reconcile).run()

It has the watch caches, the work queue, the lease, metrics and events. Reports are merged into statuses by a
`StatusWriter`, which writes only what the rules S1 to S34 of the API server allow, and otherwise names the rule. The
rules are also a library: `check_status`, `lint_status` and `lint_job`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.control import Result
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.status import RULES, StatusRule
from jobrelay.lazy import lazy_exports

from .controller import JobController, ReconcileJob
from .job import ManagedJob
from .merging import merged_status
from .report import Condition, Failed, JobReport, Outcome, Succeeded
from .rules import BrokenRule, IllegalStatus, check_status
from .runtime import ControllerRuntime, RuntimeOptions
from .writer import StatusWriter

if TYPE_CHECKING:
    from .lint import LintFinding, lint_job, lint_status
    from .pods import PodJobController

__all__ = [
    "RULES",
    "BrokenRule",
    "Condition",
    "ControllerRuntime",
    "Failed",
    "IllegalStatus",
    "Indexes",
    "JobController",
    "JobReport",
    "LintFinding",
    "ManagedJob",
    "Outcome",
    "PodJobController",
    "ReconcileJob",
    "Result",
    "RuntimeOptions",
    "StatusRule",
    "StatusWriter",
    "Succeeded",
    "check_status",
    "lint_job",
    "lint_status",
    "merged_status",
]  # fmt: skip

if not TYPE_CHECKING:  # these bring the relay and the embedded cluster with them
    __getattr__ = lazy_exports(__name__, "lint", "pods")
