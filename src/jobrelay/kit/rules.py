"""The rules S1 to S34 for writes to a Job's status, checked before a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.apimachinery.decode import Notes, decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.control import TerminalError
from jobrelay.kinds.batch.job.status import StatusRule, broken_rules

__all__ = ["BrokenRule", "IllegalStatus", "canonical_job", "check_status"]

_JOB: Final = ("batch/v1", "Job")


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a write would break: which one, and what the API server would answer."""

    rule: StatusRule
    field: str
    """The field that the answer names, such as `status.active`."""
    message: str
    """The answer's text about that field."""

    @property
    def name(self) -> str:
        """The rule's number, such as `S15`."""
        return self.rule.name

    @property
    def meaning(self) -> str:
        """The rule in a sentence."""
        return self.rule.meaning

    def __str__(self) -> str:
        return f"{self.name}: {self.field}: {self.message} ({self.meaning})"


class IllegalStatus(TerminalError):
    """A status that the API server would refuse. It was not sent; `broken` names the rules."""

    def __init__(self, job: str, broken: tuple[BrokenRule, ...]) -> None:
        super().__init__(f"the status of Job {job} would break {'; '.join(map(str, broken))}")
        self.broken = broken


def check_status(job: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[BrokenRule, ...]:
    """Every rule that replacing a Job's status would break, in the API server's order.

    Raises `apimachinery.decode.DecodeError` if one of them is not of the API's types at all.
    """
    old = canonical_job(job)
    new = canonical_job({**job, "status": status})
    return tuple(BrokenRule(rule, error.field, error.body()) for rule, error in broken_rules(new, old))


def canonical_job(job: Mapping[str, Any], notes: Notes | None = None) -> dict[str, Any]:
    """A Job as the API server reads it, without its defaults; raises DecodeError.

    Fields that it does not know are named in `notes`.
    """
    found = type_for_kind(*_JOB)
    assert found is not None
    made: dict[str, Any] = decode(dict(job), found, notes)
    return made
