"""A Job as a reconcile function gets it: what it asks for, what its status says, and how to report about it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from jobrelay.apimachinery.times import parse_time
from jobrelay.kinds.batch.job.conditions import FAILURE, SUCCESS
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.merging import MergeJob
from jobrelay.kit.report import Failed, JobReport, Outcome, Succeeded
from jobrelay.kit.writer import StatusWriter
from jobrelay.kube import EventRecorder, Key, Object
from jobrelay.kube.clock import Clock

__all__ = ["ManagedJob"]


class ManagedJob:
    """A Job that the controller manages, for one reconcile.

    `object` is the Job as it was read, or as `report` has left it.
    """

    def __init__(self, object: Object, status: StatusWriter, events: EventRecorder, clock: Clock) -> None:
        self.object: Object = object
        self._status, self._events, self._clock = status, events, clock
        self._spec: dict[str, Any] = object.decode()["spec"]

    @property
    def key(self) -> Key:
        return self.object.key

    @property
    def name(self) -> str:
        return self.object.name

    @property
    def namespace(self) -> str:
        return self.object.namespace

    @property
    def uid(self) -> str:
        return self.object.uid

    @property
    def deleting(self) -> bool:
        """Whether it has been deleted and only a finalizer or its pods still keep it."""
        return self.object.deleting

    @property
    def spec(self) -> dict[str, Any]:
        """The whole spec; a report does not change it."""
        return self._spec

    @property
    def pod(self) -> dict[str, Any]:
        """The spec of the pod template."""
        pod: dict[str, Any] = self.spec["template"]["spec"]
        return pod

    @property
    def suspended(self) -> bool:
        """Whether nothing of it may run."""
        return bool(self.spec.get("suspend"))

    @property
    def indexed(self) -> bool:
        return self.spec.get("completionMode") == "Indexed"

    @property
    def parallelism(self) -> int:
        """How much of it may run at the same time."""
        parallelism: int = self.spec.get("parallelism", 1)
        return parallelism

    @property
    def completions(self) -> int:
        """How many successes it needs; one success ends a Job that does not say."""
        completions = self.spec.get("completions")
        return 1 if completions is None else completions

    @property
    def completed_indexes(self) -> Indexes:
        return Indexes.parse(self._view.status.completed_indexes, self.completions)

    @property
    def succeeded(self) -> int:
        """The successes that its status counts."""
        return self._view.status.succeeded

    @property
    def failed(self) -> int:
        """The failures that its status counts."""
        return self._view.status.failed

    @property
    def finished(self) -> bool:
        """Whether it is Complete or Failed."""
        return self._view.status.finished

    @property
    def started(self) -> datetime | None:
        """When it was first reported, or resumed."""
        start = self._view.status.start_time
        return None if start is None else parse_time(start)

    @property
    def running_seconds(self) -> float:
        """How long ago it started; 0 if it has not."""
        return 0.0 if self.started is None else (self._clock.now() - self.started).total_seconds()

    @property
    def seconds_to_deadline(self) -> float | None:
        """How long it may still run; None without `activeDeadlineSeconds`, or while it has not started."""
        limit, started = self.spec.get("activeDeadlineSeconds"), self.started
        if limit is None or started is None or self.suspended:
            return None
        return (started + timedelta(seconds=limit) - self._clock.now()).total_seconds()

    @property
    def overdue(self) -> Failed | None:
        """The outcome of a Job whose deadline has passed."""
        left = self.seconds_to_deadline
        if left is None or left > 0:
            return None
        return Failed("DeadlineExceeded", "Job was active longer than specified deadline")

    @property
    def announced(self) -> Outcome | None:
        """The outcome that its status announces, no matter who decided it; it is final."""
        for type_, outcome in ((SUCCESS.interim, Succeeded), (FAILURE.interim, Failed)):
            found = self._view.status.true_condition(type_)
            if found is not None:
                return outcome(found.reason, found.message)
        return None

    async def report(self, report: JobReport) -> None:
        """Merge a report into the status; raises IllegalStatus, or Conflict if the Job has changed."""
        self.object = await self._status.report(self.object, report)

    async def write_status(self, status: dict[str, Any]) -> None:
        """Replace the status by a complete one; raises IllegalStatus, or Conflict if the Job has changed."""
        self.object = await self._status.write(self.object, status)

    def event(self, reason: str, note: str, *, type: str = "Normal") -> None:
        """Record an Event about the Job; `type` is "Normal" or "Warning"."""
        self._events.event(self.object, type, reason, note, version=self.object.resource_version)

    @property
    def _view(self) -> MergeJob:
        return self.object.decode(MergeJob)
