"""What merging a report into a Job's status needs, for the relay's mirrors and for controllers of the kit alike.

Times stay strings here, because they are copied far more often than they are compared, and strings of this one format
sort as times do. Decoding fails if a status does not have this schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.names import COMPLETE, FAILED
from jobrelay.kinds.batch.job.views import JobCondition, JobStatus

Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
Condition: TypeAlias = JobCondition[Time]


class MergeStatus(JobStatus[Time], frozen=True):
    """A Job's complete status."""


class MergeSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a spec that decide how a status is merged."""

    suspend: bool = False
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit_per_index: int | None = None
    active_deadline_seconds: int | None = None

    @property
    def indexed(self) -> bool:
        return self.completion_mode == "Indexed"

    @property
    def elastic(self) -> bool:
        """Whether it may have been scaled down, and `succeeded` with it."""
        return self.indexed and self.completions == self.parallelism

    @property
    def never_runs(self) -> bool:
        """Whether it is finished without a start."""
        return self.suspend and self.completions == 0


class MergeJob(msgspec.Struct, frozen=True):
    spec: MergeSpec = MergeSpec()
    status: MergeStatus = MergeStatus()


STATUS_FIELDS: Final = frozenset(MergeStatus.__struct_encode_fields__)


def succeeded_count(spec: MergeSpec, before: int, completed: Indexes) -> int:
    """`succeeded` of an Indexed Job: it counts the completed indexes, and goes back only if that is allowed."""
    return len(completed) if spec.elastic else max(before, len(completed))


def ended(spec: MergeSpec, status: MergeStatus, end: str | None) -> MergeStatus:
    """A status with a terminal condition, made whole: it has started, and has no pods that run or end."""
    last = next(one for one in status.conditions if one.type in (COMPLETE, FAILED) and one.true)
    end = end or last.last_transition_time
    start = status.start_time
    if start is None and not spec.never_runs:
        start = end
    return replace(
        status,
        start_time=start,
        completion_time=max(end or "", start or "") if last.type == COMPLETE else None,
        active=0,
        ready=None if status.ready is None else 0,
        terminating=None if status.terminating is None else 0,
    )


def encoded_status(stored: dict[str, Any], new: MergeStatus) -> dict[str, Any]:
    """A status as it is sent, with the fields of the stored one that are not known here."""
    others = {name: value for name, value in stored.items() if name not in STATUS_FIELDS}
    known: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(new))
    return others | known
