"""Reports the progress of one workload to its user: why it waits, where it was placed, that it moves.

Most workloads are placed at once. So the reason for waiting is reported only if it still waits after a few
seconds, and again when the reason changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Self

from jobrelay.kube import Object
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.workloads import Adapter, Workload

__all__ = ["PATIENCE", "WorkloadProgress", "progress_line"]

PATIENCE: Final = 2.0
"""How many seconds a workload waits before the reason is reported."""


def progress_line(shown: str, facts: Workload, run: tuple[str, int] | None, before: tuple[str, int] | None) -> str:
    """What is new about a workload; `run` is its worker and the number of the run, `before` the one reported last."""
    if facts.end is not None or run is None or run == before:
        return ""
    worker, epoch = run
    return f"{shown} {'is placed on' if before is None else 'moves to'} {worker} (run {epoch})"


class WorkloadProgress:
    """Follows the versions of one workload that `update` is given. `why` asks for the reason of waiting; `note` is
    told. Used as `async with`, since the question is a task of its own."""

    def __init__(
        self,
        adapter: Adapter,
        shown: str,
        why: Callable[[], Awaitable[str]],
        note: Callable[[str], None],
        patience: float = PATIENCE,
    ) -> None:
        self._adapter, self._shown, self._why, self._note = adapter, shown, why, note
        self._patience = patience
        self._run: tuple[str, int] | None = None
        self._told = ""
        self._asking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop_asking()

    def update(self, obj: Object) -> None:
        """A new version of the workload."""
        facts, to = self._adapter.read(obj), assignment_of(obj)
        run = (to.cluster, to.epoch) if to is not None else None
        if run is not None or facts.end is not None:
            self._stop_asking()
        elif self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        if line := progress_line(self._shown, facts, run, self._run):
            self._note(line)
        self._run = run or self._run

    async def _ask(self) -> None:
        await asyncio.sleep(self._patience)
        told = f"{self._shown}: {await self._why() or 'No worker has been chosen yet.'}"
        if told != self._told:
            self._told = told
            self._note(told)

    def _stop_asking(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
