"""The `jobrelay` command as people run it: a process of its own."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
COMMAND = [sys.executable, "-m", "jobrelay"]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT | environment, timeout=120, check=False
    )


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`jobrelay cluster start` in the foreground; killed at the end if the test has not ended it."""
    command = [*COMMAND, "cluster", "start", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> tuple[str, ...]:
    """The words of the next ready line."""
    assert process.stdout is not None
    return tuple(process.stdout.readline().split())


def end(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> int:
    """Asks the process to end; returns its code."""
    process.send_signal(number)
    return process.wait(30)
