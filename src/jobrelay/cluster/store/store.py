"""The store: current objects and recent history in memory, every change durable before it is shown.

A write changes memory at once and joins the batch of the current loop tick. At the end of the tick the whole batch is
one transaction of the backend; only then its writers are answered (`settled`) and its changes shown to watchers.
Writers see the open batch (`get`, `version`), because they build on it and share its fate. Readers see what is
committed (`read`, `committed`, `snapshot` at that version), so readers never see a state that a crash could take
back, and no reader waits. If the backend fails, the batch is undone in memory, its versions are given out again, and
every one of its writers gets the failure.

Versions are one counter for the whole store. It never goes back, also across restarts. History is kept per resource in
a bounded ring: it serves watches from an older version and pages of a list at the version of its first page. It is
bounded by the number of changes of a resource and by the bytes of all: past these, the resource whose history is the
largest gives up its oldest changes, so a flood of large objects costs no other resource its history. What is older than
the ring is `VersionTooOld`.
"""

from __future__ import annotations

import asyncio
import bisect
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, takewhile
from typing import Final, NamedTuple

from jobrelay.cluster.store.backend import Backend, ClosedBackend, NoBackend, Row, StoreFailure

Key = tuple[str, str]
HISTORY: Final = 10_000  # changes per resource; older versions are expired
HISTORY_BYTES: Final = 128 * 1024 * 1024  # of all resources; each change counts its object before and after


class Item(NamedTuple):
    """One stored object: its version and its JSON."""

    namespace: str
    name: str
    version: int
    raw: bytes


class Change(NamedTuple):
    """One committed write: `before` is None for a create, `after` is None for a delete.

    For a delete `raw` is the object's last state with the version of its deletion.
    """

    version: int
    before: Item | None
    after: Item | None
    raw: bytes

    @property
    def size(self) -> int:
        """The bytes that keeping this change may keep in memory."""
        return len(self.raw) + (len(self.before.raw) if self.before is not None else 0)


class VersionTooOld(Exception):
    """A version that is older than the history that is kept."""

    def __init__(self, wanted: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {wanted} ({oldest})")


Listener = Callable[[Change], None]


class _Table:
    """The objects of one resource, in key order, with their history and listeners."""

    __slots__ = ("floor", "history", "items", "keys", "listeners", "size")

    def __init__(self, floor: int) -> None:
        self.items: dict[Key, Item] = {}
        self.keys: list[Key] = []
        self.history: deque[Change] = deque()
        self.size = 0  # bytes of the history
        self.floor = floor
        self.listeners: dict[int, Listener] = {}

    def put(self, item: Item) -> None:
        key = (item.namespace, item.name)
        if key not in self.items:
            bisect.insort(self.keys, key)
        self.items[key] = item

    def drop(self, key: Key) -> None:
        if self.items.pop(key, None) is not None:
            del self.keys[bisect.bisect_left(self.keys, key)]

    def forget(self) -> int:
        """Drops the oldest change; returns its bytes."""
        oldest = self.history.popleft()
        self.floor = oldest.version
        self.size -= oldest.size
        return oldest.size

    def restore(self, key: Key, item: Item | None) -> None:
        if item is None:
            self.drop(key)
        else:
            self.put(item)


class StoreSnapshot(NamedTuple):
    """The objects of one resource at one version, in key order."""

    version: int
    keys: list[Key]
    items: dict[Key, Item]

    def walk(self, namespace: str, after: Key | None = None) -> Iterator[Item]:
        """The items of a namespace ("" means all) behind a key."""
        start = (namespace, "") if namespace else ("", "")
        if after is not None and after > start:
            position = bisect.bisect_right(self.keys, after)
        else:
            position = bisect.bisect_left(self.keys, start)
        for index in range(position, len(self.keys)):
            key = self.keys[index]
            if namespace and key[0] != namespace:
                return
            yield self.items[key]


class Store:
    def __init__(
        self, backend: Backend | None = None, *, history: int = HISTORY, history_bytes: int = HISTORY_BYTES
    ) -> None:
        self._backend = backend or NoBackend()
        self._history, self._history_bytes, self._size = history, history_bytes, 0
        self._batch: list[tuple[str, Key, Change]] = []
        self._waiters: list[asyncio.Future[None]] | None = None  # of the open batch, if there is one
        self._tokens = iter(range(2**62))
        self._everywhere: list[Callable[[str, Change], None]] = []
        self.commits = self.writes = 0
        self._version, rows = self._backend.load()
        self._committed = self._version
        self._tables: defaultdict[str, _Table] = defaultdict(partial(_Table, self._version))
        self._load(rows)

    def _load(self, rows: Iterable[Row]) -> None:
        for row in rows:
            table = self._tables[row.resource]
            assert row.raw is not None
            table.items[row.namespace, row.name] = Item(row.namespace, row.name, row.version, row.raw)
        for table in self._tables.values():
            table.keys = sorted(table.items)

    @property
    def version(self) -> int:
        """The version of the last write, durable or not."""
        return self._version

    @property
    def committed(self) -> int:
        """The version of the last write that is durable."""
        return self._committed

    def next_version(self) -> int:
        """The version that the next write will have."""
        return self._version + 1

    def get(self, resource: str, namespace: str, name: str) -> Item | None:
        """An object as a writer sees it."""
        return self._tables[resource].items.get((namespace, name))

    def read(self, resource: str, namespace: str, name: str) -> Item | None:
        """An object as it is committed."""
        for written, key, change in self._batch:
            if key == (namespace, name) and written == resource:
                return change.before
        return self._tables[resource].items.get((namespace, name))

    def count(self, resource: str) -> int:
        return len(self._tables[resource].items)

    def put(self, resource: str, namespace: str, name: str, raw: bytes) -> Item:
        """Creates or replaces an object; `raw` must already carry `next_version()`."""
        table = self._tables[resource]
        before = table.items.get((namespace, name))
        self._version += 1
        item = Item(namespace, name, self._version, raw)
        table.put(item)
        self._join(resource, (namespace, name), Change(self._version, before, item, raw))
        return item

    def delete(self, resource: str, namespace: str, name: str, raw: bytes) -> None:
        """Removes an object; `raw` is its last state, carrying `next_version()`."""
        table = self._tables[resource]
        before = table.items[namespace, name]
        self._version += 1
        table.drop((namespace, name))
        self._join(resource, (namespace, name), Change(self._version, before, None, raw))

    def _join(self, resource: str, key: Key, change: Change) -> None:
        if self._waiters is None:
            self._waiters = []
            asyncio.get_running_loop().call_soon(self._commit)
        self._batch.append((resource, key, change))

    async def settled(self) -> None:
        """Returns once everything that is visible now is durable; raises StoreFailure if it could not be made so."""
        if self._waiters is not None:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def _commit(self) -> None:
        batch, waiters = self._batch, self._waiters
        if waiters is None:
            return
        self._batch, self._waiters = [], None
        rows: dict[tuple[str, Key], Row] = {}
        for resource, key, change in batch:
            raw = change.raw if change.after is not None else None
            rows[resource, key] = Row(resource, *key, change.version, raw)
        try:
            self._backend.commit(list(rows.values()), self._version)
        except StoreFailure as failure:
            for resource, key, change in reversed(batch):
                self._tables[resource].restore(key, change.before)
            self._version = self._committed
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_exception(failure)
            return
        self.commits += 1
        self.writes += len(batch)
        self._committed = self._version
        for resource, _, change in batch:
            self._publish(self._tables[resource], change)
            for everywhere in self._everywhere:
                everywhere(resource, change)
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _publish(self, table: _Table, change: Change) -> None:
        table.history.append(change)
        table.size += (size := change.size)
        self._size += size
        if len(table.history) > self._history:
            self._size -= table.forget()
        while self._size > self._history_bytes:
            self._size -= max(self._tables.values(), key=lambda each: each.size).forget()
        for listener in list(table.listeners.values()):
            listener(change)

    def close(self) -> None:
        """Commits what is open, whose turn in the loop then finds nothing to do; writes in reaction to it fail."""
        self._commit()
        self._backend.close()
        self._backend = ClosedBackend()

    def snapshot(self, resource: str, version: int | None = None) -> StoreSnapshot:
        """The objects of a resource as writers see them, or at a version; walk it before the next await."""
        table = self._tables[resource]
        if version is None or version >= self._version:
            return StoreSnapshot(self._version, table.keys, table.items)
        if version < table.floor:
            raise VersionTooOld(version, table.floor)
        newer = self._newer(resource, table, version)
        if not newer:
            return StoreSnapshot(version, table.keys, table.items)
        items = dict(table.items)
        for change in newer:
            item = change.before or change.after
            assert item is not None
            if change.before is None:
                items.pop((item.namespace, item.name), None)
            else:
                items[item.namespace, item.name] = change.before
        return StoreSnapshot(version, sorted(items), items)

    def inside(self, resource: str, namespace: str) -> list[Item]:
        """The objects of a resource in a namespace, as writers see them."""
        table = self._tables[resource]
        return list(StoreSnapshot(self._version, table.keys, table.items).walk(namespace)) if table.items else []

    def _newer(self, resource: str, table: _Table, version: int) -> list[Change]:
        """The changes of a resource after a version, also those of the open batch, newest first."""
        unsettled = (change for written, _, change in reversed(self._batch) if written == resource)
        return list(takewhile(lambda change: change.version > version, chain(unsettled, reversed(table.history))))

    def since(self, resource: str, version: int) -> list[Change]:
        """The committed changes of a resource after a version, oldest first."""
        table = self._tables[resource]
        if version < table.floor:
            raise VersionTooOld(version, table.floor)
        newer = list(takewhile(lambda change: change.version > version, reversed(table.history)))
        newer.reverse()
        return newer

    def subscribe(self, resource: str, listener: Listener) -> Callable[[], None]:
        """Calls `listener` for every change committed from now on; returns a function that ends this."""
        token = next(self._tokens)
        listeners = self._tables[resource].listeners
        listeners[token] = listener
        return lambda: (listeners.pop(token, None), None)[1]

    def subscribe_all(self, listener: Callable[[str, Change], None]) -> None:
        """Calls `listener` for every change of every resource committed from now on."""
        self._everywhere.append(listener)

    def resources(self) -> list[str]:
        """The resources that hold objects."""
        return [resource for resource, table in self._tables.items() if table.items]
