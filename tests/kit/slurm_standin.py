"""A stand-in for Slurm's commands: `sbatch`, `squeue`, `sacct` and `scancel`, for machines without Slurm.

    python -m tests.kit.slurm_standin FOLDER sbatch --array=0-3 --job-name=x < script

It runs the tasks of arrays as processes, at most `SLOTS` at a time, with the states, output formats and messages of
Slurm. There is no daemon: every call first brings the queue up to date. Ended tasks leave the queue when a file `purge`
is in the folder, and accounting is off when a file `no-accounting` is. An option that the stand-in does not know is
refused, as Slurm refuses what it does not know.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any, NoReturn

SLOTS = 4
MOST = 1000
"""MaxArraySize is one more than the highest index."""
LIVE = ("PENDING", "RUNNING", "COMPLETING")
Task = dict[str, Any]


def refuse(command: str, message: str) -> NoReturn:
    print(f"{command}: error: {message}", file=sys.stderr)
    raise SystemExit(1)


def expand(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class Queue:
    """All tasks, in a file."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        path = folder / "queue.json"
        self.tasks: list[Task] = json.loads(path.read_text()) if path.exists() else []

    def save(self) -> None:
        (self.folder / "queue.json").write_text(json.dumps(self.tasks))

    def advance(self) -> None:
        """What a controller daemon would have done since the last call."""
        for task in self.tasks:
            if task["state"] in ("RUNNING", "COMPLETING"):
                self._look(task)
        free = SLOTS - sum(task["state"] in ("RUNNING", "COMPLETING") for task in self.tasks)
        for task in [each for each in self.tasks if each["state"] == "PENDING"][:free]:
            self._start(task)

    def _look(self, task: Task) -> None:
        exit_file = self._file(task, "exit")
        if exit_file.exists():
            code = int(exit_file.read_text())
            task["state"] = "CANCELLED" if task["cancelled"] else "COMPLETED" if code == 0 else "FAILED"
            task["end"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")

    def _start(self, task: Task) -> None:
        script, out = self.folder / f"{task['array']}.sh", self._file(task, "out")
        variables = {"SLURM_ARRAY_JOB_ID": str(task["array"]), "SLURM_ARRAY_TASK_ID": str(task["index"])}
        line = f'trap : TERM; "{script}" > "{out}" 2>&1; echo $? > "{out}.new"; mv "{out}.new" "$0"'
        command = ["/bin/sh", "-c", line, str(self._file(task, "exit"))]
        with open(os.devnull) as nothing:
            process = subprocess.Popen(
                command, env={"PATH": os.environ["PATH"], **variables}, cwd=task["folder"], start_new_session=True,
                stdin=nothing, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        task["state"], task["pid"] = "RUNNING", process.pid

    def _file(self, task: Task, kind: str) -> pathlib.Path:
        return self.folder / f"{task['array']}_{task['index']}.{kind}"

    def cancel(self, task: Task) -> None:
        task["cancelled"] = True
        if task["state"] == "PENDING":
            task["state"], task["end"] = "CANCELLED", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        elif task["state"] == "RUNNING":
            task["state"] = "COMPLETING"
            with contextlib.suppress(ProcessLookupError):
                os.killpg(task["pid"], signal.SIGTERM)


def sbatch(queue: Queue, arguments: list[str]) -> None:
    options = parsed(
        "sbatch", arguments, "--job-name", "--array", "--comment", "--chdir", "--export", flags=["--parsable"]
    )
    if options.export != "NONE":
        refuse("sbatch", "the stand-in passes no environment on")
    indexes = expand(options.array)
    if max(indexes) > MOST:
        refuse("sbatch", "Batch job submission failed: Invalid job array specification")
    number = 1 + max((task["array"] for task in queue.tasks), default=0)
    script = queue.folder / f"{number}.sh"
    text = sys.stdin.read()
    if not text.startswith("#!"):
        refuse("sbatch", "This does not look like a batch script.")
    script.write_text(text)
    script.chmod(0o755)
    for index in indexes:
        queue.tasks.append(
            {
                "array": number, "index": index, "name": options.job_name, "state": "PENDING", "cancelled": False,
                "folder": options.chdir or str(queue.folder), "end": "Unknown",
            }
        )  # fmt: skip
    queue.advance()
    print(number)


def squeue(queue: Queue, arguments: list[str]) -> None:
    options = parsed("squeue", arguments, "--states", "--format", flags=["--noheader", "--me", "--array"])
    if (options.states, options.format, options.array) != ("all", "%F|%K|%j|%T", True):
        refuse("squeue", "the stand-in knows only the options that are used")
    for task in queue.tasks:
        if task["state"] in LIVE or not (queue.folder / "purge").exists():
            print(f"{task['array']}|{task['index']}|{task['name']}|{task['state']}")


def sacct(queue: Queue, arguments: list[str]) -> None:
    options = parsed(
        "sacct", arguments, "--format", "--starttime", flags=["--noheader", "--parsable2", "--allocations"]
    )
    if (queue.folder / "no-accounting").exists():
        print("Slurm accounting storage is disabled", file=sys.stderr)
        raise SystemExit(1)
    if options.format != "JobID,JobName,State,End":
        refuse("sacct", "Invalid field requested")
    for task in queue.tasks:
        state = f"CANCELLED by {os.getuid()}" if task["state"] == "CANCELLED" else task["state"]
        shown = f"[{task['index']}]" if task["state"] == "PENDING" else task["index"]
        print(f"{task['array']}_{shown}|{task['name']}|{state}|{task['end']}")


def scancel(queue: Queue, arguments: list[str]) -> None:
    wanted = set(arguments)
    for task in queue.tasks:
        if f"{task['array']}_{task['index']}" in wanted:
            queue.cancel(task)


def parsed(command: str, arguments: list[str], *options: str, flags: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=command, allow_abbrev=False)
    for option in options:
        parser.add_argument(option, default="")
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    return parser.parse_args(arguments)


def main() -> None:
    folder, command, *arguments = sys.argv[1:]
    with open(pathlib.Path(folder) / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        queue = Queue(pathlib.Path(folder))
        queue.advance()
        {"sbatch": sbatch, "squeue": squeue, "sacct": sacct, "scancel": scancel}[command](queue, arguments)
        queue.save()


if __name__ == "__main__":
    main()
