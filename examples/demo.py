"""A fleet at work: Jobs submitted to one cluster run on three others, one of which is killed meanwhile.

    make demo        or: python examples/demo.py

Needs only this package. Exits with code 0 only if every Job ended as it should, and leaves no files behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import structlog

from jobrelay.fleet import MANAGEMENT, ClusterPlan, Fleet, FleetError, FleetPlan
from jobrelay.kube import Client, Object, connect
from jobrelay.kube.resource import JOBS

RELAY = "jobrelay.dev/relay"
ASSIGNMENT = "jobrelay.dev/assignment"
RUNTIME = "process" if sys.platform == "linux" else "scripted"
WORKERS = {"worker-1": "4", "worker-2": "2", "worker-3": "3"}
DOOMED = "worker-2"
LOST_AFTER = "3s"
PATIENCE = 90.0  # seconds, on a machine with much else to do; a free one needs about 15

TERMINAL = sys.stdout.isatty()
COLOURS = ("\033[1m", "\033[32m", "\033[31m", "\033[2m", "\033[0m")
BOLD, GREEN, RED, GREY, PLAIN = COLOURS if TERMINAL and "NO_COLOR" not in os.environ else [""] * 5


@dataclass(frozen=True)
class Task:
    """A Job of the batch, and how it should end."""

    name: str
    seconds: float
    cpu: str = "500m"
    delegated: bool = True
    pods: int = 1
    code: int = 0
    prefers: str = ""

    @property
    def end(self) -> str:
        return "Failed" if self.code else "Complete"

    def body(self) -> dict[str, Any]:
        command = f"echo {self.name} runs as process $$$$; sleep {self.seconds}; exit {self.code}"
        container = {"name": "main", "image": "busybox", "command": ["sh", "-c", command]}
        container["resources"] = {"requests": {"cpu": self.cpu}}
        script = {"jobrelay.dev/run-seconds": str(self.seconds), "jobrelay.dev/exit-code": str(self.code)}
        pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
        spec = {"template": {"metadata": {"annotations": script}, "spec": pod}, "backoffLimit": 0}
        spec |= {"parallelism": self.pods, "completions": self.pods}
        annotations = {"jobrelay.dev/preferred-clusters": self.prefers} if self.prefers else {}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": self.name, "namespace": "default", "annotations": annotations},
            "spec": spec | ({"managedBy": RELAY} if self.delegated else {}),
        }


BATCH = [
    Task("render-1", 2),
    Task("render-2", 6),
    Task("render-3", 6),
    Task("render-4", 6, prefers=DOOMED),
    Task("render-5", 6, prefers=DOOMED),
    Task("large", 4, cpu="3"),
    Task("array", 3, cpu="100m", pods=4),
    Task("broken", 1, code=3),
    Task("local-1", 2, delegated=False),
    Task("local-2", 3, delegated=False),
]


@dataclass
class Row:
    """A Job as it was last seen."""

    task: Task
    status: str = "Submitted"
    where: str = ""
    run: int = 0
    done: int = 0
    history: list[str] = field(default_factory=list)

    def take(self, job: Object) -> bool:
        """Whether something new is to be seen."""
        before = (self.status, self.where, self.run, self.done)
        found = job.decode()
        status = found.get("status", {})
        true = {one["type"] for one in status.get("conditions", ()) if one["status"] == "True"}
        started = "Running" if status.get("startTime") else "Waiting"
        self.status = next((word for word in ("Complete", "Failed") if word in true), started)
        self.done = status.get("succeeded", 0)
        to = json.loads(job.metadata.annotations.get(ASSIGNMENT, "{}"))
        self.where = to.get("cluster", "" if self.task.delegated else MANAGEMENT)
        self.run = to.get("epoch", 0)
        if self.where and self.history[-1:] != [self.where]:
            self.history.append(self.where)
        return before != (self.status, self.where, self.run, self.done)

    @property
    def ended(self) -> bool:
        return self.status in ("Complete", "Failed")

    @property
    def right(self) -> bool:
        """Whether it ended as it should, where it should."""
        task = self.task
        counted = self.done == (0 if task.code else task.pods)
        return self.status == task.end and counted and (self.where != MANAGEMENT) == task.delegated

    def line(self) -> str:
        colour = {"Complete": GREEN, "Failed": GREEN if self.right else RED, "Waiting": GREY}.get(self.status, "")
        kind = "delegated" if self.task.delegated else "standard"
        run = str(self.run) if self.run else "-"
        path = " -> ".join(self.history) if len(self.history) > 1 else self.where or "-"
        done = f"{self.done}/{self.task.pods}"
        return f"  {self.task.name:<10} {kind:<10} {colour}{self.status:<10}{PLAIN} {done:<5} {run:<4} {path}"


HEAD = f"  {'JOB':<10} {'KIND':<10} {'STATUS':<10} {'DONE':<5} {'RUN':<4} CLUSTER"


class Screen:
    """A table that is redrawn in a terminal, and one line for each change elsewhere."""

    def __init__(self, rows: dict[str, Row]) -> None:
        self._rows, self._began, self._drawn = rows, time.monotonic(), 0

    def table(self) -> None:
        if self._drawn:
            print(f"\033[{self._drawn}A", end="")
        lines = [HEAD, *(row.line() for row in self._rows.values())]
        for line in lines:
            print(f"{line}\033[K" if TERMINAL else line)
        self._drawn = len(lines) if TERMINAL else 0

    def changed(self, row: Row) -> None:
        if TERMINAL:
            self.table()
        else:
            print(f"  {time.monotonic() - self._began:5.1f} s {row.line()}", flush=True)

    def say(self, text: str) -> None:
        """A remark between the lines."""
        print(f"\n{BOLD}{text}{PLAIN}", flush=True)
        self._drawn = 0
        if TERMINAL:
            self.table()


async def follow(client: Client, rows: dict[str, Row], screen: Screen, version: str, fleet: Fleet) -> None:
    """Shows every change of the batch; kills a worker once it is at work."""
    killed = False
    while True:
        async with client.watch(JOBS, "default", resource_version=version) as events:
            async for event in events:
                version = event.object.resource_version
                row = rows.get(event.object.name)
                if row is None or not row.take(event.object):
                    continue
                screen.changed(row)
                if not killed and sum(each.status == "Running" and each.where == DOOMED for each in rows.values()) > 1:
                    killed = True
                    fleet.kill(DOOMED)
                    screen.say(
                        f"{DOOMED} was killed while running Jobs; they count as lost after {LOST_AFTER} and move"
                    )
                if all(each.ended for each in rows.values()):
                    return


async def work(fleet: Fleet) -> dict[str, Row]:
    """Submits the batch and waits for its end."""
    rows = {task.name: Row(task) for task in BATCH}
    async with connect(fleet.folder.kubeconfig(MANAGEMENT)) as client:
        version = (await client.list(JOBS, "default")).resource_version
        for task in BATCH:
            await client.create(JOBS, task.body())
        screen = Screen(rows)
        delegated = sum(task.delegated for task in BATCH)
        screen.say(f"{delegated} delegated and {len(BATCH) - delegated} standard Jobs, all submitted to {MANAGEMENT}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await follow(client, rows, screen, version, fleet)
    return rows


def show(fleet: Fleet, *arguments: str) -> None:
    """Runs our own command, as a user would."""
    print(f"\n{BOLD}$ jobrelay {' '.join(arguments)}{PLAIN}", flush=True)
    environment = os.environ | {"KUBECONFIG": str(fleet.folder.kubeconfig(MANAGEMENT))}
    command = [sys.executable, "-m", "jobrelay", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        print(f"  {line}")


def judge(rows: dict[str, Row]) -> bool:
    """The summary; whether all is as it should be."""
    moved = [row for row in rows.values() if len(row.history) > 1]
    wrong = [row for row in rows.values() if not row.right]
    print(f"\n{BOLD}Summary{PLAIN}")
    print(f"  {len(rows) - len(wrong)} of {len(rows)} Jobs ended as they should (one of them is meant to fail)")
    print(f"  {len(moved)} moved away from {DOOMED}: {', '.join(row.task.name for row in moved) or 'none'}")
    by_worker = {name: sum(row.where == name for row in rows.values()) for name in (*WORKERS, MANAGEMENT)}
    print("  ended on: " + ", ".join(f"{name} {count}" for name, count in by_worker.items()))
    for row in wrong:
        print(
            f"  {RED}wrong{PLAIN}: {row.task.name} should be {row.task.end}, "
            f"but is {row.status} on {row.where or 'no cluster'}"
        )
    if not moved:
        print(f"  {RED}wrong{PLAIN}: no Job was moved")
    return bool(moved) and not wrong


async def main(folder: pathlib.Path) -> int:
    began = time.monotonic()
    print(f"Starting a management cluster, {len(WORKERS)} unequal workers and the relay, each in its own process ...")
    common = ("--runtime", RUNTIME, "--memory")
    fleet = Fleet(
        FleetPlan(
            folder,
            (sys.executable, "-P", "-m", "jobrelay.cli.child"),
            ClusterPlan(MANAGEMENT, common),
            tuple(ClusterPlan(name, (*common, "--cpu", cpu)) for name, cpu in WORKERS.items()),
            ("--worker-lost-timeout", LOST_AFTER),
        )
    )
    async with fleet:
        print("  " + ", ".join(f"{name} ({cpu} CPUs)" for name, cpu in WORKERS.items()))
        print(f"  ready after {time.monotonic() - began:.1f} s")
        started = time.monotonic()
        rows = await work(fleet)
        took = time.monotonic() - started
        show(fleet, "get")
        show(fleet, "logs", "job/large")
        fine = judge(rows)
    print(f"\nThe batch took {took:.1f} s. Everything is stopped, and no files are left.")
    print("Next: .venv/bin/jobrelay up --workers 3     a fleet that keeps running; see docs/guides/relay.md")
    return 0 if fine else 1


def run() -> int:
    """Runs `main` so that Ctrl-C and SIGTERM clean up too."""

    async def guarded() -> int:
        task = asyncio.ensure_future(main(pathlib.Path(folder)))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            print("\nInterrupted; everything is stopped.")
            return 130
        except FleetError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1

    with tempfile.TemporaryDirectory(prefix="jobrelay-demo-") as folder:
        return asyncio.run(guarded())


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    sys.exit(run())
