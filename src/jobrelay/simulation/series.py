"""Runs many schedules, in several processes at a time. The results come in the order of the seeds, however many
processes there are.

Processes are forked, so that all of them have what this one has imported and remembered, and end after a few runs, so
that the system frees what the runs have left.
"""

from __future__ import annotations

import itertools
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, NamedTuple, TypeVar

_Result = TypeVar("_Result")
_fork = multiprocessing.get_context("fork")


def run_all(
    run: Callable[[int], _Result],
    seeds: Sequence[int],
    processes: int,
    *,
    runs_each: int = 1,
    prepare: Callable[[], None] = lambda: None,
) -> Iterator[_Result]:
    """Call `run` for each seed; a process calls `prepare`, then `run` for `runs_each` seeds, and ends."""
    batches = [seeds[first : first + runs_each] for first in range(0, len(seeds), runs_each)]
    waiting, running = enumerate(batches), dict[Connection, _Batch]()
    results: dict[int, list[_Result]] = {}
    try:
        for number in range(len(batches)):
            while number not in results:
                for each, batch in itertools.islice(waiting, processes - len(running)):
                    connection, process = _start(run, batch, prepare)
                    running[connection] = _Batch(each, batch, process)
                for ready in wait(list(running)):
                    assert isinstance(ready, Connection)
                    ended = running.pop(ready)
                    results[ended.number] = _results(ready, ended)
            yield from results.pop(number)
    finally:
        for left in running.values():
            left.process.terminate()


class _Batch(NamedTuple):
    """Some seeds, and the process that runs them."""

    number: int
    seeds: Sequence[int]
    process: ForkProcess


def _results(connection: Connection, batch: _Batch) -> Any:
    """What a process has sent, which is about to end; raises what its runs have raised."""
    try:
        found = connection.recv()
    except EOFError:
        found = None
    connection.close()
    batch.process.join()
    if found is None:
        raise RuntimeError(f"a process ended with {batch.process.exitcode} in the runs of {batch.seeds}")
    if isinstance(found, Exception):
        raise found
    return found


def _start(
    run: Callable[[int], object], seeds: Sequence[int], prepare: Callable[[], None]
) -> tuple[Connection, ForkProcess]:
    ours, theirs = _fork.Pipe(duplex=False)
    process = _fork.Process(target=_run_batch, args=(run, seeds, prepare, theirs))
    process.start()
    theirs.close()
    return ours, process


def _run_batch(
    run: Callable[[int], object], seeds: Sequence[int], prepare: Callable[[], None], connection: Connection
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the parent to answer
    prepare()
    try:
        connection.send([run(seed) for seed in seeds])
    except Exception as error:  # the boundary of a process: it is raised in the parent
        connection.send(error)
