"""What the store needs from a durable backend: load everything once, then append batches of changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class StoreFailure(Exception):
    """The backend could not make a batch durable; nothing of that batch happened."""


class Row(NamedTuple):
    """One object as it is kept. `raw` None in a batch means: deleted at this version."""

    resource: str
    namespace: str
    name: str
    version: int
    raw: bytes | None


class Backend(Protocol):
    def load(self) -> tuple[int, Iterable[Row]]:
        """The last version that was used, and every live object."""

    def commit(self, rows: Sequence[Row], version: int) -> None:
        """Makes a batch durable as a whole, or raises StoreFailure."""

    def close(self) -> None: ...


class NoBackend:
    """For throw-away clusters: nothing is kept."""

    def load(self) -> tuple[int, Iterable[Row]]:
        return 0, ()

    def commit(self, rows: Sequence[Row], version: int) -> None:
        return None

    def close(self) -> None:
        return None


class ClosedBackend(NoBackend):
    """Takes the place of a backend that was closed: writes fail."""

    def commit(self, rows: Sequence[Row], version: int) -> None:
        raise StoreFailure("the store is closed")
