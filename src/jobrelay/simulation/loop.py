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
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any, TypeVar, TypeVarTuple, Unpack

_ROUNDS = 20
_Args = TypeVarTuple("_Args")
_Result = TypeVar("_Result")


class Process:
    """Something that runs, stands still or is gone as a whole: a relay replica, a control plane, a user."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.paused = False
        self.ended = False
        self.ready: deque[asyncio.Handle] = deque()
        self.context = Context()
        """What callbacks of this process run in that are not part of a task."""
        self.context.run(_process.set, self)

    def __repr__(self) -> str:
        return f"<Process {self.name}>"


_process: ContextVar[Process] = ContextVar("process")


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs processes by turns until `run_until` is satisfied."""

    def __init__(self, random: Random, on_step: Callable[[], None] | None = None) -> None:
        super().__init__()
        self._random = random
        self._on_step = on_step
        self._time = 0.0
        self._host = Process("host")
        self._runnable: list[Process] = []
        """Processes with something to run that are not paused, in the order in which they became so."""
        self._processes: set[Process] = set()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        """By time, and those of one time in the order in which they were set."""
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[Any]] = set()
        """Of processes that were started here; asyncio itself would let them be collected."""
        self.steps = 0
        self.failures: list[BaseException] = []

    def time(self) -> float:
        return self._time

    def start(self, process: Process, coroutine: Any) -> asyncio.Task[Any]:
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

    def call_in(self, process: Process, seconds: float, callback: Callable[[], object]) -> None:
        """Call something as part of a process, after a while."""
        self.call_later(seconds, callback, context=process.context)

    def pause(self, process: Process) -> None:
        """Let it stand still, between any two of its steps; timers that fall due wait for it."""
        process.paused = True
        if process in self._runnable:
            self._runnable.remove(process)

    def resume(self, process: Process) -> None:
        process.paused = False
        if process.ready and process not in self._runnable and not process.ended:
            self._runnable.append(process)

    def kill(self, process: Process) -> None:
        """End it where it stands: nothing of it runs again, no clean-up either, until the whole run is over."""
        process.ended = True
        if process in self._runnable:
            self._runnable.remove(process)

    def run(self, main: Any) -> Any:
        """Run a coroutine to its end, then everything else to its own, so that nothing is left to be collected.

        Garbage is not looked for meanwhile: when it is found depends on the whole process, and closing generators that
        are part of it takes steps. It would also take a fifth of the time.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self.run_until_complete(self.create_task(main))
        finally:
            steps, self._on_step = self.steps, None
            self._wind_up()
            self.close()
            self.steps = steps
            if collecting:
                gc.enable()

    def _wind_up(self) -> None:
        for process in self._processes:
            process.ended = False
            self.resume(process)
        for _ in range(_ROUNDS):
            tasks = asyncio.all_tasks(self)
            if not tasks:
                return
            for task in tasks:
                task.cancel()
            self.run_until_complete(asyncio.wait(tasks, timeout=60.0))
        raise RuntimeError(f"tasks do not end when they are cancelled: {tasks}")

    # What asyncio asks of a loop.

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

    def call_soon(
        self, callback: Callable[[Unpack[_Args]], object], *args: *_Args, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._enqueue(handle)
        return handle

    call_soon_threadsafe = call_soon  # there is but one thread

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[_Args]], object],
        *args: *_Args,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._time + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[_Args]], object], *args: *_Args, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def _enqueue(self, handle: asyncio.Handle) -> None:
        process = handle._context.get(_process, self._host)  # type: ignore[attr-defined]
        if not process.ready and not process.paused and not process.ended:
            self._runnable.append(process)
        process.ready.append(handle)

    def _run_once(self) -> None:
        while not self._stopping:  # type: ignore[attr-defined]
            if self._runnable:
                self._step()
            else:
                self._advance()

    def _step(self) -> None:
        """Run the next callback of one of the processes that can run."""
        runnable = self._runnable
        at = int(self._random.random() * len(runnable)) if len(runnable) > 1 else 0
        process = runnable[at]
        handle = process.ready.popleft()
        if not process.ready:
            runnable.pop(at)
        if handle._cancelled:
            return
        handle._run()
        self.steps += 1
        if self._on_step is not None:
            self._on_step()

    def _advance(self) -> None:
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        if not timers:
            raise RuntimeError("nothing runs and nothing is scheduled: the simulation would wait for ever")
        self._time = max(self._time, timers[0][0])
        while timers and timers[0][0] <= self._time:
            handle = heapq.heappop(timers)[2]
            if not handle._cancelled:
                self._enqueue(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def _process_events(self, event_list: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass
