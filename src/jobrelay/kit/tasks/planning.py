"""Jobs as tasks: what to start and what to stop, and what to report. A pure function of a Job and its tasks.

A task is one attempt at one of the completions that a Job asks for: of an index, or of a place without a name. Whoever
runs tasks lists all that it knows, also those that have ended, so nothing has to be remembered: counters follow from
the list of tasks, and the status keeps what the list has lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Final

from jobrelay.kinds.batch.job.indexes import NONE, Indexes
from jobrelay.kit.job import ManagedJob
from jobrelay.kit.report import Failed, JobReport, Outcome, Succeeded

__all__ = ["Task", "TaskId", "TaskPlan", "TaskState", "plan_tasks"]

_FIRST_DELAY: Final = 10.0
_LONGEST_DELAY: Final = 600.0


class TaskState(Enum):
    """Where a task is. STOPPED is one that was stopped before its end: it is neither a success nor a failure."""

    QUEUED = "Queued"
    RUNNING = "Running"
    STOPPING = "Stopping"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """The completion that a task is for, and which attempt at it this is."""

    index: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt, as far as it is known where it runs."""

    id: TaskId
    state: TaskState
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What to do about a Job's tasks, and what to report if it is done.

    `requeue_after` is when a failed task may be tried again, or the deadline passes.
    """

    start: tuple[TaskId, ...]
    stop: tuple[TaskId, ...]
    report: JobReport
    requeue_after: float | None = None


def plan_tasks(job: ManagedJob, tasks: Sequence[Task], now: datetime) -> TaskPlan:
    """The plan for a Job that has not finished."""
    known = _KnownTasks(job, tasks)
    outcome = job.announced or job.overdue or known.outcome()
    stop, start, delay = known.active, list[TaskId](), None
    if outcome is None and not job.suspended and not job.deleting:
        stop, start, delay = _wanted(job, known, now)
    times = [each for each in (delay, job.seconds_to_deadline if outcome is None else None) if each is not None]
    return TaskPlan(
        start=tuple(start),
        stop=tuple(task.id for task in stop),
        report=known.report(len(start), {task.id for task in stop}, outcome),
        requeue_after=min(times) if times else None,
    )


def _wanted(job: ManagedJob, known: _KnownTasks, now: datetime) -> tuple[list[Task], list[TaskId], float | None]:
    """Tasks to stop and to start, and after how many seconds more may be started."""
    left = known.places_left()
    most = min(job.parallelism, len(left))
    active = sorted(known.active, key=lambda task: (task.state is not TaskState.RUNNING, task.id.index))
    stop = [task for task in active if task.id.index not in left]
    keep = [task for task in active if task.id.index in left]
    stop += keep[most:]
    busy = {task.id.index for task in known.tasks if task.state in _UNFINISHED}
    start: list[TaskId] = []
    delays: list[float] = []
    for index in left:
        if len(keep) + len(start) >= most:
            break
        if index in busy:
            continue
        wait = known.retry_delay(index, now)
        if wait > 0:
            delays.append(wait)
        else:
            start.append(TaskId(index, known.attempts[index]))
    return stop, start, min(delays) if delays else None


_ACTIVE: Final = (TaskState.QUEUED, TaskState.RUNNING)
_UNFINISHED: Final = (*_ACTIVE, TaskState.STOPPING)


class _KnownTasks:
    """The tasks of a Job that concern what it asks for now, and what follows from them."""

    def __init__(self, job: ManagedJob, tasks: Iterable[Task]) -> None:
        self._job, self.tasks = job, tuple(tasks)
        self.active = [task for task in self.tasks if task.state in _ACTIVE]
        self._failures = [task for task in self.tasks if task.state is TaskState.FAILED]
        self._failed_by_index = Counter(task.id.index for task in self._failures)
        self.attempts: Counter[int] = Counter()
        for task in self.tasks:
            self.attempts[task.id.index] = max(self.attempts[task.id.index], task.id.attempt + 1)
        self._per_index: int | None = job.spec.get("backoffLimitPerIndex")
        done = Indexes.of(task.id.index for task in self.tasks if task.state is TaskState.SUCCEEDED)
        self._done = _below(done, self._size) | job.completed_indexes
        if not job.indexed:  # the status may count successes that nobody else remembers; which places they had is open
            self._done |= Indexes.of(islice(self._done.missing(self._size), max(job.succeeded - len(self._done), 0)))
        self._lost = NONE
        if self._per_index is not None:
            limit = self._per_index
            lost = Indexes.of(index for index, count in self._failed_by_index.items() if count > limit)
            self._lost = _below(lost, self._size) - self._done

    @property
    def _size(self) -> int:
        """How many places there are: completions, or the workers of a work queue."""
        completions: int | None = self._job.spec.get("completions")
        return self._job.parallelism if completions is None else completions

    @property
    def _work_queue(self) -> bool:
        return self._job.spec.get("completions") is None

    def places_left(self) -> list[int]:
        """The places that still need a success, lowest first."""
        if self._work_queue and self._done:
            return [task.id.index for task in self.active]
        return [index for index in self._done.missing(self._size) if index not in self._lost]

    def outcome(self) -> Outcome | None:
        """How the Job ends, if that is decided."""
        spec = self._job.spec
        if self._per_index is not None:
            most: int | None = spec.get("maxFailedIndexes")
            if most is not None and len(self._lost) > most:
                message = "Job has exceeded the specified maximal number of failed indexes"
                return Failed("MaxFailedIndexesExceeded", message)
            if self._lost and len(self._lost) + len(self._done) >= self._size:
                return Failed("FailedIndexes", "Job has failed indexes")
        elif max(len(self._failures), self._job.failed) > spec.get("backoffLimit", 6):
            return Failed("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        if self._work_queue:
            return Succeeded() if self._done and not self.active else None
        return Succeeded() if len(self._done) >= self._size else None

    def retry_delay(self, index: int, now: datetime) -> float:
        """Seconds until a place may be tried again; they double with each failure, of the index or of the Job."""
        failures = [task for task in self._failures if self._per_index is None or task.id.index == index]
        ended = [task.ended for task in failures if task.ended is not None]
        if not ended:
            return 0.0
        delay: float = min(_FIRST_DELAY * 2 ** (len(failures) - 1), _LONGEST_DELAY)
        return delay - (now - max(ended)).total_seconds()

    def report(self, started: int, stopped: set[TaskId], outcome: Outcome | None) -> JobReport:
        """What is reported once `started` tasks were started and some were stopped."""
        kept = [task for task in self.active if task.id not in stopped]
        stopping = sum(task.state is TaskState.STOPPING for task in self.tasks)
        indexed = self._job.indexed
        return JobReport(
            active=len(kept) + started,
            ready=sum(task.state is TaskState.RUNNING for task in kept),
            terminating=stopping + len(stopped),
            succeeded=0 if indexed else max(len(self._done), self._job.succeeded),
            failed=len(self._failures),
            completed_indexes=self._done if indexed else None,
            failed_indexes=self._lost if indexed and self._per_index is not None else None,
            outcome=outcome,
        )


def _below(indexes: Indexes, limit: int) -> Indexes:
    return Indexes.parse(str(indexes), limit)
