"""The status that follows from a Job and a report about it.

Most rules for statuses forbid to take something back, and a controller that was started again knows less than the
status does. So a report never replaces a status; each field is merged.

- Numbers of what runs now are the report's; counters are the larger of both.
- The first report of a Job that is not suspended sets `startTime`, since its deadline counts from there; a resumed Job
  starts anew.
- `Suspended` follows the spec: True once a suspended Job has nothing active, False when it is resumed.
- An outcome is announced at once (`SuccessCriteriaMet`, `FailureTarget`), and becomes terminal (`Complete`, `Failed`)
  with the first report in which nothing is active or terminating. What was announced is carried out even if the
  controller that announced it has forgotten the outcome.
- Fields and conditions that a report does not know stay.

What cannot be merged, such as a success after an announced failure, is left in the result: the rules name it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from jobrelay.apimachinery.times import format_time
from jobrelay.kinds.batch.job import conditions as job_conditions
from jobrelay.kinds.batch.job.conditions import ENDS, EndConditions
from jobrelay.kinds.batch.job.indexes import NONE, Indexes
from jobrelay.kinds.batch.job.merging import (
    Condition,
    MergeJob,
    MergeSpec,
    MergeStatus,
    encoded_status,
    ended,
    succeeded_count,
)
from jobrelay.kinds.batch.job.names import SUSPENDED
from jobrelay.kinds.batch.job.views import Uncounted
from jobrelay.kit.report import JobReport

__all__ = ["merged_status"]


def merged_status(job: dict[str, Any], report: JobReport, now: datetime) -> dict[str, Any]:
    """The complete status of a Job after a report; the same one if the report says nothing new."""
    known = msgspec.convert(job, MergeJob)
    new = _merged(known, report, format_time(now))
    stored: dict[str, Any] = job.get("status") or {}
    return stored if new == known.status else encoded_status(stored, new)


def _merged(job: MergeJob, report: JobReport, now: str) -> MergeStatus:
    spec, old = job.spec, job.status
    status = replace(
        old,
        active=report.active,
        ready=report.ready,
        terminating=report.terminating,
        succeeded=_counted(old.succeeded, report.succeeded),
        failed=_counted(old.failed, report.failed),
        conditions=_with_own(old.conditions, report, now),
    )
    status = _with_indexes(spec, old, report, status)
    if not old.finished:
        status = _with_suspension(spec, report, status, now)
        if status.start_time is None and not spec.suspend:
            status = replace(status, start_time=now)
    return _with_end(spec, report, status, now)


def _counted(before: int, reported: int) -> int:
    """A counter, which does not go back; a negative number is left for the rules to name."""
    return max(before, reported) if reported >= 0 else reported


def _with_own(conditions: tuple[Condition, ...], report: JobReport, now: str) -> tuple[Condition, ...]:
    new = [
        job_conditions.condition(own.type, own.reason, own.message, now, "True" if own.status else "False")
        for own in report.conditions
    ]
    return _with_conditions(conditions, new)


def _with_conditions(conditions: tuple[Condition, ...], new: Iterable[Condition]) -> tuple[Condition, ...]:
    for one in new:
        conditions = job_conditions.with_condition(conditions, one) or conditions
    return conditions


def _with_indexes(spec: MergeSpec, old: MergeStatus, report: JobReport, status: MergeStatus) -> MergeStatus:
    if not spec.indexed:
        completed, failed = report.completed_indexes, report.failed_indexes
        return replace(
            status,
            completed_indexes=old.completed_indexes if completed is None else str(completed),
            failed_indexes=old.failed_indexes if failed is None else str(failed),
        )
    below = spec.completions or 0
    completed = Indexes.parse(old.completed_indexes, below) | (report.completed_indexes or NONE)
    failed = report.failed_indexes
    if failed is None and spec.backoff_limit_per_index is not None:
        failed = Indexes.parse(old.failed_indexes or "", below)
    return replace(
        status,
        succeeded=succeeded_count(spec, old.succeeded, completed),
        completed_indexes=str(completed),
        failed_indexes=None if failed is None else str(failed),
    )


def _with_suspension(spec: MergeSpec, report: JobReport, status: MergeStatus, now: str) -> MergeStatus:
    suspended = status.true_condition(SUSPENDED) is not None
    if spec.suspend == suspended or (spec.suspend and (report.active > 0 or report.outcome is not None)):
        return status
    conditions = _with_conditions(status.conditions, [job_conditions.suspension(spec.suspend, now)])
    return replace(status, conditions=conditions, start_time=status.start_time if spec.suspend else now)


def _with_end(spec: MergeSpec, report: JobReport, status: MergeStatus, now: str) -> MergeStatus:
    end = report.outcome.conditions if report.outcome is not None else _announced(status)
    if end is None or status.true_condition(end.terminal) is not None:
        return status
    interim = status.true_condition(end.interim)
    if interim is None:
        assert report.outcome is not None  # what is not announced is reported
        interim = job_conditions.condition(end.interim, report.outcome.reason, report.outcome.message, now)
        status = replace(status, conditions=_with_conditions(status.conditions, [interim]))
    if report.active or report.terminating:
        return status
    final = job_conditions.terminal(interim, now)
    status = replace(status, conditions=_with_conditions(status.conditions, [final]))
    counted = None if status.uncounted_terminated_pods is None else Uncounted()
    return ended(spec, replace(status, uncounted_terminated_pods=counted), now)


def _announced(status: MergeStatus) -> EndConditions | None:
    """The end that was announced and has not come yet."""
    return next((end for end in ENDS if status.true_condition(end.interim) is not None), None)
