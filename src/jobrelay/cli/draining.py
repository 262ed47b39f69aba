"""Waits until drained workers are empty."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

import click

from jobrelay.cli.errors import Failure
from jobrelay.kube import Clock
from jobrelay.kube.clock import sleep
from jobrelay.relay.worker_view import WorkerView

__all__ = ["wait_until_empty"]

_INTERVAL: Final = 2.0
"""How often workers are listed, in seconds, since they cannot be watched."""


async def wait_until_empty(
    names: Collection[str],
    look: Callable[[], Awaitable[tuple[Sequence[WorkerView], str]]],
    clock: Clock,
    *,
    within: float | None,
) -> bool:
    """Wait until these workers hold no workloads, and print how many are left; False if that takes too long.

    Raises Failure if the relay cannot be asked: without it nothing moves.
    """
    started, told = clock.monotonic(), dict.fromkeys(names, -1)
    while True:
        views, problem = await look()
        if problem:
            raise Failure(f"the relay cannot be asked how far it is: {problem}", "workers stay drained")
        for each in views:
            left = each.jobs + each.stale_mirrors
            if each.name in told and told[each.name] != left:
                told[each.name] = left
                click.echo(f"worker {each.name} {_holds(left)}", err=True)
        if not any(told.values()):
            return True
        if within is not None and clock.monotonic() - started >= within:
            return False
        await sleep(clock, _INTERVAL)


def _holds(left: int) -> str:
    return f"holds {left} workload{'s' if left > 1 else ''}" if left else "is empty"
