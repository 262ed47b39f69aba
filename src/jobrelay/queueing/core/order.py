"""The order in which the heads of a cycle are decided on.

Classic: who borrows from less far up, then higher priority, then older. Under fair sharing a tournament is held for
each decision: from every cohort comes the entry whose side would have the smallest share after its admission, and at
each level sides are compared anew. What a queue's entry is compared by in its own cohort never changes within a cycle,
since others' usage does not count there; so queues are sorted once. The winner of a lower cohort is compared by that
cohort's share, which changes only when one of its own entries was decided.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from .entries import Entry
from .shares import Share, share
from .snapshot import Snapshot
from .tree import CohortNode, QuotaNode

_Rank = tuple[bool, tuple[int, float], int, float, str]


def classic_order(entries: Iterable[Entry]) -> Iterator[Entry]:
    """All entries in the classic order."""
    yield from sorted(entries, key=_classic_key)


def _classic_key(entry: Entry) -> tuple[int, int, float, str]:
    workload = entry.workload
    return (entry.assignment.borrowing, -workload.priority, workload.queued_at, workload.uid)


def fair_order(entries: Sequence[Entry]) -> Iterator[Entry]:
    """All entries in the order of fair sharing. Decisions on one may change the order of those that follow."""
    trees: dict[CohortNode, list[Entry]] = {}
    for entry in entries:
        root = next(reversed([*entry.queue.ancestors()]), None)
        if root is None:
            yield entry
        else:
            trees.setdefault(root, []).append(entry)
    for root, of_tree in trees.items():
        tournament = _Tournament(root, {entry.queue.name: entry for entry in of_tree})
        while (best := tournament.winner()) is not None:
            tournament.remove()
            yield best


class _Tournament:
    """The entries below one cohort, and who of them is next."""

    def __init__(self, cohort: CohortNode, entries: dict[str, Entry]) -> None:
        found = [
            (_ranked(entries[node.name], node), entries[node.name]) for node in cohort.queues if node.name in entries
        ]
        self._queues = deque(sorted(found, key=lambda one: one[0]))
        self._children = [(child, _Tournament(child, entries)) for child in cohort.cohorts]
        self._winners: dict[int, tuple[_Rank, Entry]] = {}
        self._best: int | None = None
        for index in range(len(self._children)):
            self._enter(index)

    def winner(self) -> Entry | None:
        """The next entry, with `remove` about to be called for it."""
        if self._best is not None and self._best >= 0:
            self._enter(self._best)
        candidates = [(rank, index, entry) for index, (rank, entry) in self._winners.items()]
        if self._queues:
            candidates.append((self._queues[0][0], -1, self._queues[0][1]))
        if not candidates:
            self._best = None
            return None
        _, self._best, entry = min(candidates, key=lambda one: one[:2])
        return entry

    def remove(self) -> None:
        """Take the winner out."""
        if self._best == -1:
            self._queues.popleft()
        elif self._best is not None:
            self._winners.pop(self._best)
            self._children[self._best][1].remove()

    def _enter(self, index: int) -> None:
        """The winner of a child takes part; decisions below that child have changed its share."""
        node, below = self._children[index]
        self._winners.pop(index, None)
        if (entry := below.winner()) is not None:
            self._winners[index] = (_ranked(entry, node), entry)


def _ranked(entry: Entry, node: QuotaNode) -> _Rank:
    """What an entry is compared by beside the siblings of a node, which is its queue or a cohort above it."""
    usage = entry.assignment.usage
    Snapshot.use(entry.queue, usage)
    found: Share = share(node)
    Snapshot.take_back(entry.queue, usage)
    workload = entry.workload
    borrows = found.borrows({each for each, amount in usage.items() if amount > 0})
    return (borrows, found.key, -workload.priority, workload.queued_at, workload.uid)
