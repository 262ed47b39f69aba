"""Writes statuses of Jobs, and only legal ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jobrelay.kit.merging import merged_status
from jobrelay.kit.report import JobReport
from jobrelay.kit.rules import IllegalStatus, check_status
from jobrelay.kube import Client, Object
from jobrelay.kube.clock import Clock, SystemClock
from jobrelay.kube.metrics import family
from jobrelay.kube.resource import JOBS

if TYPE_CHECKING:
    from prometheus_client import Metric

__all__ = ["StatusWriter"]


class StatusWriter:
    """Writes the status of Jobs; a status that breaks a rule raises IllegalStatus and is never sent.

    A write is for the Job as it was read: if it has changed since, `jobrelay.kube.Conflict` is raised. `written` is
    called with each Job as it was stored, such as a cache's `observe`.
    """

    def __init__(
        self, client: Client, *, clock: Clock | None = None, written: Callable[[Object], None] | None = None
    ) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._written = written
        self._writes = 0
        self._refused: Counter[str] = Counter()

    async def report(self, job: Object, report: JobReport) -> Object:
        """Merge a report into a Job's status; returns the Job as it is now, without a request if nothing is new."""
        return await self.write(job, merged_status(job.decode(), report, self._clock.now()))

    async def write(self, job: Object, status: Mapping[str, Any]) -> Object:
        """Replace a Job's status by a complete one of the controller's own making."""
        stored = job.decode()
        if status == (stored.get("status") or {}):
            return job
        broken = check_status(stored, status)
        if broken:
            self._refused.update(rule.name for rule in broken)
            raise IllegalStatus(str(job.key), broken)
        stored["metadata"].pop("managedFields", None)
        made = await self._client.replace_status(JOBS, stored | {"status": status}, key=job.key)
        self._writes += 1
        if self._written is not None:
            self._written(made)
        return made

    def collect(self) -> Iterator[Metric]:
        """Metrics: how many statuses were written, and how often each rule would have been broken."""
        yield family("jobrelay_kit_status_writes_total", "counter", "Statuses written.", [("", {}, self._writes)])
        refused = [("", {"rule": name}, count) for name, count in sorted(self._refused.items())]
        yield family("jobrelay_kit_illegal_statuses_total", "counter", "Rules that writes would have broken.", refused)
