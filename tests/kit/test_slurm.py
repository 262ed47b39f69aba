"""How the output of Slurm's commands is read."""

from __future__ import annotations

import pathlib
import shlex
from datetime import UTC, datetime, timedelta

import pytest

from jobrelay.kit.tasks import SlurmCommands, SlurmError, SlurmTasks, Task, TaskCommand, TaskId, TaskState
from jobrelay.kube import FakeClock

from .test_planning import managed

COMMAND = TaskCommand(("true",), {}, "", 30)
END = "2024-01-01T00:07:00"


class SetClock(FakeClock):
    """A clock that a test sets."""

    passed = timedelta()

    def now(self) -> datetime:
        return super().now() + self.passed


def printing(text: str) -> tuple[str, ...]:
    return ("sh", "-c", f"printf %s {shlex.quote(text)}")


def failing(text: str) -> tuple[str, ...]:
    return ("sh", "-c", f"echo {shlex.quote(text)} >&2; exit 1")


async def listed(queue: str = "", accounting: str = "") -> list[Task]:
    commands = SlurmCommands(queue=printing(queue), accounting=printing(accounting))
    return sorted(await SlurmTasks(commands).list(managed()), key=lambda task: task.id)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("PENDING", TaskState.QUEUED),
        ("RUNNING", TaskState.RUNNING),
        ("COMPLETING", TaskState.STOPPING),
        ("COMPLETED", TaskState.SUCCEEDED),
        ("CANCELLED", TaskState.STOPPED),
        ("FAILED", TaskState.FAILED),
        ("OUT_OF_MEMORY", TaskState.FAILED),
        ("NODE_FAIL", TaskState.FAILED),
        ("TIMEOUT", TaskState.FAILED),
    ],
)
async def test_states(text: str, state: TaskState) -> None:
    assert await listed(f"17|3|u.2|{text}\n") == [Task(TaskId(3, 2), state)]


async def test_jobs_of_others_are_left_out() -> None:
    assert await listed("17|3|other.0|RUNNING\n18|N/A|u.0|RUNNING\n19|0|u-0|RUNNING\n") == []


async def test_what_ended_is_read_from_the_accounting() -> None:
    found = await listed(accounting=f"17_0|u.0|COMPLETED|{END}\n17_1|u.0|RUNNING|Unknown\n")
    assert found == [Task(TaskId(0, 0), TaskState.SUCCEEDED, datetime(2024, 1, 1, 0, 7, tzinfo=UTC))]


async def test_tasks_that_never_ran_share_a_line_of_the_accounting() -> None:
    found = await listed(accounting=f"17_[1,3-4%2]|u.0|CANCELLED by 0|{END}\n")
    assert [task.id.index for task in found] == [1, 3, 4]
    assert {task.state for task in found} == {TaskState.STOPPED}


async def test_the_queue_counts_more_than_the_accounting() -> None:
    found = await listed("17|0|u.0|RUNNING\n", f"17_0|u.0|FAILED|{END}\n")
    assert [task.state for task in found] == [TaskState.RUNNING]


async def test_accounting_that_is_off_is_not_asked_again(tmp_path: pathlib.Path) -> None:
    off = ("sh", "-c", f"echo asked >> {tmp_path}/asked; echo Slurm accounting storage is disabled >&2; exit 1")
    tasks, job = SlurmTasks(SlurmCommands(queue=printing("17|0|u.0|RUNNING\n"), accounting=off)), managed()
    for _ in range(2):
        assert len(await tasks.list(job)) == 1
        await tasks.remove(job)
    assert (tmp_path / "asked").read_text() == "asked\n"


async def test_other_failures_are_told_with_the_command() -> None:
    tasks = SlurmTasks(SlurmCommands(queue=failing("Unable to contact slurm controller")))
    with pytest.raises(SlurmError, match=r"--states=all .* failed: Unable to contact slurm controller"):
        await tasks.list(managed())


async def test_a_command_that_is_missing_is_told() -> None:
    with pytest.raises(SlurmError, match="no-such-command cannot be run: No such file"):
        await SlurmTasks(SlurmCommands(queue=("no-such-command",))).list(managed())


async def test_a_task_that_nobody_knows_any_more_has_failed_after_a_while() -> None:
    clock = SetClock()
    commands = SlurmCommands(
        submit=printing("17;cluster\n"), queue=printing(""), accounting=printing(""), cancel=printing("")
    )
    tasks, job = SlurmTasks(commands, clock=clock), managed()
    await tasks.list(job)
    await tasks.start(job, COMMAND, [TaskId(0, 0)])
    assert [task.state for task in await tasks.list(job)] == [TaskState.QUEUED]
    clock.passed = timedelta(seconds=61)
    assert [task.state for task in await tasks.list(job)] == [TaskState.FAILED]
