"""What the adapter reads of Jobs.

`JobSummary` is for decisions and has real times. `MutableJob` has the fields that may change after a Job was created.
What merging statuses reads is in `kinds.batch.job.merging`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


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
    ready: int | None = None
    failed: int = 0
    failed_indexes: str | None = None


class JobSummary(msgspec.Struct, frozen=True, gc=False):
    spec: SummarySpec = SummarySpec()
    status: SummaryStatus = SummaryStatus()


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


class TemplateSpec(msgspec.Struct, frozen=True):
    template: dict[str, Any] = {}


class TemplateJob(msgspec.Struct, frozen=True):
    spec: TemplateSpec = TemplateSpec()


class UntypedStatus(msgspec.Struct, frozen=True):
    status: dict[str, Any] = {}
