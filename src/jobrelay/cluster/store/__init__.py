"""Where the embedded cluster keeps its objects: current state in memory, a durable log in SQLite."""

from jobrelay.cluster.store.backend import Backend, Row, StoreFailure
from jobrelay.cluster.store.sqlite import SqliteBackend
from jobrelay.cluster.store.store import Change, Item, Store, StoreSnapshot, VersionTooOld

__all__ = [
    "Backend", "Change", "Item", "Row", "SqliteBackend", "Store", "StoreFailure", "StoreSnapshot", "VersionTooOld",
]  # fmt: skip
