"""A view of the store for a write that is computed in a thread: it notes what was read and keeps writes back."""

from __future__ import annotations

from typing import NamedTuple

from jobrelay.cluster.store.store import Item, Key, Store, StoreSnapshot


class StagedWrite(NamedTuple):
    """One put, or (`deleted`) one delete; `raw` does not have its version yet."""

    resource: str
    namespace: str
    name: str
    raw: bytes
    deleted: bool


class StagedStore(Store):
    """Reads the store's newest state and stages writes. Only single lookups and copies of whole tables reach the store,
    which are atomic, so it may be used while the loop's thread writes.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.writes_staged: list[StagedWrite] = []
        self._read: dict[tuple[str, str, str], Item | None] = {}
        self._listed: dict[str, dict[Key, Item]] = {}
        self._inside: dict[tuple[str, str], list[Item]] = {}

    def is_current(self) -> bool:
        """Whether everything that was read is still the newest state."""
        return (
            all(self._store.get(*key) is item for key, item in self._read.items())
            and all(self._store.snapshot(resource).items == items for resource, items in self._listed.items())
            and all(self._store.inside(*place) == items for place, items in self._inside.items())
        )

    def get(self, resource: str, namespace: str, name: str) -> Item | None:
        return self._read.setdefault((resource, namespace, name), self._store.get(resource, namespace, name))

    def snapshot(self, resource: str, version: int | None = None) -> StoreSnapshot:
        newest = self._store.snapshot(resource)
        items = self._listed.setdefault(resource, newest.items.copy())
        return StoreSnapshot(newest.version, sorted(items), items)

    def inside(self, resource: str, namespace: str) -> list[Item]:
        items = self._store.snapshot(resource).items.copy()
        found = [items[key] for key in sorted(items) if key[0] == namespace]
        return self._inside.setdefault((resource, namespace), found)

    def next_version(self) -> int:
        return 0

    def put(self, resource: str, namespace: str, name: str, raw: bytes) -> Item:
        self.writes_staged.append(StagedWrite(resource, namespace, name, raw, False))
        return Item(namespace, name, 0, raw)

    def delete(self, resource: str, namespace: str, name: str, raw: bytes) -> None:
        self.writes_staged.append(StagedWrite(resource, namespace, name, raw, True))
