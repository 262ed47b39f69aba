"""Memory limits without privileges: once a second, the resident memory of each limited container is added up.

A control group would be exact, but needs root or delegation; this needs nothing. A container above its limit is killed
as the kernel would kill it, with SIGKILL, and reported as OOMKilled. All processes of a container descend from its
first, so one walk over `/proc` serves all containers. There are no walks while no container has a limit.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

PERIOD: Final = 1.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_PARENT, _RESIDENT = 1, 21  # fields of /proc/PID/stat after the name


class MemoryLimit(NamedTuple):
    """How many bytes a process and its descendants may use, and what is called when they use more."""

    root: int
    size: int
    exceeded: Callable[[], None]


def resident(roots: Collection[int]) -> dict[int, int]:
    """The resident memory of some processes and all of their descendants, in bytes."""
    parents, sizes = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue
        parents[int(name)], sizes[int(name)] = int(fields[_PARENT]), int(fields[_RESIDENT]) * _PAGE
    found = dict.fromkeys(roots, 0)
    for pid, size in sizes.items():
        ancestor = pid
        while ancestor and ancestor not in found:
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            found[ancestor] += size
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
        held = resident({limit.root for limit in self._limits})
        for limit in tuple(self._limits):
            if held.get(limit.root, 0) > limit.size:
                limit.exceeded()
