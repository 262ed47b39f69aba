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
from operator import attrgetter
from typing import Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.relay.workload_status import ENDED, WAITING, workload_status

_BATCH: Final = 200
_CREATED: Final = attrgetter("created")

Scope = tuple[str, str]
"""A namespace and the name of a kind."""
RowChanged = Callable[["WorkloadRow | None", "WorkloadRow | None"], None]
"""Called with each change of a row: what it was and what it is."""


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


class _Scope:
    """The rows of one kind in one namespace, counted as they come and go."""

    def __init__(self) -> None:
        self.rows: dict[Key, WorkloadRow] = {}
        self.waiting: dict[Key, WorkloadRow] = {}
        self.statuses: Counter[str] = Counter()
        self.live: Counter[str] = Counter()

    def replace(self, key: Key, row: WorkloadRow | None) -> WorkloadRow | None:
        """Put a row, or none, in the place of what was there; returns that."""
        before = self.rows.pop(key, None)
        self.waiting.pop(key, None)
        self._count(before, -1)
        self._count(row, 1)
        if row is not None:
            self.rows[key] = row
            if row.status == WAITING:
                self.waiting[key] = row
        return before

    def _count(self, row: WorkloadRow | None, number: int) -> None:
        if row is not None:
            self.statuses[row.status] += number
            self.live[row.cluster] += number * row.live


class WorkloadIndex:
    """The rows of all originals of some kinds, once `fill` has returned; then each change calls `row_changed`."""

    def __init__(self, kinds: Mapping[str, WorkloadKind], row_changed: RowChanged) -> None:
        self._kinds, self._row_changed = kinds, row_changed
        self._scopes: dict[Scope, _Scope] = {}
        self._filled = asyncio.Event()
        self._subscribed = False
        self._unsubscribe = [kind.originals.subscribe(partial(self._changed, kind)) for kind in kinds.values()]
        self._subscribed = True

    async def fill(self) -> None:
        """Read what there was before; lets other tasks run between batches."""
        try:
            for kind in self._kinds.values():
                for number, original in enumerate(list(kind.originals)):
                    if number % _BATCH == _BATCH - 1:
                        await asyncio.sleep(0)
                    self._put(kind, kind.originals.get(original.key))
        finally:
            self._filled.set()

    async def wait_filled(self) -> None:
        await self._filled.wait()

    def close(self) -> None:
        """Stop following the originals, and release those that wait for missing rows."""
        for each in self._unsubscribe:
            each()
        self._filled.set()

    def _changed(self, kind: WorkloadKind, old: Object | None, new: Object | None) -> None:
        if not self._subscribed:
            return  # what exists already is read by `fill`, which does not hold up others
        if new is not None:
            self._put(kind, new)
        elif old is not None:
            self._replace(kind, old.key, None)

    def _put(self, kind: WorkloadKind, original: Object | None) -> None:
        if original is not None:
            self._replace(kind, original.key, row_of(kind, original))

    def _replace(self, kind: WorkloadKind, key: Key, row: WorkloadRow | None) -> None:
        where = key.namespace, kind.name
        scope = self._scopes.get(where)
        if scope is None:
            if row is None:
                return
            scope = self._scopes[where] = _Scope()
        before = scope.replace(key, row)
        if not scope.rows:
            del self._scopes[where]
        if self._filled.is_set() and row != before:
            self._row_changed(before, row)

    def _seen(self, namespace: str, kinds: frozenset[str]) -> Iterator[_Scope]:
        for (where, kind), scope in self._scopes.items():
            if namespace in ("", where) and kind in kinds:
                yield scope

    def rows(self, namespace: str, kinds: frozenset[str]) -> list[WorkloadRow]:
        """Those of a namespace, or of all, and of these kinds."""
        return [row for scope in self._seen(namespace, kinds) for row in scope.rows.values()]

    def count(self, namespace: str, kinds: frozenset[str]) -> Count:
        """The same, counted."""
        statuses: Counter[str] = Counter()
        live: Counter[str] = Counter()
        waiting: list[WorkloadRow] = []
        for scope in self._seen(namespace, kinds):
            statuses += scope.statuses
            live += scope.live
            waiting += scope.waiting.values()
        return Count(statuses, live, min(waiting, key=_CREATED, default=None))

    def statuses(self) -> dict[Scope, Counter[str]]:
        """How many workloads have each status, by namespace and kind."""
        return {where: scope.statuses for where, scope in self._scopes.items()}
