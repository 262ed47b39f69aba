"""Large writes and answers, which take longer to compute than other requests can wait.

A write is a straight line of computation, from the body to the object that is stored. Where this may take more than
some milliseconds, by the size of the body and of the stored object, it runs in a thread on a view of the store that
keeps its writes back. Back on the loop they are stored, if nothing that the computation has read was changed meanwhile;
else it starts again, the last time on the loop. There is one thread for all of these, so that they take at most half of
the processor from the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from jobrelay.cluster.apiserver import represent, storage
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.store.staged import StagedStore

HEAVY: Final = 64 * 1024  # bytes
_ATTEMPTS: Final = 3
_THREAD: Final = ThreadPoolExecutor(1, "large-requests")
_Result = TypeVar("_Result")
Written = tuple[bytes, bool]  # the stored JSON, and whether it was created
Compute = Callable[[ServerContext], Written]


async def beside(compute: Callable[[], _Result]) -> _Result:
    """What a computation gives, without holding up the loop."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, context.run, compute)


async def read(size: int, compute: Callable[[], _Result]) -> _Result:
    """What reading a body of `size` bytes gives."""
    return compute() if size < HEAVY else await beside(compute)


async def perform(server: ServerContext, size: int, compute: Compute) -> Written:
    """Computes a write of `size` bytes and stores it; the caller waits for the commit."""
    if size < HEAVY:
        return compute(server)
    for _ in range(_ATTEMPTS):
        staged = StagedStore(server.store)
        raw, created = await beside(functools.partial(compute, _with_store(server, staged)))
        if staged.is_current():
            return _store(server, staged, raw), created
    return compute(server)


def _with_store(server: ServerContext, store: StagedStore) -> ServerContext:
    view = copy.copy(server)
    view.store = store
    return view


def _store(server: ServerContext, staged: StagedStore, raw: bytes) -> bytes:
    """Stores what was staged with its versions; returns `raw`, with its version if it is one of them."""
    for resource, namespace, name, unnumbered, deleted in staged.writes_staged:
        write = storage.remove if deleted else storage.put
        numbered = write(server.store, resource, namespace, name, represent.stored(unnumbered))
        if unnumbered is raw and not deleted:
            raw = numbered
    return raw
