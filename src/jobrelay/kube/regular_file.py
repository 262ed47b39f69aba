"""Reading files whose names somebody else may have chosen.

Opening a pipe waits for its writer, and a device may be endless. Either would stop the whole event loop.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["MAX_FILE_SIZE", "read_regular_file"]

MAX_FILE_SIZE = 1024 * 1024
"""As large as a Secret may be."""


def read_regular_file(path: Path) -> bytes:
    """The content of a regular file of at most `MAX_FILE_SIZE` bytes; raises OSError for anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        content = file.read(MAX_FILE_SIZE + 1)
    if len(content) > MAX_FILE_SIZE:
        raise OSError(errno.EFBIG, f"it is larger than {MAX_FILE_SIZE} bytes", str(path))
    return content
