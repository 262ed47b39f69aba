"""What the commands of every day cost: CPU of the process above that of a bare interpreter, on a fleet that runs."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from bench.process import compile_package, environment
from bench.report import Figure

ROUNDS: Final = 7
BUDGET: Final = 150.0
JOB: Final = "job/bench"
COMMANDS: Final = (
    "get", "get workers", f"explain {JOB}", f"logs {JOB}", f"describe {JOB}", "events", f"wait {JOB}", f"cancel {JOB}",
    "submit {hello}", "queue list", "--help", "completion bash",
)  # fmt: skip


def commands(folder: pathlib.Path) -> list[Figure]:
    """The least of some runs of each command, since what else the machine does only adds to it."""
    compile_package()
    with _fleet(folder) as hello:
        bare = _least([sys.executable, "-c", "pass"], folder)
        found = [(each, _least(_jobrelay(each.format(hello=hello)), folder) - bare) for each in COMMANDS]
    note = f"imports, mostly; a bare interpreter takes {bare * 1000:.0f} ms"
    return [
        Figure(f"CPU of jobrelay {each.format(hello='FILE')}", cpu * 1000, "ms", BUDGET, note=note)
        for each, cpu in found
    ]


@contextmanager
def _fleet(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A fleet with a Job that has ended, whose mirror is kept; yields a manifest to submit."""
    place = ["--dir", str(folder)]
    try:
        _run(_jobrelay("up -d --memory --runtime scripted --keep-finished 1h", *place), folder)
        _run(_jobrelay("submit --name bench --image busybox --wait -- true"), folder)
        yield folder / "hello.yaml"
    finally:
        _run(_jobrelay("down", *place), folder)


def _jobrelay(line: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "jobrelay", *line.split(), *more]


def _run(command: Sequence[str], folder: pathlib.Path) -> None:
    where = environment() | {"KUBECONFIG": str(folder / "management.kubeconfig")}
    subprocess.run(command, env=where, check=True, stdout=subprocess.DEVNULL)


def _least(command: Sequence[str], folder: pathlib.Path) -> float:
    """Seconds of CPU, user and system, of the cheapest run."""
    where = environment() | {"KUBECONFIG": str(folder / "management.kubeconfig")}
    found = []
    for _ in range(ROUNDS):
        process = subprocess.Popen(command, env=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        found.append(usage.ru_utime + usage.ru_stime)
    return min(found)
