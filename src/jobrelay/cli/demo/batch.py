"""The batch of the demo: which Jobs there are, how each should end, and how each was last seen."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import click

from jobrelay.cli.colours import in_tone
from jobrelay.fleet import MANAGEMENT
from jobrelay.kube import Object
from jobrelay.sdk.tones import tone

__all__ = [
    "BATCH",
    "DOOMED",
    "LOST_AFTER",
    "RUNTIME",
    "WORKERS",
    "DemoJob",
    "DemoRow",
    "Screen",
]

RELAY = "jobrelay.dev/relay"
ASSIGNMENT = "jobrelay.dev/assignment"
RUNTIME = "process" if sys.platform == "linux" else "scripted"
WORKERS = {"worker-1": "4", "worker-2": "2", "worker-3": "3"}
DOOMED = "worker-2"
LOST_AFTER = "3s"

TERMINAL = sys.stdout.isatty()


@dataclass(frozen=True)
class DemoJob:
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
        container: dict[str, Any] = {"name": "main", "image": "busybox", "command": ["sh", "-c", command]}
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
    DemoJob("render-1", 2),
    DemoJob("render-2", 6),
    DemoJob("render-3", 6),
    DemoJob("render-4", 6, prefers=DOOMED),
    DemoJob("render-5", 6, prefers=DOOMED),
    DemoJob("large", 4, cpu="3"),
    DemoJob("array", 3, cpu="100m", pods=4),
    DemoJob("broken", 1, code=3),
    DemoJob("local-1", 2, delegated=False),
    DemoJob("local-2", 3, delegated=False),
]


@dataclass
class DemoRow:
    """A Job as it was last seen."""

    task: DemoJob
    status: str = "Submitted"
    where: str = ""
    run: int = 0
    done: int = 0
    history: list[str] = field(default_factory=list)

    def take(self, job: Object) -> bool:
        """Take over a newer version; returns whether the row has changed."""
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
        news = "done" if self.right else tone(self.status)
        kind = "delegated" if self.task.delegated else "standard"
        run = str(self.run) if self.run else "-"
        path = " -> ".join(self.history) if len(self.history) > 1 else self.where or "-"
        done = f"{self.done}/{self.task.pods}"
        return f"  {self.task.name:<10} {kind:<10} {in_tone(f'{self.status:<10}', news)} {done:<5} {run:<4} {path}"


HEAD = f"  {'JOB':<10} {'KIND':<10} {'STATUS':<10} {'DONE':<5} {'RUN':<4} CLUSTER"


class Screen:
    """A table that is redrawn in a terminal, and one line for each change elsewhere."""

    def __init__(self, rows: dict[str, DemoRow]) -> None:
        self._rows, self._began, self._drawn = rows, time.monotonic(), 0

    def table(self) -> None:
        if self._drawn:
            print(f"\033[{self._drawn}A", end="", flush=True)
        lines = [HEAD, *(row.line() for row in self._rows.values())]
        for line in lines:
            if TERMINAL:
                print("\033[K", end="", flush=True)
            click.echo(line)
        self._drawn = len(lines) if TERMINAL else 0

    def changed(self, row: DemoRow) -> None:
        if TERMINAL:
            self.table()
        else:
            click.echo(f"  {time.monotonic() - self._began:5.1f} s {row.line()}")

    def say(self, text: str) -> None:
        """A remark between the lines."""
        click.echo(f"\n{click.style(text, bold=True)}")
        self._drawn = 0
        if TERMINAL:
            self.table()
