"""Whether a workload may run now: the step of the pipeline for quotas and fair sharing.

A workload that names no queue is admitted. There are no queues yet, so one that names a queue is admitted too.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobrelay.relay.snapshot import WorkloadSnapshot


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may run."""


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """It may not run yet."""

    sentence: str
    requeue_after: float | None = None


def admit(snapshot: WorkloadSnapshot) -> Admitted | NotAdmitted:
    """Whether one workload may run now."""
    return Admitted()
