"""A Job's status as it is decoded straight from bytes and encoded again.

The type of times is a parameter: datetimes for code that computes with them, strings for code that only copies them. A
status of another shape fails to decode; encoding omits what a server omits.
"""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

import msgspec

from jobrelay.kinds.batch.job.names import COMPLETE, FAILED

__all__ = ["Count", "JobCondition", "JobStatus", "Uncounted"]

Time = TypeVar("Time")
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class JobCondition(msgspec.Struct, Generic[Time], frozen=True, rename="camel", omit_defaults=True):
    type: str
    status: str
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    reason: str = ""
    message: str = ""

    @property
    def true(self) -> bool:
        return self.status == "True"


class Uncounted(msgspec.Struct, frozen=True, omit_defaults=True):
    """Pods that ended and are not in the counters yet: they still had their finalizer when this was written."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(msgspec.Struct, Generic[Time], frozen=True, rename="camel", omit_defaults=True):
    conditions: tuple[JobCondition[Time], ...] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    active: Count = 0
    succeeded: Count = 0
    failed: Count = 0
    terminating: Count | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: Uncounted | None = None
    ready: Count | None = None

    @property
    def uncounted(self) -> Uncounted:
        return self.uncounted_terminated_pods or Uncounted()

    def condition(self, type_: str) -> JobCondition[Time] | None:
        return next((one for one in self.conditions if one.type == type_), None)

    def true_condition(self, type_: str) -> JobCondition[Time] | None:
        return next((one for one in self.conditions if one.type == type_ and one.true), None)

    @property
    def finished(self) -> bool:
        return any(one.type in (COMPLETE, FAILED) and one.true for one in self.conditions)
