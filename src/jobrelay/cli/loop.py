"""Running until a signal comes: SIGINT and SIGTERM cancel what runs, which then ends cleanly, and the command with code 0."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog

__all__ = ["run_until_stopped"]

log = structlog.get_logger(__name__)
_THRESHOLDS: Final = (50_000, 20, 100)  # the default makes the collector walk all stored objects far too often
_FILES: Final = 65_536


def run_until_stopped(main: Coroutine[Any, Any, None]) -> None:
    """Runs `main` to its end or to the first signal; a second signal has its usual effect."""
    gc.set_threshold(*_THRESHOLDS)
    _allow_many_connections()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_guarded(main))


def _allow_many_connections() -> None:
    """Every watch holds a socket: use as many files as the system lets us, not only as many as it starts us with."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else most
    with contextlib.suppress(ValueError, OSError):  # some systems name a limit that they do not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _guarded(main: Coroutine[Any, Any, None]) -> None:
    running = asyncio.ensure_future(main)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _end, loop, number, running)
    try:
        await running
    except asyncio.CancelledError:
        log.debug("ended")


def _end(loop: asyncio.AbstractEventLoop, number: signal.Signals, running: asyncio.Future[None]) -> None:
    log.debug("ending", signal=number.name)
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(each)
    running.cancel()
