"""The delegated workloads as rows that can be filtered, sorted and counted without deciding about each.

A row has only what the original itself says, so it is made anew when that changes, and by nothing else. With tens of
thousands of workloads a page of them is found in milliseconds; what the relay decides about a workload is then asked
for those on the page alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.relay.assignment import assignment_of
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.relay.workload_status import ENDED, WAITING, workload_status

_BATCH: Final = 200

Tell = Callable[["WorkloadRow | None", "WorkloadRow | None"], None]
"""Is told of each change of a row: what it was and what it is."""


class WorkloadRow(msgspec.Struct, frozen=True):
    """One delegated workload."""

    ref: WorkloadRef
    status: str
    cluster: str
    run: int
    created: str
    started: str
    ended: str
    text: str
    """What a search looks through, in lower case."""

    @property
    def namespace(self) -> str:
        return self.ref.key.namespace

    @property
    def live(self) -> bool:
        return self.status not in ENDED


class Count(msgspec.Struct, frozen=True):
    """Some rows, counted."""

    statuses: Mapping[str, int]
    live: Mapping[str, int]
    """By worker, those that have not ended."""
    oldest: WorkloadRow | None
    """Of those that wait, the one that was created first."""


def row_of(kind: WorkloadKind, original: Object) -> WorkloadRow | None:
    """The row of an original; None if it is not delegated."""
    facts = kind.adapter.read(original)
    if facts.managed_by not in kind.adapter.managers:
        return None
    to, end = assignment_of(original), facts.end
    return WorkloadRow(
        WorkloadRef(kind.name, original.key),
        workload_status(facts),
        to.cluster if to is not None and not to.waiting else "",
        to.epoch if to is not None else 0,
        original.metadata.creation_timestamp or "",
        format_time(facts.started) if facts.started is not None else "",
        format_time(end.at) if end is not None and end.at is not None else "",
        f"{original.key} {kind.adapter.resource.kind} {to.cluster if to is not None else ''}".lower(),
    )


class WorkloadIndex:
    """The rows of all originals of some kinds, once `fill` has returned; `tell` is told of each change after that."""

    def __init__(self, kinds: Mapping[str, WorkloadKind], tell: Tell) -> None:
        self._kinds, self._tell = kinds, tell
        self._rows: dict[WorkloadRef, WorkloadRow] = {}
        self._filled = asyncio.Event()
        self._subscribed = False
        self._unsubscribe = [kind.originals.subscribe(partial(self._changed, kind)) for kind in kinds.values()]
        self._subscribed = True

    async def fill(self) -> None:
        """Read what there was before; lets other tasks run between batches."""
        for kind in self._kinds.values():
            for number, original in enumerate(list(kind.originals)):
                if number % _BATCH == _BATCH - 1:
                    await asyncio.sleep(0)
                self._put(kind, kind.originals.get(original.key))
        self._filled.set()

    async def wait_filled(self) -> None:
        await self._filled.wait()

    def close(self) -> None:
        """Follow the originals no longer."""
        for each in self._unsubscribe:
            each()

    def _changed(self, kind: WorkloadKind, old: Object | None, new: Object | None) -> None:
        if not self._subscribed:
            return  # what exists already is read by `fill`, which does not hold up others
        if new is not None:
            self._put(kind, new)
        elif old is not None:
            self._replace(WorkloadRef(kind.name, old.key), None)

    def _put(self, kind: WorkloadKind, original: Object | None) -> None:
        if original is not None:
            self._replace(WorkloadRef(kind.name, original.key), row_of(kind, original))

    def _replace(self, ref: WorkloadRef, row: WorkloadRow | None) -> None:
        before = self._rows.pop(ref, None)
        if row is not None:
            self._rows[ref] = row
        if self._filled.is_set() and row != before:
            self._tell(before, row)

    def rows(self, namespace: str, kinds: frozenset[str]) -> Iterator[WorkloadRow]:
        """Those of a namespace, or of all, and of these kinds."""
        for row in self._rows.values():
            if namespace in ("", row.ref.key.namespace) and row.ref.kind in kinds:
                yield row

    def count(self, namespace: str, kinds: frozenset[str]) -> Count:
        """The same, counted."""
        statuses: Counter[str] = Counter()
        live: Counter[str] = Counter()
        oldest: WorkloadRow | None = None
        for row in self.rows(namespace, kinds):
            statuses[row.status] += 1
            if row.live:
                live[row.cluster] += 1
            if row.status == WAITING and (oldest is None or row.created < oldest.created):
                oldest = row
        return Count(statuses, live, oldest)

    def by_scope(self) -> dict[tuple[str, str], Counter[str]]:
        """How many workloads have each status, by namespace and kind."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for ref, row in self._rows.items():
            found.setdefault((ref.key.namespace, ref.kind), Counter())[row.status] += 1
        return found
