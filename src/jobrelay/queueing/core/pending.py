"""The pending workloads of one ClusterQueue: which is next, and which are parked until something changes.

Workloads of one shape are kept together (`_Line`), since they are all admitted or all refused: when the first of a line
does not fit, the line is parked as a whole, and later arrivals of that shape join it there. Under StrictFIFO nothing is
parked for lack of quota, so the first blocks all behind it. Workloads that fail for a reason of their own are parked
one by one; those that wait for a time, or for their queue, are not in line at all.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from .decisions import Head, Progress, Requeue
from .model import ClusterQueueSpec, WorkloadInfo
from .prospects import may_fit
from .tree import QueueNode

_Key = tuple[int, float, str, str]
_AT_ONCE = frozenset({"FailedAfterNomination", "PendingPreemption"})


class _Line:
    """Pending workloads of one shape, the oldest first."""

    __slots__ = ("heap", "parked", "verdict")

    def __init__(self) -> None:
        self.heap: list[_Key] = []
        self.parked = False
        self.verdict: Requeue | None = None
        """Why it was parked."""

    @property
    def reserves(self) -> bool:
        """Parked because there was nothing to preempt: where that reserves quota, it is always considered again."""
        return self.verdict is not None and self.verdict.reason == "PreemptionNoCandidates"


class PendingQueue:
    """What waits in one queue."""

    def __init__(self, spec: ClusterQueueSpec) -> None:
        self.strict = spec.strategy == "StrictFIFO"
        self._workloads: dict[str, tuple[WorkloadInfo, str]] = {}
        """Those in line, with their shapes."""
        self._lines: dict[str, _Line] = {}
        self._firsts: list[tuple[_Key, str]] = []
        self._parked: dict[str, WorkloadInfo] = {}
        self._delayed: dict[str, WorkloadInfo] = {}
        self._progress: dict[str, Progress] = {}
        self._preemptor: str | None = None

    def __len__(self) -> int:
        return len(self._workloads) + len(self._parked) + len(self._delayed)

    def __contains__(self, key: str) -> bool:
        return key in self._workloads or key in self._parked or key in self._delayed

    def push(self, workload: WorkloadInfo, now: float) -> bool:
        """Add or change a workload; returns whether there is something new to consider.

        One that is as it was stays where it is, parked or not: that only its verdict was written is no news.
        """
        if workload in (self._parked.get(workload.key), self._workloads.get(workload.key, (None, ""))[0]):
            return False
        self.remove(workload.key, keep_preemptor=True)
        if workload.waits or (workload.requeue_at is not None and workload.requeue_at > now):
            self._delayed[workload.key] = workload
            return False
        return self._enqueue(workload)

    def remove(self, key: str, *, keep_preemptor: bool = False) -> WorkloadInfo | None:
        """Forget a workload."""
        self._progress.pop(key, None)
        if self._preemptor == key and not keep_preemptor:
            self._preemptor = None
        if (held := self._parked.pop(key, None) or self._delayed.pop(key, None)) is not None:
            return held
        found = self._workloads.pop(key, None)
        if found is None:
            return None
        self._tidy(found[1])
        return found[0]

    def head(self) -> Head | None:
        """The next workload to decide on; it stays in line."""
        if (key := self._preemptor) in self._workloads and key is not None:
            return Head(self._workloads[key][0], self._progress.get(key))
        while self._firsts:
            first, shape = self._firsts[0]
            line = self._lines.get(shape)
            if line is not None and not line.parked and line.heap and line.heap[0] == first:
                workload = self._workloads[first[3]][0]
                return Head(workload, self._progress.get(first[3]))
            heapq.heappop(self._firsts)
        return None

    def requeue(self, decision: Requeue) -> None:
        """A workload was decided on and got no quota."""
        key = decision.workload.key
        if key not in self._workloads:
            return
        if decision.reason == "PendingPreemption" and not self.strict:
            self._preemptor = key
        self._remember(key, decision.progress)
        if self._stays(decision):
            return
        if decision.reason in ("NoFit", "PreemptionNoCandidates"):
            line = self._lines[self._workloads[key][1]]
            line.parked, line.verdict = True, decision
            self._preemptor = None if self._preemptor == key else self._preemptor
        else:
            workload, shape = self._workloads.pop(key)
            self._parked[key] = workload
            self._tidy(shape)

    def verdict(self, key: str) -> Requeue | None:
        """Why the line that a workload is in was parked; None if it is not."""
        line = self._lines[self._workloads[key][1]] if key in self._workloads else None
        return line.verdict if line is not None and line.parked else None

    def due(self, now: float) -> bool:
        """Requeue workloads whose backoff has ended; returns whether there is something new to consider."""
        found = [one for one in self._delayed.values() if not one.waits and (one.requeue_at or 0.0) <= now]
        for workload in found:
            del self._delayed[workload.key]
        return sum(self._enqueue(workload) for workload in found) > 0

    def next_due(self) -> float | None:
        """When `due` has something to do next."""
        times = [one.requeue_at for one in self._delayed.values() if not one.waits and one.requeue_at is not None]
        return min(times, default=None)

    def wake(self, node: QueueNode, *, fair: bool, all_of_them: bool = False) -> bool:
        """Unpark what might fit now; whether there is anything."""
        woken = False
        for shape, line in self._lines.items():
            if line.parked and line.heap:
                reserves = line.reserves and node.reserves
                first = self._workloads[line.heap[0][3]][0]
                if all_of_them or reserves or may_fit(node, first, fair=fair):
                    line.parked = False
                    heapq.heappush(self._firsts, (line.heap[0], shape))
                    woken = True
        if all_of_them:
            waiting, self._parked = self._parked, {}
            woken |= sum(self._enqueue(workload) for workload in waiting.values()) > 0
        return woken

    def ordered(self) -> Iterator[WorkloadInfo]:
        """All pending workloads in the order of the queue, parked or not."""
        waiting = [one for one, _ in self._workloads.values()]
        everyone = [*waiting, *self._parked.values(), *self._delayed.values()]
        return iter(sorted(everyone, key=lambda one: (one.key != self._preemptor, _key(one))))

    def counts(self) -> tuple[int, int]:
        """How many are active and how many are parked, without those that back off."""
        parked = sum(self._lines[shape].parked for _, shape in self._workloads.values())
        delayed = sum(one.requeue_at is None for one in self._delayed.values())
        return len(self._workloads) - parked, parked + len(self._parked) + delayed

    def _stays(self, decision: Requeue) -> bool:
        if self.strict:
            return decision.reason != "NamespaceMismatch"
        return decision.reason in _AT_ONCE or (decision.progress is not None and decision.progress.unfinished)

    def _remember(self, key: str, progress: Progress | None) -> None:
        if progress is not None and progress.unfinished:
            self._progress[key] = progress
        else:
            self._progress.pop(key, None)

    def _enqueue(self, workload: WorkloadInfo) -> bool:
        shape = workload.shape()
        self._workloads[workload.key] = (workload, shape)
        line = self._lines.setdefault(shape, _Line())
        heapq.heappush(line.heap, _key(workload))
        if line.parked or line.heap[0][3] != workload.key:
            return False
        heapq.heappush(self._firsts, (line.heap[0], shape))
        return True

    def _tidy(self, shape: str) -> None:
        """Drop from the front of a line those that are gone, and the line with its last one."""
        line = self._lines[shape]
        before = line.heap[0]
        while line.heap and not self._in_line(line.heap[0], shape):
            heapq.heappop(line.heap)
        if not line.heap:
            del self._lines[shape]
        elif line.heap[0] is not before and not line.parked:
            heapq.heappush(self._firsts, (line.heap[0], shape))

    def _in_line(self, key: _Key, shape: str) -> bool:
        """Whether an entry is that of a workload as it is now: one that was changed has left an old entry behind."""
        workload, current = self._workloads.get(key[3], (None, ""))
        return workload is not None and current == shape and _key(workload) == key


def _key(workload: WorkloadInfo) -> _Key:
    return (-workload.priority, workload.queued_at, workload.uid, workload.key)
