"""A lock on a file that contains the holder's process id.

The lock belongs to the open file, not to the process: it is released when its holder ends, for whatever reason, and two
holders in one process exclude each other too.
"""

from __future__ import annotations

import fcntl
import os
import pathlib
import time
from typing import IO, Final

_TRIES: Final = 5  # another process that calls `holder` has the lock for an instant


class FileLock:
    """Held from `take` to `release`."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> bool:
        """Takes the lock; False if it is held. Raises OSError for a file that cannot be written."""
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
        """Releases the lock; may be called twice."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None

    def holder(self) -> int | None:
        """The id of the process that holds the lock (0 if unknown), or None if none does."""
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
    for attempt in range(1, _TRIES + 1):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if attempt < _TRIES:
                time.sleep(0.01)
    return False
