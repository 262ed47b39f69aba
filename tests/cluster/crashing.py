"""A process that writes to a store as fast as it can and says what is durable, until it is killed.

    python -m tests.cluster.crashing STORE

Every tick writes two objects with the same text, so that a batch of which only half was kept can be detected. A line on
stdout is an acknowledged pair: its number and the version of its second write.
"""

from __future__ import annotations

import asyncio
import pathlib
import sys

from jobrelay.cluster.store import SqliteBackend, Store

RESOURCE = "configmaps"
NUMBERS = 7  # so few that pairs are overwritten and deleted again and again


def text_of(number: int, round_: int) -> bytes:
    """A text of some pages, so that a torn write would show."""
    return f"{number}:{round_};".encode() * 700


async def write(store: Store) -> None:
    round_ = store.committed
    while True:
        round_ += 1
        number = round_ % NUMBERS
        there = store.get(RESOURCE, "left", str(number)) is not None
        for side in ("left", "right"):
            if there and round_ % 5 == 0:
                store.delete(RESOURCE, side, str(number), b"{}")
            else:
                store.put(RESOURCE, side, str(number), text_of(number, round_))
        version, gone = store.version, there and round_ % 5 == 0
        await store.settled()
        sys.stdout.write(f"{number} {version} {'gone' if gone else round_}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write(Store(SqliteBackend(pathlib.Path(sys.argv[1])))))
