"""Backends that fail when told to, and writes without a server around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobrelay.cluster.store import Row, Store, StoreFailure

RESOURCE = "configmaps"


class KeptInMemory:
    """A backend whose contents outlive the store, and which fails as often as `failures` says."""

    def __init__(self) -> None:
        self.version = 0
        self.rows: dict[tuple[str, str, str], Row] = {}
        self.batches: list[list[Row]] = []
        self.failures = 0

    def load(self) -> tuple[int, Iterable[Row]]:
        return self.version, list(self.rows.values())

    def commit(self, rows: Sequence[Row], version: int) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreFailure("the disk is full")
        self.batches.append(list(rows))
        self.version = version
        for row in rows:
            if row.raw is None:
                self.rows.pop(row[:3], None)
            else:
                self.rows[row[:3]] = row

    def close(self) -> None:
        return None

    def copy(self) -> KeptInMemory:
        """What a machine would find after a crash at this moment."""
        made = KeptInMemory()
        made.version, made.rows = self.version, dict(self.rows)
        return made


def put(store: Store, name: str, text: str = "", resource: str = RESOURCE) -> int:
    """Writes an object whose JSON is a text and its version; returns the version."""
    return store.put(resource, "default", name, f"{text}@{store.next_version()}".encode()).version


def delete(store: Store, name: str) -> int:
    store.delete(RESOURCE, "default", name, f"gone@{store.next_version()}".encode())
    return store.version


def committed(store: Store) -> dict[str, int]:
    """What a reader sees now: names and versions."""
    return {item.name: item.version for item in store.snapshot(RESOURCE, store.committed).walk("")}
