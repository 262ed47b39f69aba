"""Runs many schedules, on several processes. The results come in the order of the seeds, however many processes there
are."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_RUNS_AT_ONCE = 10
_Result = TypeVar("_Result")


def run_all(run: Callable[[int], _Result], seeds: Sequence[int], processes: int) -> Iterator[_Result]:
    """Call `run`, which has to be picklable, for each seed."""
    if processes == 1 or len(seeds) <= _RUNS_AT_ONCE:
        yield from map(run, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(processes, _leave_interrupts_to_parent) as pool:
        yield from pool.imap(run, seeds, _RUNS_AT_ONCE)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
