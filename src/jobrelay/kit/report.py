"""What a controller says about a Job: plain facts, from which `merging` makes a status."""

from __future__ import annotations

from dataclasses import dataclass

from jobrelay.kinds.batch.job.conditions import FAILURE, RESERVED, SUCCESS, EndConditions
from jobrelay.kinds.batch.job.indexes import Indexes

__all__ = ["Condition", "Failed", "JobReport", "Outcome", "Succeeded"]


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The Job has met its success criteria; it is Complete as soon as nothing of it runs any more."""

    reason: str = "CompletionsReached"
    message: str = "Reached expected number of succeeded pods"

    @property
    def conditions(self) -> EndConditions:
        return SUCCESS


@dataclass(frozen=True, slots=True)
class Failed:
    """The Job is going to fail; it is Failed as soon as nothing of it runs any more."""

    reason: str
    message: str

    @property
    def conditions(self) -> EndConditions:
        return FAILURE


Outcome = Succeeded | Failed


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of the controller's own, such as `example.com/Queued`.

    The five types that the API defines follow from the rest of a report.
    """

    type: str
    status: bool
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        if self.type in RESERVED:
            raise ValueError(f"the condition {self.type} follows from the report; it cannot be set by itself")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What a controller knows about a Job at this moment.

    - `active`, `ready` and `terminating` count what runs now, in whatever the controller has in the place of pods.
    - `succeeded` and `failed` count what has ended since the Job was created. A controller that has forgotten some of
      it may report less: the status keeps the larger number.
    - `completed_indexes` and `failed_indexes` are those of an Indexed Job, whose `succeeded` follows from the former.
      Completed indexes are added to those that the status has; failed indexes replace them, and None leaves them.
    - `outcome` is how the Job ends, once that is decided.
    """

    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    completed_indexes: Indexes | None = None
    failed_indexes: Indexes | None = None
    outcome: Outcome | None = None
    conditions: tuple[Condition, ...] = ()
