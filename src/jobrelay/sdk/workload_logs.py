"""The logs of a workload wherever it runs: waits for a worker, and follows it to the next one when it moves.

A watch of the original shows each assignment and the end. The mirror of the current assignment is followed by a task
of its own; a new assignment cancels it, since an earlier run has no more to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from jobrelay.kube import Client, Connection, KubeError, Object, TransportError, connect
from jobrelay.operate.errors import OperateError
from jobrelay.relay.kept_logs.kept import LogChoice, chosen_lines
from jobrelay.relay.kept_logs.reading import kept_notice, read_kept
from jobrelay.relay.worker_assignment import WorkerAssignment, assignment_of
from jobrelay.sdk.errors import RelayError
from jobrelay.sdk.explaining import sentence_of
from jobrelay.sdk.following import versions
from jobrelay.sdk.pod_logs import Emit, LogLine, LogOptions, MirrorLogs
from jobrelay.sdk.progress import WorkloadProgress
from jobrelay.sdk.relay_api import RelayAddress
from jobrelay.sdk.workloads import get_workload
from jobrelay.workloads import Adapter

__all__ = ["WorkloadLogs"]

_LOOK_AGAIN = 0.25


class WorkloadLogs:
    """The logs of one workload; `note` is called with what the reader should know besides the lines."""

    def __init__(
        self,
        client: Client,
        at: RelayAddress,
        adapter: Adapter,
        name: str,
        namespace: str,
        options: LogOptions,
        note: Callable[[str], None],
    ) -> None:
        self._client, self._at, self._adapter = client, at, adapter
        self._name, self._namespace = name, namespace
        self._options, self._note = options, note

    @property
    def _shown(self) -> str:
        return f"{self._adapter.resource.kind.lower()}/{self._name}"

    async def read(self, emit: Emit, within: float) -> None:
        """The log of the last run so far; waits these seconds for its first pod. Raises RelayError and KubeError."""
        end = asyncio.get_running_loop().time() + within
        original = await get_workload(self._client, self._adapter, self._name, self._namespace)
        to = assignment_of(original)
        if to is None:
            original, to = await self._assigned(end)
        async with connect(await self._worker(to), brief=True) as there:
            logs = MirrorLogs(there, to.cluster, self._adapter, original, self._options, self._note)
            if self._adapter.read(original).end is not None and await self._read_kept(original, emit, logs):
                return
            await _until_started(logs, to, end)
            await logs.read(emit)

    async def _read_kept(self, original: Object, emit: Emit, logs: MirrorLogs) -> bool:
        """What the relay has kept of a workload whose pods are gone; whether there was something."""
        kept = None if await logs.started() else await read_kept(self._client, self._at.relay_namespace, original.uid)
        if kept is None:
            return False
        options = self._options
        since = datetime.now(UTC) - timedelta(seconds=options.since) if options.since is not None else None
        index = "" if options.index is None else str(options.index)
        choice = LogChoice(options.container, "", index, options.timestamps, options.tail, since)
        self._note(kept_notice(kept))
        for log, line in chosen_lines(kept, choice):
            await emit(LogLine(kept.cluster, log.pod, log.container, line.encode()))
        return True

    async def follow(self, emit: Emit) -> None:
        """Everything up to the end of the workload; raises OperateError and KubeError."""
        try:
            async with asyncio.TaskGroup() as tasks, self._progress() as progress:
                await self._follow(tasks, progress, emit)
        except* (KubeError, OperateError) as errors:
            raise errors.exceptions[0] from None

    def _progress(self) -> WorkloadProgress:
        async def why() -> str:
            return await sentence_of(self._client, self._at, self._adapter, self._name, self._namespace)

        return WorkloadProgress(self._adapter, self._shown, why, self._note)

    async def _follow(self, tasks: asyncio.TaskGroup, progress: WorkloadProgress, emit: Emit) -> None:
        over, run, following = asyncio.Event(), None, None
        async for original in versions(self._client, self._adapter, self._name, self._namespace):
            progress.update(original)
            to = assignment_of(original)
            if to is not None and to.run.key != run:
                if following is not None:
                    following.cancel()
                run, following = to.run.key, tasks.create_task(self._follow_run(original, to, emit, over))
            if self._adapter.read(original).end is not None:
                over.set()
                return

    async def _follow_run(self, original: Object, to: WorkerAssignment, emit: Emit, over: asyncio.Event) -> None:
        """A worker that is lost ends this, but not the whole: the workload may move."""
        connection = await self._worker(to)
        try:
            async with connect(connection, brief=True) as there:
                logs = MirrorLogs(there, to.cluster, self._adapter, original, self._options, self._note)
                if not over.is_set() or not await self._read_kept(original, emit, logs):
                    await logs.follow(emit, over)
        except TransportError as error:
            self._note(f"the logs on {to.cluster} break off: {error}")

    async def _assigned(self, end: float) -> tuple[Object, WorkerAssignment]:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                async for original in versions(self._client, self._adapter, self._name, self._namespace):
                    to = assignment_of(original)
                    if to is not None:
                        return original, to
        hint = f"`jobrelay explain {self._shown} -n {self._namespace}` says why"
        raise RelayError(f"no worker runs {self._adapter.resource.kind} {self._namespace}/{self._name} yet", hint)

    async def _worker(self, to: WorkerAssignment) -> Connection:
        from jobrelay.operate.registry import worker_connection

        return await worker_connection(self._client, to.cluster, self._at.relay_namespace)


async def _until_started(logs: MirrorLogs, to: WorkerAssignment, end: float) -> None:
    """Wait for the first pod that has started."""
    while not await logs.started():
        if asyncio.get_running_loop().time() >= end:
            raise RelayError(f"no pod of {logs.described} has started on worker {to.cluster}", await logs.why_none())
        await asyncio.sleep(_LOOK_AGAIN)
