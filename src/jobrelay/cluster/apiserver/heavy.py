"""Large writes and answers, which take longer to compute than other requests can wait.

A write is a straight line of computation, from the body to the object that is stored. Where this may take more than
some milliseconds, by the size of the body and of the stored object, it runs in a thread on a view of the store that
keeps its writes back. Back on the loop they are stored, if nothing that the computation has read was changed meanwhile;
else it starts again, the last time on the loop. There is one thread for all of these, so that they take at most half of
the processor from the loop.

The CEL rules of a custom resource can take long for an object of any size, and so can admission policies. So a write
with rules or policies is computed in the same thread, or in the end on the loop, but only for a moment: if they take
longer, it starts again in a thread for these alone, where nothing but writes like it wait for it. It ends there when a
real server would end it.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar, cast

from jobrelay.apimachinery.cel.steps import INTERRUPT
from jobrelay.apimachinery.cel.values import CelError
from jobrelay.cluster.apiserver import represent, storage
from jobrelay.cluster.apiserver.calls import Outdated, Steps, check_time, finished
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.store.staged import StagedStore

HEAVY: Final = 64 * 1024  # bytes
_ATTEMPTS: Final = 3
_THREAD: Final = ThreadPoolExecutor(1, "large-requests")
_RULES_THREAD: Final = ThreadPoolExecutor(1, "long-rules")
MOMENT: Final = 0.03  # seconds of processor time
_TIMEOUT: Final = 34.0  # seconds
_Result = TypeVar("_Result")
Written = tuple[_Result, bool]  # what was stored or is answered, and whether it was created or is gone
Compute = Callable[[ServerContext], Steps[Written[_Result]]]
Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class Outpaced(Exception):
    """Whenever a write was computed, what it had read was changed meanwhile."""


class _RulesTakeLong(Exception):
    """The rules of an object take more than a moment."""


async def beside(compute: Callable[[], _Result]) -> _Result:
    """What a computation gives, without holding up the loop."""
    return await _run(_THREAD, compute)


async def _run(thread: ThreadPoolExecutor, compute: Callable[[], _Result]) -> _Result:
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(thread, context.run, compute)


async def read(size: int, compute: Callable[[], _Result]) -> _Result:
    """What reading a body of `size` bytes gives."""
    return compute() if size < HEAVY else await beside(compute)


async def perform(server: ServerContext, size: int, compute: Compute[_Result]) -> Written[_Result]:
    """Computes a write of `size` bytes and stores it; the caller waits for the commit."""
    written = await _attempt(server, compute, beside) if size >= HEAVY else None
    return written or await _here(server, compute)


async def perform_with_rules(server: ServerContext, compute: Compute[_Result]) -> Written[_Result]:
    """Computes a write that evaluates CEL rules or policies and stores it; raises Outpaced."""
    briefly = functools.partial(_interruptible, compute, _a_moment)
    try:
        return await _attempt(server, briefly, beside) or await _here(server, briefly)
    except _RulesTakeLong:
        patiently = functools.partial(_interruptible, compute, _a_request)
        written = await _attempt(server, patiently, functools.partial(_run, _RULES_THREAD))
    if written is None:
        raise Outpaced
    return written


async def _here(server: ServerContext, compute: Compute[_Result]) -> Written[_Result]:
    """Computes a write on the loop and stores it; again, if it had to wait and others were faster."""
    begin = time.monotonic()
    while True:
        try:
            return await finished(server.outbound, compute(server))
        except Outdated:
            check_time(begin)


async def _attempt(server: ServerContext, compute: Compute[_Result], run: Run) -> Written[_Result] | None:
    """Computes a write in a thread and stores it; None when others were faster each time."""
    for _ in range(_ATTEMPTS):
        staged = StagedStore(server.store)
        raw, created = await finished(server.outbound, compute(_with_store(server, staged)), run)
        if staged.is_current():
            return _store(server, staged, raw), created
    return None


def _interruptible(
    compute: Compute[_Result], interrupt: Callable[[], Callable[[], None]], server: ServerContext
) -> Steps[Written[_Result]]:
    """The steps of a write, each of them under a limit."""
    steps, results = compute(server), None
    while True:
        token = INTERRUPT.set(interrupt())
        try:
            calls = next(steps) if results is None else steps.send(results)
        except StopIteration as end:
            written: Written[_Result] = end.value
            return written
        finally:
            INTERRUPT.reset(token)
        results = yield calls


def _a_moment() -> Callable[[], None]:
    end = time.thread_time() + MOMENT

    def check() -> None:
        if time.thread_time() > end:
            raise _RulesTakeLong

    return check


def _a_request() -> Callable[[], None]:
    end = time.monotonic() + _TIMEOUT

    def check() -> None:
        if time.monotonic() > end:
            raise CelError("operation interrupted")

    return check


def _with_store(server: ServerContext, store: StagedStore) -> ServerContext:
    view = copy.copy(server)
    view.store = store
    return view


def _store(server: ServerContext, staged: StagedStore, raw: _Result) -> _Result:
    """Stores what was staged with its versions; returns `raw`, with its version if it is one of them."""
    for resource, namespace, name, unnumbered, deleted in staged.writes_staged:
        write = storage.remove if deleted else storage.put
        numbered = write(server.store, resource, namespace, name, represent.stored(unnumbered))
        if unnumbered is raw:
            raw = cast(_Result, numbered)
    return raw
