"""Starts `jobrelay` in the background: the same command in its own session, without a terminal, logging to a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from jobrelay.fleet.process import python_path

__all__ = ["spawn_detached"]


def spawn_detached(arguments: Sequence[str | os.PathLike[str]], log: int) -> subprocess.Popen[str]:
    """Starts the command with its stdout in a pipe and its stderr in `log`, a file descriptor that is closed here."""
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "jobrelay", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            text=True,
            env=os.environ | {"PYTHONPATH": python_path()},
        )
    finally:
        os.close(log)
