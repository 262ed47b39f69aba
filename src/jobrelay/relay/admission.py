"""Whether a workload may run now: the verdict of the gate, and what it means for one that runs.

A workload that is not admitted is not placed. One that has a run already loses it: a new assignment is committed that
`waiting` marks, nothing is created for it, and mirrors of earlier epochs are removed. When the last of them is proven
gone, the runs that the assignment holds are written off, so that whoever reads the original can see that nothing of it
runs (`has_runs`). After another admission it is placed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from jobrelay.kube import Object
from jobrelay.relay.assignment import assignment_of


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may run."""


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """It may not run yet, or not any more."""

    sentence: str


Verdict: TypeAlias = Admitted | NotAdmitted
ADMITTED = Admitted()


def has_runs(original: Object) -> bool:
    """Whether something of an original may run, or be about to, on a worker."""
    to = assignment_of(original)
    return to is not None and (not to.waiting or bool(to.held))
