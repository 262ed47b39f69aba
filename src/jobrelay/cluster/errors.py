"""What can keep a cluster from starting, stopping or being deleted.

    ClusterError
    ├── FolderError         the folder cannot be used: unwritable, foreign, or of a newer version
    │   └── AlreadyRunning  another process holds the cluster
    └── PortTaken           the address is in use, or not ours to use

`hint` says what to do about it, in words that fit both the command and the library.
"""

from __future__ import annotations


class ClusterError(Exception):
    """The message says what is wrong; `hint` how to go on."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class FolderError(ClusterError):
    """A folder that cannot be used."""


class AlreadyRunning(FolderError):
    """The cluster is held by a running process; `pid` is 0 where that is not known."""

    def __init__(self, message: str, hint: str = "", *, pid: int = 0) -> None:
        super().__init__(message, hint)
        self.pid = pid


class PortTaken(ClusterError):
    """The port cannot be had."""
