"""Follows the log of a workload to its end, over all of its runs: when it moves, the log of the next one follows.

The cache of originals shows each new assignment and the end. A run whose worker is lost breaks off, but not the whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from jobrelay.kube import KubeError, Object
from jobrelay.relay.api.failures import ApiFailure
from jobrelay.relay.api.logs import LogRequest, WorkloadLog, Write
from jobrelay.relay.api.reading import Reading
from jobrelay.relay.api.workloads import Found
from jobrelay.relay.worker_assignment import WorkerAssignment, assignment_of

_LOOK_AGAIN: Final = 0.5
"""When it is looked again whether the mirror of a new run is there, in seconds; that costs no request."""


class FollowedWorkload:
    """Copies the logs of one workload; `is_current` says whether the relay behind `reading` still is the relay."""

    def __init__(
        self, reading: Reading, found: Found, request: LogRequest, write: Write, is_current: Callable[[], bool]
    ) -> None:
        self._reading, self._found, self._request, self._write = reading, found, request, write
        self._is_current = is_current
        self._changed = asyncio.Event()
        self._run: tuple[str, int] | None = None

    async def run(self) -> None:
        """Copy everything up to the end of the workload, or its deletion."""
        stop = self._found.kind.originals.subscribe(self._original_changed)
        try:
            while (original := self._original()) is not None:
                to = assignment_of(original)
                if to is not None and to.run.key != self._run and self._has_mirror(original, to):
                    await self._next_run(Found(self._found.kind, original), to)
                elif self._found.kind.adapter.read(original).end is not None:
                    return
                elif not self._is_current():
                    await self._write(b"jobrelay: the log ends here: the relay was started again\n")
                    return
                else:
                    await self._until_changed()
        finally:
            stop()

    def _original_changed(self, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is not None and obj.key == self._found.original.key:
            self._changed.set()

    def _original(self) -> Object | None:
        found = self._found.kind.originals.get(self._found.original.key)
        return found if found is not None and found.uid == self._found.original.uid else None

    def _has_mirror(self, original: Object, to: WorkerAssignment) -> bool:
        return to.cluster in self._found.kind.mirrors(original.uid)

    async def _until_changed(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_AGAIN):
                await self._changed.wait()
        self._changed.clear()  # the waiting task reads the original now

    async def _next_run(self, found: Found, to: WorkerAssignment) -> None:
        if self._run is not None:
            await self._write(f"jobrelay: {found.described} moves to {to.cluster} (run {to.epoch})\n".encode())
            self._request = replace(self._request, tail=None, since=None)
        self._run = to.run.key
        tasks = [asyncio.create_task(self._follow(found, to)), asyncio.create_task(self._until_moved())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.result()

    async def _follow(self, found: Found, to: WorkerAssignment) -> None:
        try:
            async with self._reading.pods(found) as pods:
                await WorkloadLog(pods, self._request, found.described).follow(self._write)
        except (KubeError, ApiFailure) as error:
            await self._write(f"jobrelay: the log on {to.cluster} breaks off: {error}\n".encode())

    async def _until_moved(self) -> None:
        while (original := self._original()) is not None:
            to = assignment_of(original)
            if to is not None and to.run.key != self._run:
                return
            await self._until_changed()
