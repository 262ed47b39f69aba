"""Runs a coroutine until a signal arrives: SIGINT and SIGTERM cancel it, and the command exits with code 0."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final

from jobrelay.logs import get_logger

__all__ = ["run_until_stopped"]

log = get_logger(__name__)
_OPEN_FILES: Final = 65_536


def run_until_stopped(main: Coroutine[Any, Any, None]) -> None:
    """Runs `main` until it returns or the first signal arrives; a second signal has its usual effect."""
    _raise_open_files_limit()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_cancel_on_signal(main))


def _raise_open_files_limit() -> None:
    """Raises the soft limit of open files to the hard limit, since each watch holds a socket."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(ValueError, OSError):  # some systems report a hard limit that they do not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _cancel_on_signal(main: Coroutine[Any, Any, None]) -> None:
    running = asyncio.ensure_future(main)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, loop, number, running)
    try:
        await running
    except asyncio.CancelledError:
        log.debug("stopped")


def _stop(loop: asyncio.AbstractEventLoop, number: signal.Signals, running: asyncio.Future[None]) -> None:
    log.debug("stopping", signal=number.name)
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(each)
    running.cancel()
