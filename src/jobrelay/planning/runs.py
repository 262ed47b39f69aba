"""Runs of Jobs on workers: the work of the Job controllers, schedulers and nodes of a plan.

A run has up to `pods` pods at a time until `completions` of them have ended. Pods that begin together are one batch, so
that a Job of a hundred pods needs one event and not a hundred. Pods that find no node wait on their worker, in the
order of their kinds and of their creation, and are tried again when others have ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from jobrelay.planning.clock import VirtualClock, VirtualTimer
from jobrelay.planning.trace import TraceJob
from jobrelay.planning.worker import Bound, PlannedWorker


class Batch:
    """Pods of a run that began at the same time."""

    __slots__ = ("began", "bound", "pods", "timer")

    def __init__(self, bound: Bound, began: float) -> None:
        self.bound, self.began = bound, began
        self.pods = sum(pods for _, pods in bound)
        self.timer: VirtualTimer | None = None


class PlannedRun:
    """One run of a Job on a worker."""

    __slots__ = ("batches", "done", "job", "left", "number", "waiting", "worker")

    def __init__(self, number: int, job: TraceJob, worker: PlannedWorker) -> None:
        self.number = number
        """Of the Job."""
        self.job, self.worker = job, worker
        self.left = job.shape.completions
        """Pods that are not created yet."""
        self.waiting = 0
        """Pods that wait for a node."""
        self.done = 0
        self.batches: dict[Batch, None] = {}


class RunListener(Protocol):
    """Is notified of the progress of runs."""

    def started(self, run: PlannedRun, batch: Batch) -> None:
        """Pods of a run have begun."""

    def progressed(self, run: PlannedRun, batch: Batch) -> None:
        """Pods of a run have ended, but not the last ones."""

    def completed(self, run: PlannedRun, batch: Batch) -> None:
        """The last pods of a run have ended."""

    def interrupted(self, run: PlannedRun, batch: Batch) -> None:
        """Pods of a run were stopped."""


class Runs:
    """Starts, ends and stops the pods of all workers. `changed` hears of workers whose room changed."""

    def __init__(
        self, clock: VirtualClock, workers: Sequence[PlannedWorker], listener: RunListener,
        changed: Callable[[PlannedWorker], None],
    ) -> None:  # fmt: skip
        self._clock, self._listener, self._changed = clock, listener, changed
        self._runs: dict[str, dict[PlannedRun, None]] = {worker.name: {} for worker in workers}
        self._waiting: dict[str, dict[str, deque[PlannedRun]]] = {worker.name: {} for worker in workers}

    def on(self, worker: PlannedWorker) -> list[PlannedRun]:
        """The runs of a worker that have not ended."""
        return list(self._runs[worker.name])

    def start(self, run: PlannedRun) -> None:
        self._runs[run.worker.name][run] = None
        if not run.worker.stopped:
            self._create(run, min(run.job.shape.pods, run.left))
        self._changed(run.worker)

    def stop(self, run: PlannedRun) -> None:
        """Stop the pods of a run and forget it."""
        self._interrupt(run)
        self._runs[run.worker.name].pop(run, None)
        self._schedule(run.worker)
        self._changed(run.worker)

    def halt(self, worker: PlannedWorker) -> None:
        """All pods of a worker stop; those that had ended stay ended."""
        worker.stopped = True
        for run in self.on(worker):
            self._interrupt(run)
        self._changed(worker)

    def resume(self, worker: PlannedWorker) -> None:
        """Restart the pods that `halt` stopped."""
        worker.stopped = False
        for run in self.on(worker):
            self._create(run, min(run.job.shape.pods, run.left))
        self._changed(worker)

    def _create(self, run: PlannedRun, pods: int) -> None:
        """Create pods: those that fit begin, the others wait."""
        run.left -= pods
        rest = pods - self._bind(run, pods)
        if not rest:
            return
        if not run.waiting:
            self._waiting[run.worker.name].setdefault(run.job.shape.demand.shape, deque()).append(run)
        run.waiting += rest
        run.worker.pending += rest

    def _bind(self, run: PlannedRun, pods: int) -> int:
        bound = run.worker.bind(run.job.shape, pods)
        if not bound:
            return 0
        batch = Batch(bound, self._clock.monotonic())
        run.batches[batch] = None
        batch.timer = self._clock.call_later(run.job.duration, partial(self._ended, run, batch))
        self._listener.started(run, batch)
        return batch.pods

    def _ended(self, run: PlannedRun, batch: Batch) -> None:
        worker, shape = run.worker, run.job.shape
        del run.batches[batch]
        worker.unbind(shape, batch.bound)
        run.done += batch.pods
        self._schedule(worker)
        if run.done == shape.completions:
            del self._runs[worker.name][run]
            self._listener.completed(run, batch)
        else:
            if more := min(batch.pods, run.left):
                self._create(run, more)
            self._listener.progressed(run, batch)
        self._changed(worker)

    def _schedule(self, worker: PlannedWorker) -> None:
        """Bind waiting pods; a kind is left at its first run that finds no room for all of its pods."""
        kinds = self._waiting[worker.name]
        for shape in list(kinds) if kinds and not worker.stopped else ():
            while kinds[shape] and self._bind_waiting(kinds[shape][0]):
                kinds[shape].popleft()
            if not kinds[shape]:
                del kinds[shape]

    def _bind_waiting(self, run: PlannedRun) -> bool:
        bound = self._bind(run, run.waiting)
        run.waiting -= bound
        run.worker.pending -= bound
        return not run.waiting

    def _interrupt(self, run: PlannedRun) -> None:
        """Stop the pods of a run; they are left to be created again."""
        for batch in run.batches:
            assert batch.timer is not None
            batch.timer.cancel()
            run.worker.unbind(run.job.shape, batch.bound)
            run.left += batch.pods
            self._listener.interrupted(run, batch)
        run.batches.clear()
        if run.waiting:
            kinds, shape = self._waiting[run.worker.name], run.job.shape.demand.shape
            kinds[shape].remove(run)
            if not kinds[shape]:
                del kinds[shape]
            run.worker.pending -= run.waiting
            run.left += run.waiting
            run.waiting = 0
