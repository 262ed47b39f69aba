"""What the adapter reads of Jobs.

`JobSummary` is for decisions and has real times. `MergeJob` is for merging statuses: its times stay strings, because
they are copied far more often than they are compared, and strings of this one format sort as times do. Decoding fails
if a worker's status does not have this schema. `MutableJob` has the fields that may change after a Job was created.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from jobrelay.kinds.batch.job.views import JobCondition, JobStatus

Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
Condition: TypeAlias = JobCondition[Time]


class SummaryCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    status: str
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class SummarySpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    suspend: bool = False
    managed_by: str | None = None
    active_deadline_seconds: int | None = None


class SummaryStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: tuple[SummaryCondition, ...] = ()
    start_time: datetime | None = None
    completion_time: datetime | None = None
    active: int = 0


class JobSummary(msgspec.Struct, frozen=True, gc=False):
    spec: SummarySpec = SummarySpec()
    status: SummaryStatus = SummaryStatus()


class MergeStatus(JobStatus[Time], frozen=True):
    """A Job's complete status."""


class MergeSpec(msgspec.Struct, frozen=True, rename="camel"):
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


class MergeJob(msgspec.Struct, frozen=True):
    spec: MergeSpec = MergeSpec()
    status: MergeStatus = MergeStatus()


class MutableSpec(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What may change after a Job was created; encoded, it has only the fields that are set."""

    suspend: bool | None = None
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    pod_replacement_policy: str | None = None


class MutableStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    start_time: str | None = None


class MutableJob(msgspec.Struct, frozen=True, gc=False):
    spec: MutableSpec = MutableSpec()
    status: MutableStatus = MutableStatus()


class UntypedStatus(msgspec.Struct, frozen=True):
    status: dict[str, Any] = {}


STATUS_FIELDS: Final = frozenset(MergeStatus.__struct_encode_fields__)
