"""The durable backend: one SQLite file in WAL mode, one transaction per batch.

With `synchronous=NORMAL` a commit is a write to the WAL without fsync: it survives the death of the process at any
moment (`kill -9` included), and a power cut can lose only the last moments, never consistency. Checkpoints run in a
helper thread with a connection of its own, because they are the only step that waits for the disk.
"""

from __future__ import annotations

import os
import pathlib
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from jobrelay.cluster.store.backend import Row, StoreFailure

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
);
CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
INSERT OR IGNORE INTO counter VALUES (1, 0);
"""
_CHECKPOINT_EVERY: Final = 2000  # rows written between two checkpoints


class SqliteBackend:
    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._written = 0
        self._checkpoint: threading.Thread | None = None
        try:
            self._db = _open(path)
        except (sqlite3.Error, OSError) as error:
            raise StoreFailure(f"{path} cannot be opened as a jobrelay store: {error}") from error

    def load(self) -> tuple[int, Iterable[Row]]:
        (version,) = self._db.execute("SELECT version FROM counter").fetchone()
        rows = self._db.execute("SELECT resource, namespace, name, version, raw FROM objects")
        return version, (Row(*row) for row in rows)

    def commit(self, rows: Sequence[Row], version: int) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT INTO objects VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET version=excluded.version, raw=excluded.raw",
                [row for row in rows if row.raw is not None],
            )
            gone = [row[:3] for row in rows if row.raw is None]
            if gone:
                self._db.executemany("DELETE FROM objects WHERE resource=? AND namespace=? AND name=?", gone)
            self._db.execute("UPDATE counter SET version=?", (version,))
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise StoreFailure(str(error)) from error
        self._written += len(rows)
        if self._written >= _CHECKPOINT_EVERY:
            self._start_checkpoint()

    def _start_checkpoint(self) -> None:
        if self._checkpoint is None or not self._checkpoint.is_alive():
            self._written = 0
            self._checkpoint = threading.Thread(target=self._run_checkpoint, name="store-checkpoint", daemon=True)
            self._checkpoint.start()

    def _run_checkpoint(self) -> None:
        db = sqlite3.connect(self._path)
        try:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            db.close()

    def close(self) -> None:
        if self._checkpoint is not None:
            self._checkpoint.join()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()


def _open(path: pathlib.Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives its other files the same mode
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0;")
        db.executescript(_SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db
