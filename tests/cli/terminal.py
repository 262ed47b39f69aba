"""Commands in a terminal of their own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Sequence

from .command import ENVIRONMENT

TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes the terminal that of the new session, so that Ctrl-C in it is a signal, and runs a command."""


def in_terminal(command: Sequence[object], text: bytes, key: bytes) -> tuple[int, str]:
    """Runs a command, presses a key once a text was shown, and returns its exit code and all that it has shown."""
    ours, theirs = pty.openpty()
    variables = ENVIRONMENT | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *map(str, command)],
        stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown, pressed = b"", False
    try:
        while piece := read(ours):
            shown += piece
            if text in shown and not pressed:
                pressed = True
                os.write(ours, key)
        assert pressed, shown[-2000:]
        return process.wait(60), shown.decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read(descriptor: int) -> bytes:
    """The next output; empty when the other side has ended."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
