"""Runs one `MirrorController` for each registered worker, and the `WorkerEvents` of each connected one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from random import Random

from jobrelay.kube import Client, EventRecorder
from jobrelay.relay.copying.held import HeldCopies
from jobrelay.relay.copying.sources import CopySources
from jobrelay.relay.copying.sweeping import CopySweep
from jobrelay.relay.copying.worker import WorkerDependencies
from jobrelay.relay.dispatcher import Dispatcher
from jobrelay.relay.kept_logs.keeper import LogKeeper, LogStore
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.mirror_controller import MirrorController
from jobrelay.relay.mirrors.context import MirrorContext
from jobrelay.relay.snapshot_builder import SnapshotBuilder
from jobrelay.relay.state import RelayState
from jobrelay.relay.worker_events import WorkerEvents
from jobrelay.relay.workers import Registry, WorkerConnection
from jobrelay.relay.workers.tasks import OwnedTasks


class _RunningWorker:
    """What runs for one worker, and how to undo its subscriptions."""

    def __init__(self, worker: WorkerConnection, controller: MirrorController, task: asyncio.Task[None]) -> None:
        self.worker, self.controller, self.task = worker, controller, task
        self.events: asyncio.Task[None] | None = None
        """Runs while the worker is connected."""
        self.unfit = worker.mirrors.unfit
        """The kinds that it could not run when it was last checked."""
        self.sweep: asyncio.Task[None] | None = None
        """Runs if anything may be copied there."""
        self.keeper: LogKeeper | None = None
        self.undo: list[Callable[[], None]] = []


class WorkerControllers:
    """Starts a controller when a worker is registered and stops it when the worker is removed.

    `logs` is where logs of removed mirrors are kept, if they are; they are read over connections that `reach` opens.
    """

    def __init__(
        self,
        state: RelayState,
        snapshots: SnapshotBuilder,
        dispatcher: Dispatcher,
        registry: Registry,
        recorder: EventRecorder,
        metrics: RelayMetrics,
        sources: CopySources,
        logs: LogStore | None,
        *,
        reach: Callable[[str], AbstractAsyncContextManager[Client]],
        leads: Callable[[], bool],
        grace: float,
        random: Random,
    ) -> None:
        self._state, self._snapshots, self._dispatcher, self._registry = state, snapshots, dispatcher, registry
        self._recorder, self._metrics, self._leads, self._grace = recorder, metrics, leads, grace
        self._random, self._sources = random, sources
        self._logs, self._reach = logs, reach
        self._running: dict[str, _RunningWorker] = {}
        self._tasks = OwnedTasks()

    def controller(self, worker: str) -> MirrorController:
        return self._running[worker].controller

    async def run(self) -> None:
        """Follow the registry until cancelled."""
        self._state.started_leading()
        stops = [
            self._registry.subscribe(self._registration_changed),
            self._registry.proofs.subscribe(self._keys_changed),
        ]
        try:
            for name in list(self._registry.workers):
                self._registration_changed(name)
            await asyncio.Event().wait()
        finally:
            for stop in stops:
                stop()
            self._dispatcher.pending.close()
            for name in list(self._running):
                self._stop(name)
            await self._tasks.wait()

    def _registration_changed(self, name: str) -> None:
        worker, running = self._registry.workers.get(name), self._running.get(name)
        if running is not None and running.worker is not worker:
            self._stop(name)
        if worker is not None and name not in self._running:
            self._start(worker)
        self._dispatcher.enqueue_assigned(name)
        self._dispatcher.pending.retry_soon()

    def _keys_changed(self) -> None:
        """Queue all mirrors again, so that they get proofs by the new key."""
        for running in self._running.values():
            if running.worker.connected:
                self._dispatcher.worker_connected(running.worker)

    def _start(self, worker: WorkerConnection) -> None:
        queue, remove = self._dispatcher.add_worker(worker)
        state = self._state
        copies = HeldCopies(worker, self._registry.proofs, state.clock, self._metrics)
        context = MirrorContext(
            state,
            worker,
            queue,
            self._recorder,
            self._metrics,
            enqueue_original=self._dispatcher.originals.add,
            enqueue_run=self._dispatcher.enqueue_run,
        )
        dependencies = WorkerDependencies(worker, state.dependencies, self._sources, copies)
        keeper = LogKeeper(self._logs, worker.name, self._reach, state.clock) if self._logs is not None else None
        controller = MirrorController(
            context, self._snapshots, dependencies, keeper, leads=self._leads, grace=self._grace
        )
        task = self._tasks.start(controller.controller.run(), controller.controller.name)
        running = self._running[worker.name] = _RunningWorker(worker, controller, task)
        running.keeper = keeper
        if state.settings.copies:
            sweep = CopySweep(worker, copies, state)
            running.sweep = self._tasks.start(sweep.run(), f"copies on {worker.name}")
        running.undo = [remove, worker.subscribe(lambda: self._worker_changed(running))]
        self._worker_changed(running)

    def _stop(self, name: str) -> None:
        running = self._running.pop(name)
        for undo in running.undo:
            undo()
        running.task.cancel()
        if running.sweep is not None:
            running.sweep.cancel()
        if running.keeper is not None:
            self._tasks.start(running.keeper.close(), f"logs of {name}")
        self._stop_events(running)

    def _worker_changed(self, running: _RunningWorker) -> None:
        worker = running.worker
        if worker.connected and running.events is None:
            events = WorkerEvents(worker, self._state.kinds, self._recorder, self._state.clock, self._random)
            running.events = self._tasks.start(events.run(), f"events of {worker.name}")
            self._dispatcher.worker_connected(worker)
        elif running.events is not None and not worker.connected:
            self._stop_events(running)
            self._metrics.losses.labels(worker.name).inc()
            self._dispatcher.enqueue_assigned(worker.name)
        elif worker.connected and running.unfit is not worker.mirrors.unfit:
            self._dispatcher.kinds_changed(worker, _differences(running.unfit, worker.mirrors.unfit))
        running.unfit = worker.mirrors.unfit
        self._dispatcher.worker_changed(worker)

    def _stop_events(self, running: _RunningWorker) -> None:
        if running.events is not None:
            running.events.cancel()
            running.events = None


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [kind for kind in {**old, **new} if old.get(kind) != new.get(kind)]
