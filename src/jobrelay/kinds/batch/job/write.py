"""A write to a Job's status, as the rules see it: the stored Job, the Job that shall replace it, and what differs."""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.batch.job.names import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET
from jobrelay.kinds.strategy import Obj

Status = dict[str, Any]


def is_condition(status: Status, type_: str, value: str = "True") -> bool:
    """Whether some entry of that type has that status; types may repeat."""
    return any(c["type"] == type_ and c["status"] == value for c in status.get("conditions") or ())


class JobVersion:
    """One version of a Job."""

    __slots__ = ("complete", "failed", "failure_target", "finished", "indexed", "spec", "status", "success")

    def __init__(self, job: Obj) -> None:
        self.spec: dict[str, Any] = job["spec"]
        self.status: Status = job.get("status") or {}
        true = {c["type"] for c in self.status.get("conditions") or () if c["status"] == "True"}
        self.complete, self.failed = COMPLETE in true, FAILED in true
        self.failure_target, self.success = FAILURE_TARGET in true, SUCCESS_CRITERIA_MET in true
        self.finished = self.complete or self.failed
        self.indexed = self.spec.get("completionMode") == "Indexed"

    def get(self, field: str) -> Any:
        return self.status.get(field)

    def count(self, field: str) -> int:
        value: int = self.status.get(field) or 0
        return value

    def uncounted(self, outcome: str) -> list[str]:
        return (self.status.get("uncountedTerminatedPods") or {}).get(outcome) or []


class StatusWrite:
    """Two versions of a Job, and their differences as the rules need them."""

    __slots__ = ("new", "old")

    def __init__(self, new: Obj, old: Obj) -> None:
        self.new, self.old = JobVersion(new), JobVersion(old)

    def changed(self, *fields: str) -> bool:
        """Whether one of these status fields differs."""
        return any(self.new.get(field) != self.old.get(field) for field in fields)

    def counted(self, field: str) -> bool:
        """Whether a counter differs, where absent means 0."""
        return self.new.count(field) != self.old.count(field)

    def turned(self, *facts: str) -> bool:
        """Whether one of these conditions became true or stopped being true."""
        return any(getattr(self.new, fact) != getattr(self.old, fact) for fact in facts)
