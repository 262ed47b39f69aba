"""A controller for whatever can run tasks: this host, or a batch system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Unpack

from jobrelay.control import Result
from jobrelay.kit.controller import JobController
from jobrelay.kit.job import ManagedJob
from jobrelay.kit.report import Failed, JobReport
from jobrelay.kit.runtime import RuntimeOptions
from jobrelay.kit.tasks.command import TaskCommand, read_command
from jobrelay.kit.tasks.errors import TaskError, Unsupported
from jobrelay.kit.tasks.planning import Task, TaskId, TaskPlan, TaskState, plan_tasks
from jobrelay.kube import Client

__all__ = ["TaskController", "TaskRunner"]

_UNFINISHED = (TaskState.QUEUED, TaskState.RUNNING, TaskState.STOPPING)


class TaskRunner(Protocol):
    """Runs tasks somewhere. All methods may be called again after a crash, at any time, and then find what there is.

    They raise TaskError for what is to be tried again.
    """

    async def list(self, job: ManagedJob) -> Sequence[Task]:
        """All tasks of a Job that are known, also those that have ended."""
        ...

    async def start(self, job: ManagedJob, command: TaskCommand, tasks: Sequence[TaskId]) -> None:
        """Start tasks; `list` shows them from then on."""
        ...

    async def stop(self, job: ManagedJob, tasks: Sequence[TaskId]) -> None:
        """Ask tasks to end."""
        ...

    async def remove(self, job: ManagedJob) -> None:
        """Forget a Job none of whose tasks runs any more."""
        ...


class TaskController(JobController):
    """Runs Jobs with `managedBy: <managed_by>` as tasks of a runner, and polls them every `poll` seconds."""

    def __init__(
        self,
        client: Client,
        managed_by: str,
        runner: TaskRunner,
        *,
        poll: float = 2.0,
        workers: int = 4,
        **options: Unpack[RuntimeOptions],
    ) -> None:
        super().__init__(client, managed_by, self._run_tasks, clean_up=self._remove_tasks, workers=workers, **options)
        self._runner, self._poll = runner, poll

    async def _run_tasks(self, job: ManagedJob) -> Result | None:
        try:
            command = read_command(job)
        except Unsupported as problem:
            await job.report(JobReport(outcome=Failed("Unsupported", str(problem))))
            job.event("Unsupported", str(problem), type="Warning")
            return None
        if job.started is None and not job.suspended:
            await job.report(JobReport())  # the deadline counts from here, also if starting fails
        try:
            plan = plan_tasks(job, await self._runner.list(job), self._clock.now())
            await self._carry_out(job, command, plan)
        except TaskError as problem:
            job.event("FailedTasks", str(problem)[:1024], type="Warning")
            raise
        await job.report(plan.report)
        if job.finished:
            self._record_end(job, plan)
            return None
        if job.suspended and not plan.report.terminating:
            return None
        waits = [wait for wait in (self._poll, plan.requeue_after) if wait is not None and wait > 0]
        return Result(requeue_after=min(waits))

    async def _carry_out(self, job: ManagedJob, command: TaskCommand, plan: TaskPlan) -> None:
        if plan.stop:
            await self._runner.stop(job, plan.stop)
            job.event("Stopped", f"Stopped {_shown(plan.stop)}")
        if plan.start:
            await self._runner.start(job, command, plan.start)
            job.event("Started", f"Started {_shown(plan.start)}")

    def _record_end(self, job: ManagedJob, plan: TaskPlan) -> None:
        outcome = plan.report.outcome
        if isinstance(outcome, Failed):
            job.event(outcome.reason, outcome.message, type="Warning")
        else:
            job.event("Completed", "Job completed")

    async def _remove_tasks(self, job: ManagedJob) -> Result | None:
        left = [task for task in await self._runner.list(job) if task.state in _UNFINISHED]
        if not left:
            await self._runner.remove(job)
            return None
        if active := [task.id for task in left if task.state is not TaskState.STOPPING]:
            await self._runner.stop(job, active)
        return Result(requeue_after=self._poll)


def _shown(tasks: Sequence[TaskId]) -> str:
    first = ", ".join(f"{each.index}" for each in tasks[:10])
    more = f" and {len(tasks) - 10} more" if len(tasks) > 10 else ""
    return f"task{'s' if len(tasks) > 1 else ''} {first}{more}"
