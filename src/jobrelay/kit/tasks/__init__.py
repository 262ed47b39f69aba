"""Jobs as tasks: controllers for this host (`LocalTasks`) and for a batch system (`SlurmTasks`).

    runner = LocalTasks(pathlib.Path("/var/lib/tasks"))
    await TaskController(client, "example.com/local", runner).run()

A `TaskRunner` starts, stops and lists tasks; which ones, and what follows for the Job, is decided by `plan_tasks`.
"""

from __future__ import annotations

from .command import TaskCommand
from .controller import TaskController, TaskRunner
from .errors import TaskError, Unsupported
from .local import LocalTasks
from .planning import Task, TaskId, TaskPlan, TaskState, plan_tasks
from .slurm import SlurmCommands, SlurmError, SlurmTasks

__all__ = [
    "LocalTasks", "SlurmCommands", "SlurmError", "SlurmTasks", "Task", "TaskCommand", "TaskController", "TaskError",
    "TaskId", "TaskPlan", "TaskRunner", "TaskState", "Unsupported", "plan_tasks",
]  # fmt: skip
