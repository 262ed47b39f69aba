"""Tasks that belong to something: run side by side until the first ends, or owned until they have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class OwnedTasks:
    """Keeps hold of the tasks of its owner until they have ended, also of those that were stopped."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self) -> None:
        """Wait for the end of all tasks, which the owner has cancelled."""
        if self._tasks:
            await asyncio.wait(self._tasks)


async def until_first(*works: Coroutine[Any, Any, None]) -> None:
    """Run all of these until one ends; cancel the others, and return or raise as that one did."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
