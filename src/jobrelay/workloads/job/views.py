"""What the adapter reads of Jobs.

`Facts` is for decisions and has real times. `Job` is for the status that is returned: its times stay texts, because they
are copied far more often than they are compared, and texts of this one form compare as times do. A worker whose status
does not have this shape is refused on decoding.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from jobrelay.kinds.batch.job.views import JobCondition, JobStatus

Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
Condition: TypeAlias = JobCondition[Time]


class FactCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    status: str
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class FactSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    suspend: bool = False
    managed_by: str | None = None
    active_deadline_seconds: int | None = None


class FactStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: tuple[FactCondition, ...] = ()
    start_time: datetime | None = None
    completion_time: datetime | None = None
    active: int = 0


class Facts(msgspec.Struct, frozen=True, gc=False):
    spec: FactSpec = FactSpec()
    status: FactStatus = FactStatus()


class Status(JobStatus[Time], frozen=True):
    """A Job's whole status."""


class Spec(msgspec.Struct, frozen=True, rename="camel"):
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


class Job(msgspec.Struct, frozen=True):
    spec: Spec = Spec()
    status: Status = Status()


class OpenSpec(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What may change after a Job was made; encoded, it has what is there."""

    suspend: bool | None = None
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    pod_replacement_policy: str | None = None


class OpenStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    start_time: str | None = None


class OpenJob(msgspec.Struct, frozen=True, gc=False):
    spec: OpenSpec = OpenSpec()
    status: OpenStatus = OpenStatus()


class RawStatus(msgspec.Struct, frozen=True):
    status: dict[str, Any] = {}


STATUS_FIELDS: Final = frozenset(Status.__struct_encode_fields__)
