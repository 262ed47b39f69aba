"""A lock on a file, with the holder's process id in it.

It belongs to the open file, not to the process: it is free the moment its holder is gone, however it went, and two
holders in one process exclude each other too.
"""

from __future__ import annotations

import fcntl
import os
import pathlib
import time
from typing import IO, Final

__all__ = ["FileLock"]

_GLANCES: Final = 5  # a look at the lock by another process holds it for an instant


class FileLock:
    """Held from `take` to `release`."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> bool:
        """Take the lock; False if somebody else has it. Raises OSError for a file that cannot be written."""
        file = self._path.open("a+")
        if not _locked(file):
            file.close()
            return False
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return True

    def release(self) -> None:
        """Let others have it; releasing twice is fine."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None

    def holder(self) -> int | None:
        """The process that holds it (0 if it does not say so), or None if nobody does."""
        try:
            file = self._path.open("r")
        except OSError:
            return None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                text = file.read().strip()
                return int(text) if text.isdecimal() else 0
        return None


def _locked(file: IO[str]) -> bool:
    for glance in range(_GLANCES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if glance + 1 < _GLANCES:
                time.sleep(0.01)
    return False
