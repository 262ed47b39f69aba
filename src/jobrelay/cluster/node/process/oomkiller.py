"""Memory limits without privileges: once a second, the resident memory of each limited container is added up.

A control group would be exact, but needs root or delegation; this needs nothing. A container above its limit is killed
as the kernel would kill it, with SIGKILL, and reported as OOMKilled. All processes of a container share its session, so
one walk over `/proc` serves all containers. There are no walks while no container has a limit.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final, NamedTuple

PERIOD: Final = 1.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_SESSION, _RESIDENT = 3, 21  # fields of /proc/PID/stat after the name


class MemoryLimit(NamedTuple):
    """How many bytes the processes of one session may use, and what is called when they use more."""

    session: int
    size: int
    exceeded: Callable[[], None]


def resident() -> dict[int, int]:
    """The resident memory of each session, in bytes."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue
        session = int(fields[_SESSION])
        found[session] = found.get(session, 0) + int(fields[_RESIDENT]) * _PAGE
    return found


class OomKiller:
    """Enforces the memory limits of all containers of a node."""

    def __init__(self) -> None:
        self._limits: set[MemoryLimit] = set()
        self._some = asyncio.Event()

    def add(self, limit: MemoryLimit) -> Callable[[], None]:
        """Enforces a limit; returns a function that ends this."""
        self._limits.add(limit)
        self._some.set()
        return lambda: self._limits.discard(limit)

    async def run(self) -> None:
        while True:
            await self._some.wait()
            self._check()
            if not self._limits:
                self._some.clear()
            await asyncio.sleep(PERIOD)

    def _check(self) -> None:
        if not self._limits:
            return
        held = resident()
        for limit in tuple(self._limits):
            if held.get(limit.session, 0) > limit.size:
                limit.exceeded()
