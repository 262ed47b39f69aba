"""How far a workload has got, in one word: for tables, filters and charts."""

from __future__ import annotations

from typing import Final

from jobrelay.workloads import Workload

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
TERMINATING: Final = "Terminating"
RUNNING: Final = "Running"
NOT_RUNNING: Final = "NotRunning"
"""It was started, but none of its pods runs."""
WAITING: Final = "Waiting"
STATUSES: Final = (WAITING, RUNNING, NOT_RUNNING, SUSPENDED, COMPLETE, FAILED, TERMINATING)
ENDED: Final = frozenset({COMPLETE, FAILED})


def workload_status(facts: Workload) -> str:
    """The status in one word."""
    if facts.end is not None:
        return COMPLETE if facts.end.succeeded else FAILED
    if facts.suspended or facts.halted:
        return SUSPENDED
    if facts.deleting:
        return TERMINATING
    if facts.started is None:
        return WAITING
    return NOT_RUNNING if facts.active and facts.ready == 0 else RUNNING
