"""Tasks as processes of this host.

Every task has a folder: `pid` and `exit` are written by a small shell around its command, `log` is what it prints. So a
controller that is started again finds its tasks, whether they still run or ended meanwhile. They run as the user of the
controller, without any isolation.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from jobrelay.kit.job import ManagedJob
from jobrelay.kit.tasks.command import INDEX_VARIABLE, TaskCommand
from jobrelay.kit.tasks.planning import Task, TaskId, TaskState
from jobrelay.kube.clock import Clock, SystemClock

__all__ = ["LocalTasks"]

_SHELL: Final = """
trap : TERM
echo $$ > "$0/pid.new" && mv "$0/pid.new" "$0/pid"
{ cd "$1" && shift && test ! -e "$0/stopping" && "$@"; } > "$0/log" 2>&1 < /dev/null
echo $? > "$0/exit.new" && mv "$0/exit.new" "$0/exit"
"""
"""Outlives the signal that stops its command, to note the exit code."""
_INHERITED: Final = ("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR")
"""What a task gets of the controller's environment, which may have secrets."""
_START_SECONDS: Final = 30.0


class LocalTasks:
    """Runs tasks below a folder."""

    def __init__(self, folder: pathlib.Path, *, clock: Clock | None = None) -> None:
        self._folder = folder.absolute()
        self._clock = clock or SystemClock()

    async def list(self, job: ManagedJob) -> Sequence[Task]:
        places = [each for each in self._of(job).glob("*-*") if each.is_dir()]
        return [self._task(each) for each in sorted(places)]

    async def start(self, job: ManagedJob, command: TaskCommand, tasks: Sequence[TaskId]) -> None:
        for task in tasks:
            place = self._place(job, task)
            place.mkdir(parents=True, exist_ok=True)
            index = {INDEX_VARIABLE: str(task.index)} if job.indexed else {}
            host = {name: os.environ[name] for name in _INHERITED if name in os.environ}
            environment = {**host, **index, **command.environment}
            (place / "grace").write_text(str(command.grace))
            _spawn([str(place), command.folder or str(place), *command.arguments], environment)

    async def stop(self, job: ManagedJob, tasks: Sequence[TaskId]) -> None:
        """Ask tasks to end; those that were asked before and have used up their grace period are killed."""
        for task in tasks:
            place = self._place(job, task)
            asked = place / "stopping"
            number = signal.SIGKILL if asked.exists() else signal.SIGTERM
            asked.touch()
            if (pid := _pid(place)) is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, number)

    async def remove(self, job: ManagedJob) -> None:
        shutil.rmtree(self._of(job), ignore_errors=True)

    def log(self, job: ManagedJob, task: TaskId) -> str:
        """What a task has printed."""
        return (self._place(job, task) / "log").read_text()

    def _of(self, job: ManagedJob) -> pathlib.Path:
        return self._folder / job.uid

    def _place(self, job: ManagedJob, task: TaskId) -> pathlib.Path:
        return self._of(job) / f"{task.index}-{task.attempt}"

    def _task(self, place: pathlib.Path) -> Task:
        index, attempt = place.name.split("-")
        state, ended = self._state(place)
        return Task(TaskId(int(index), int(attempt)), state, ended)

    def _state(self, place: pathlib.Path) -> tuple[TaskState, datetime | None]:
        pid, stopping = _pid(place), (place / "stopping").exists()
        if pid is not None:
            _reap(pid)
        if (end := place / "exit").exists():
            failed = TaskState.SUCCEEDED if end.read_text().strip() == "0" else TaskState.FAILED
            return (TaskState.STOPPED if stopping else failed), datetime.fromtimestamp(end.stat().st_mtime, UTC)
        if pid is None and self._age(place) < _START_SECONDS:
            return TaskState.QUEUED, None
        if pid is None or not _runs(pid, place):
            return (TaskState.STOPPED if stopping else TaskState.FAILED), self._clock.now()
        if stopping and self._age(place / "stopping") < int((place / "grace").read_text()):
            return TaskState.STOPPING, None
        return TaskState.RUNNING, None

    def _age(self, path: pathlib.Path) -> float:
        return self._clock.now().timestamp() - path.stat().st_mtime


def _spawn(arguments: list[str], environment: dict[str, str]) -> None:
    """Start the shell in a session of its own; nothing is waited for, and it outlives this process."""
    os.posix_spawn("/bin/sh", ["sh", "-c", _SHELL, *arguments], environment, setsid=True)


def _pid(place: pathlib.Path) -> int | None:
    try:
        return int((place / "pid").read_text())
    except (FileNotFoundError, ValueError):
        return None


def _reap(pid: int) -> None:
    """Take the exit code of an own child, which is a zombie until then; one of an earlier controller is no child."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _runs(pid: int, place: pathlib.Path) -> bool:
    """Whether the task's shell still runs; where /proc exists, another process with its pid is told apart."""
    try:
        os.kill(pid, 0)
        return str(place).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (ProcessLookupError, PermissionError):
        return False
    except FileNotFoundError:
        return not pathlib.Path("/proc/self").exists()
