"""What one cycle knows about a head: its queue, the flavors that were found for it, and whom it would preempt."""

from __future__ import annotations

from dataclasses import dataclass

from .decisions import Assignment, Progress, RequeueReason, Target
from .model import WorkloadInfo
from .tree import QueueNode


@dataclass(slots=True)
class Entry:
    """A head while a cycle decides on it."""

    workload: WorkloadInfo
    queue: QueueNode
    assignment: Assignment
    targets: list[Target]
    progress: Progress | None
    """Where the next search continues, if this one finds nothing."""
    reason: RequeueReason = ""
    text: str = ""
    waits_for_pods: bool = False
    admitted: bool = False
    preempting: int = 0

    def skip(self, text: str) -> None:
        """It was nominated, but others came first."""
        self.reason, self.text = "FailedAfterNomination", text
