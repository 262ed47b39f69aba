"""An event loop on virtual time, in which every part of a simulated fleet is a process that can be paused or ended.

Time stands still while anything can run, and then jumps to the next timer, so that hours pass in moments. Callbacks
belong to the process in whose context they were made. Within a process they run in order, as asyncio has it; between
processes the next one is drawn by a seeded generator, so a seed stands for one interleaving. No thread, socket or real
clock is involved: the same seed gives the same run.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any, TypeVar, TypeVarTuple, Unpack

import msgspec

_MOMENT = 1e-6
_ROUNDS = (_MOMENT, *itertools.repeat(60.0, 20))
"""How long tasks get to end, each time that they are cancelled: most need no time at all."""
_Args = TypeVarTuple("_Args")
_Result = TypeVar("_Result")


class SimulatedProcess:
    """Something that runs, stands still or is gone as a whole: a relay replica, a control plane, a user."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.paused = False
        self.ended = False
        self.ready: deque[_Handle] = deque()
        self.context = Context()
        """What callbacks of this process run in that are not part of a task."""
        self.context.run(_process.set, self)

    def __repr__(self) -> str:
        return f"<Process {self.name}>"


_process: ContextVar[SimulatedProcess] = ContextVar("process")


class _Handle(msgspec.Struct, eq=False):
    """A callback that is to run. Unlike asyncio's own handles, which look at the debug mode of the loop each time, it
    costs little to make."""

    callback: Callable[..., object] | None
    """None if it was cancelled, so that nothing is kept by a timer that will not be looked at for long."""
    args: tuple[Any, ...]
    context: Context

    def cancel(self) -> None:
        self.callback, self.args = None, ()

    def cancelled(self) -> bool:
        return self.callback is None


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Look for no garbage meanwhile: when it is found depends on the whole process, and closing generators that are
    part of it takes steps. It would also take a fifth of the time. Afterwards what is new is looked at once."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.collect(0)
            gc.enable()


_left: list[VirtualLoop] | None = None
"""Loops that nobody winds up, kept so that no part of them is freed; None as long as all are wound up."""


def leave_runs() -> None:
    """From now on leave everything as it is when a run is over, until this process ends: neither is it wound up, nor is
    garbage looked for. That takes a tenth of the time of a run."""
    global _left
    gc.disable()
    _left = []


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs processes by turns until `run_until` is satisfied."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._time = 0.0
        self._host = SimulatedProcess("host")
        self._runnable: list[SimulatedProcess] = []
        """Processes with something to run that are not paused, in the order in which they became so."""
        self._processes: set[SimulatedProcess] = set()
        self._timers: list[tuple[float, int, _Handle]] = []
        """By time, and those of one time in the order in which they were set."""
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[Any]] = set()
        """Of processes that were started here; asyncio itself would let them be collected."""
        self.steps = 0
        self.failures: list[BaseException] = []

    def time(self) -> float:
        return self._time

    def start(self, process: SimulatedProcess, coroutine: Any) -> asyncio.Task[Any]:
        """Run a coroutine as part of a process."""
        context = copy_context()
        context.run(_process.set, process)
        task = self.create_task(coroutine, context=context)
        self._processes.add(process)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """A part of the fleet that fails is a defect of the fleet or of the simulation: it must not go unnoticed."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)

    def call_in(self, process: SimulatedProcess, seconds: float, callback: Callable[[], object]) -> None:
        """Call something as part of a process, after a while."""
        self.call_later(seconds, callback, context=process.context)

    def pause(self, process: SimulatedProcess) -> None:
        """Let it stand still, between any two of its steps; timers that fall due wait for it."""
        process.paused = True
        if process in self._runnable:
            self._runnable.remove(process)

    def resume(self, process: SimulatedProcess) -> None:
        process.paused = False
        if process.ready and process not in self._runnable and not process.ended:
            self._runnable.append(process)

    def kill(self, process: SimulatedProcess) -> None:
        """End it where it stands: nothing of it runs again, no clean-up either, until the whole run is over."""
        process.ended = True
        if process in self._runnable:
            self._runnable.remove(process)

    def run(self, main: Any) -> Any:
        """Run a coroutine to its end, then everything else to its own, so that nothing is left to be collected."""
        if _left is not None:
            _left.append(self)
            return self.run_until_complete(self.create_task(main))
        with garbage_kept():
            try:
                return self.run_until_complete(self.create_task(main))
            finally:
                steps, time = self.steps, self._time
                self._wind_up()
                self.close()
                self._timers.clear()
                self.steps, self._time = steps, time

    def _wind_up(self) -> None:
        for process in self._processes:
            process.ended = False
            self.resume(process)
        for seconds in _ROUNDS:
            tasks = asyncio.all_tasks(self)
            if not tasks:
                return
            for task in tasks:
                task.cancel()
            self.run_until_complete(asyncio.sleep(seconds))
        raise RuntimeError(f"tasks do not end when they are cancelled: {tasks}")

    # What asyncio asks of a loop.

    get_debug = staticmethod(bool)
    """No; each future asks when it is made."""

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., _Result], *args: Any
    ) -> asyncio.Future[_Result]:
        """Call a function at once: when a thread would be done is not for the machine to decide."""
        future: asyncio.Future[_Result] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def create_task(  # type: ignore[override]
        self, coro: Any, *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[[Unpack[_Args]], object], *args: *_Args, context: Context | None = None
    ) -> _Handle:
        if context is None:
            context = copy_context()
        handle = _Handle(callback, args, context)
        process = context.get(_process, self._host)
        if not process.ready and not process.paused and not process.ended:
            self._runnable.append(process)
        process.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # there is but one thread

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[[Unpack[_Args]], object],
        *args: *_Args,
        context: Context | None = None,
    ) -> _Handle:
        handle = _Handle(callback, args, copy_context() if context is None else context)
        heapq.heappush(self._timers, (self._time + delay, next(self._numbers), handle))
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[[Unpack[_Args]], object], *args: *_Args, context: Context | None = None
    ) -> _Handle:
        handle = _Handle(callback, args, copy_context() if context is None else context)
        heapq.heappush(self._timers, (when, next(self._numbers), handle))
        return handle

    def _enqueue(self, handle: _Handle) -> None:
        process = handle.context.get(_process, self._host)
        if not process.ready and not process.paused and not process.ended:
            self._runnable.append(process)
        process.ready.append(handle)

    def _run_once(self) -> None:
        """Run callbacks, each the next one of a process that is drawn from those that can run."""
        runnable, draw = self._runnable, self._random.random
        while not self._stopping:  # type: ignore[attr-defined]
            if not runnable:
                self._advance()
                continue
            at = int(draw() * len(runnable)) if len(runnable) > 1 else 0
            ready = runnable[at].ready
            handle = ready.popleft()
            if not ready:
                runnable.pop(at)
            if (callback := handle.callback) is not None:
                try:
                    handle.context.run(callback, *handle.args)
                except Exception as error:
                    self.call_exception_handler({"message": f"{callback!r} failed", "exception": error})
                self.steps += 1

    def _advance(self) -> None:
        timers = self._timers
        while timers and timers[0][2].callback is None:
            heapq.heappop(timers)
        if not timers:
            raise RuntimeError("nothing runs and nothing is scheduled: the simulation would wait for ever")
        self._time = max(self._time, timers[0][0])
        while timers and timers[0][0] <= self._time:
            handle = heapq.heappop(timers)[2]
            if handle.callback is not None:
                self._enqueue(handle)

    def _process_events(self, event_list: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass
