"""Whether a workload may run now: the place of quotas and fair sharing in the pipeline.

A workload that names no queue goes straight on to placement. There are no queues yet, so one that does name one goes the
same way.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobrelay.relay.situation import Situation

__all__ = ["Admitted", "Waiting", "admit"]


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may run."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It may not run yet."""

    sentence: str
    look_again: float | None = None


def admit(now: Situation) -> Admitted | Waiting:
    """The answer for one workload."""
    return Admitted()
