"""Tasks as jobs of Slurm, by its commands: `sbatch` submits, `squeue` and `sacct` report states, `scancel` cancels.

The tasks that are started together are one job array, whose name has the Job's uid and the attempt. So nothing has to
be stored: a controller that is started again finds its jobs by their names, and a submission whose answer was lost is
not repeated. `squeue` shows what waits, runs or has ended lately. What has left the queue is asked of `sacct`; where
accounting is off, what ended while no controller ran is lost after Slurm's MinJobAge.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kit.job import ManagedJob
from jobrelay.kit.tasks.command import INDEX_VARIABLE, TaskCommand
from jobrelay.kit.tasks.errors import TaskError
from jobrelay.kit.tasks.planning import Task, TaskId, TaskState
from jobrelay.kube.clock import Clock, SystemClock, deadline

__all__ = ["SlurmCommands", "SlurmError", "SlurmTasks"]

_STATES: Final = {
    "PENDING": TaskState.QUEUED,
    "CONFIGURING": TaskState.QUEUED,
    "REQUEUED": TaskState.QUEUED,
    "REQUEUE_HOLD": TaskState.QUEUED,
    "SUSPENDED": TaskState.RUNNING,
    "RUNNING": TaskState.RUNNING,
    "RESIZING": TaskState.RUNNING,
    "SIGNALING": TaskState.RUNNING,
    "STOPPED": TaskState.RUNNING,
    "STAGE_OUT": TaskState.RUNNING,
    "COMPLETING": TaskState.STOPPING,
    "COMPLETED": TaskState.SUCCEEDED,
    "CANCELLED": TaskState.STOPPED,
}
"""Slurm's states; all others are failures."""
_LOST_SECONDS: Final = 60.0
_MOST_TASKS: Final = 4_000_001
"""The largest MaxArraySize that Slurm has."""
_NO_ACCOUNTING: Final = "accounting storage is disabled"
_ENDED: Final = (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED)


class SlurmError(TaskError):
    """A command of Slurm failed; the text is the command and what it printed."""


@dataclass(frozen=True, slots=True)
class SlurmCommands:
    """The commands, each with options of one's own, such as `("sbatch", "--partition=batch")`.

    `seconds` limits each call.
    """

    submit: tuple[str, ...] = ("sbatch",)
    queue: tuple[str, ...] = ("squeue",)
    accounting: tuple[str, ...] = ("sacct",)
    cancel: tuple[str, ...] = ("scancel",)
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class _ArrayTask:
    """A task as Slurm knows it: the id to cancel it by, and what it is for."""

    slurm_id: str
    task: Task
    gone: datetime | None = None
    """When it was first missed."""


class SlurmTasks:
    """Runs tasks by Slurm's commands."""

    def __init__(self, commands: SlurmCommands | None = None, *, clock: Clock | None = None) -> None:
        self._commands = commands or SlurmCommands()
        self._clock = clock or SystemClock()
        self._accounting = True
        self._seen: dict[str, dict[TaskId, _ArrayTask]] = {}

    async def list(self, job: ManagedJob) -> Sequence[Task]:
        return [each.task for each in (await self._known(job)).values()]

    async def start(self, job: ManagedJob, command: TaskCommand, tasks: Sequence[TaskId]) -> None:
        """Submit one array for each attempt."""
        by_attempt: defaultdict[int, list[int]] = defaultdict(list)
        for task in tasks:
            by_attempt[task.attempt].append(task.index)
        for attempt, indexes in sorted(by_attempt.items()):
            options = [
                f"--job-name={_name(job, attempt)}",
                f"--array={Indexes.of(indexes)}",
                f"--comment={job.namespace}/{job.name}",
                "--export=NONE",  # the controller's environment may have secrets
                "--parsable",
                *([f"--chdir={command.folder}"] if command.folder else []),
            ]
            printed = await self._call([*self._commands.submit, *options], _script(job, command))
            array = printed.strip().partition(";")[0]
            ids = [TaskId(index, attempt) for index in indexes]
            made = {id: _ArrayTask(f"{array}_{id.index}", Task(id, TaskState.QUEUED)) for id in ids}
            self._seen[job.uid] = self._seen.get(job.uid, {}) | made

    async def stop(self, job: ManagedJob, tasks: Sequence[TaskId]) -> None:
        known = await self._known(job)
        ids = [known[each].slurm_id for each in tasks if each in known]
        if ids:
            await self._call([*self._commands.cancel, *ids])

    async def remove(self, job: ManagedJob) -> None:
        """Slurm keeps its own history; only what was seen of it is forgotten."""
        self._seen.pop(job.uid, None)

    async def _known(self, job: ManagedJob) -> dict[TaskId, _ArrayTask]:
        """What the queue shows; what has left it is asked for once, and remembered."""
        queued = {each.task.id: each for each in await self._queued(job)}
        seen = self._seen.get(job.uid)
        gone = {id: each for id, each in (seen or {}).items() if id not in queued and each.task.state not in _ENDED}
        accounted: dict[TaskId, _ArrayTask] = {}
        if seen is None or gone:
            accounted = {each.task.id: each for each in await self._accounted(job)}
        lost = {id: self._lost(each) for id, each in gone.items() if id not in accounted}
        found = (seen or {}) | lost | accounted | queued
        self._seen[job.uid] = found
        return found

    def _lost(self, each: _ArrayTask) -> _ArrayTask:
        """A task that neither the queue nor the accounting knows: it has failed if that stays so for a while."""
        now = self._clock.now()
        if each.gone is None:
            return replace(each, gone=now)
        if (now - each.gone).total_seconds() < _LOST_SECONDS:
            return each
        return replace(each, task=replace(each.task, state=TaskState.FAILED, ended=now))

    async def _queued(self, job: ManagedJob) -> Iterable[_ArrayTask]:
        options = ["--noheader", "--me", "--array", "--states=all", "--format=%F|%K|%j|%T"]
        return self._read(job, (await self._call([*self._commands.queue, *options])).splitlines())

    async def _accounted(self, job: ManagedJob) -> Iterable[_ArrayTask]:
        if not self._accounting:
            return ()
        created = job.object.metadata.creation_timestamp or ""
        options = [
            "--noheader", "--parsable2", "--allocations", f"--starttime={created.removesuffix('Z')}",
            "--format=JobID,JobName,State,End",
        ]  # fmt: skip
        try:
            text = await self._call([*self._commands.accounting, *options], utc=True)
        except SlurmError as error:
            if _NO_ACCOUNTING not in str(error):
                raise
            self._accounting = False
            return ()
        lines = [line for row in text.splitlines() for line in _expanded(row)]
        return [each for each in self._read(job, lines) if each.task.state in _ENDED]

    def _read(self, job: ManagedJob, lines: Iterable[str]) -> Iterable[_ArrayTask]:
        """Lines of array id, index, name, state and maybe the end."""
        prefix = _name(job, "")
        for line in lines:
            array, index, name, state, *more = line.split("|")
            if name.startswith(prefix) and index.isdecimal():
                found = _STATES.get(state.partition(" ")[0], TaskState.FAILED)
                task = Task(TaskId(int(index), int(name.removeprefix(prefix))), found, self._end(found, more))
                yield _ArrayTask(f"{array}_{index}", task)

    def _end(self, state: TaskState, more: Sequence[str]) -> datetime | None:
        if state not in _ENDED:
            return None
        try:
            return datetime.fromisoformat(more[0]).replace(tzinfo=UTC)
        except (IndexError, ValueError):
            return None

    async def _call(self, command: Sequence[str], stdin: str = "", *, utc: bool = False) -> str:
        """Run a command; with `utc`, its times are UTC."""
        arguments = ["env", "TZ=UTC", *command] if utc else command
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise SlurmError(f"{command[0]} cannot be run: {error.strerror}") from error
        try:
            async with deadline(self._clock, self._commands.seconds):
                printed, problem = await process.communicate(stdin.encode())
        except TimeoutError as error:
            process.kill()
            await process.wait()
            raise SlurmError(f"{command[0]} did not end within {self._commands.seconds:g} seconds") from error
        if process.returncode != 0:
            raise SlurmError(f"{shlex.join(command)} failed: {(problem or printed).decode(errors='replace').strip()}")
        return printed.decode(errors="replace")


def _expanded(row: str) -> Iterable[str]:
    """A line of `sacct` for each task: some that never ran share one, as `17_[3,5-7%2]`."""
    id, _, rest = row.partition("|")
    array, _, index = id.partition("_")
    if not index.startswith("["):
        return [f"{array}|{index}|{rest}"]
    indexes = Indexes.parse(index.strip("[]").partition("%")[0], _MOST_TASKS)
    return [f"{array}|{each}|{rest}" for each in indexes]


def _name(job: ManagedJob, attempt: object) -> str:
    return f"{job.uid}.{attempt}"


def _script(job: ManagedJob, command: TaskCommand) -> str:
    variables = [f"export {name}={shlex.quote(value)}" for name, value in command.environment.items()]
    if job.indexed:
        variables.insert(0, f"export {INDEX_VARIABLE}=$SLURM_ARRAY_TASK_ID")
    return "\n".join(["#!/bin/sh", *variables, f"exec {shlex.join(command.arguments)}", ""])
