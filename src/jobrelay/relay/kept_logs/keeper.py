"""Keeps the logs of one worker's mirrors before they are removed.

A mirror is removed in two steps: first its log is read by a task of its own, then the mirror is reconciled again and
removed. So a log never occupies the controller. Each takes a few seconds at most, over a connection of its own, since a
kubelet that hangs says nothing about the API server of its cluster. After one that took too long, mirrors of this
worker are removed without their logs for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Client, Clock, KubeError, Object
from jobrelay.kube.clock import deadline
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.logs import get_logger
from jobrelay.relay.kept_logs.collecting import collect_logs
from jobrelay.relay.kept_logs.kept import KeptLog, config_map
from jobrelay.relay.mirror_pods.listing import MirrorPods
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot

log = get_logger(__name__)

WITHIN: Final = 5.0
"""How many seconds a removal waits for its log at most, beside those before it."""
_AT_ONCE: Final = 4
_MOST_WAITING: Final = 200
_PAUSE: Final = 60.0
_FIELD_MANAGER: Final = "jobrelay"


class LogStore:
    """Where logs are kept: `client` reaches the management cluster, `namespace` is the relay's."""

    def __init__(self, client: Client, namespace: str, per_pod: int) -> None:
        self._client, self._namespace, self.per_pod = client, namespace, per_pod

    async def put(self, original: Object, kind: str, kept: KeptLog) -> None:
        """Keep a log in place of one of an earlier run; raises KubeError."""
        body = config_map(self._namespace, original.uid, f"{kind} {original.key}", kept)
        await self._client.apply(CONFIGMAPS, body, field_manager=_FIELD_MANAGER, force=True)


class LogKeeper:
    """The logs of one worker; `reach` connects to it, or raises KubeError."""

    def __init__(
        self, store: LogStore, worker: str, reach: Callable[[str], AbstractAsyncContextManager[Client]], clock: Clock
    ) -> None:
        self._store, self._worker, self._reach, self._clock = store, worker, reach, clock
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """By uid of a mirror: what takes its log, or has."""
        self._paused_until = 0.0

    def is_taken(self, snapshot: WorkloadSnapshot | None, mirror: Mirror, again: Callable[[], None]) -> bool:
        """Whether a mirror can be removed. If its log is to be taken first, that is begun, and `again` called after."""
        task = self._tasks.get(mirror.obj.uid)
        if task is not None:
            if task.done():
                del self._tasks[mirror.obj.uid]
            return task.done()
        if len(self._tasks) >= _MOST_WAITING:  # some are of mirrors that are gone and not reconciled again
            self._tasks = {uid: task for uid, task in self._tasks.items() if not task.done()}
        paused = self._clock.monotonic() < self._paused_until or len(self._tasks) >= _MOST_WAITING
        if snapshot is None or paused or not _is_wanted(snapshot, mirror):
            return True
        task = asyncio.create_task(self._take(snapshot, mirror), name=f"log of {mirror.obj.key} on {self._worker}")
        self._tasks[mirror.obj.uid] = task
        task.add_done_callback(lambda done: None if done.cancelled() else again())
        return False

    async def close(self) -> None:
        """End what is under way."""
        tasks = [task for task in self._tasks.values() if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._tasks.clear()

    async def _take(self, snapshot: WorkloadSnapshot, mirror: Mirror) -> None:
        async with self._slots:
            if self._clock.monotonic() < self._paused_until:
                return
            try:
                async with deadline(self._clock, WITHIN):
                    await self._keep(snapshot, mirror)
            except TimeoutError:
                self._paused_until = self._clock.monotonic() + _PAUSE
                log.warning("logs of a worker take too long, and are not kept for a while", worker=self._worker)
            except KubeError as error:
                log.info("the log of a mirror is not kept", mirror=str(mirror.obj.key), error=str(error))

    async def _keep(self, snapshot: WorkloadSnapshot, mirror: Mirror) -> None:
        async with self._reach(self._worker) as client:
            taken = await collect_logs(MirrorPods(client, snapshot.adapter, mirror.obj), self._store.per_pod)
        if taken:
            kept = KeptLog(self._worker, mirror.epoch, format_time(self._clock.now()), taken)
            await self._store.put(snapshot.original, snapshot.kind, kept)


def _is_wanted(snapshot: WorkloadSnapshot, mirror: Mirror) -> bool:
    """Whether somebody may ask for a log, and no harm comes of removing the mirror later: one that may run beside a new
    run is removed at once."""
    if snapshot.original.deleting or not snapshot.delegated or mirror.facts.started is None:
        return False
    waited_for = any(run.epoch == mirror.epoch for run in snapshot.held)
    return mirror.facts.end is not None or waited_for or snapshot.workload.end is not None
