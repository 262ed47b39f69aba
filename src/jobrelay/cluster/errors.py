"""Errors of starting, stopping and deleting a cluster.

    ClusterError
    ├── FolderError         the folder cannot be used: unwritable, foreign, or of a newer version
    │   └── AlreadyRunning  another process holds the cluster
    └── PortTaken           the port is in use, or may not be used

`hint` says what to do about it, in terms that fit both the command and the library.
"""

from __future__ import annotations


class ClusterError(Exception):
    """The message says what is wrong; `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class FolderError(ClusterError):
    """The folder cannot be used."""


class AlreadyRunning(FolderError):
    """Another process runs the cluster; `pid` is 0 if it is unknown."""

    def __init__(self, message: str, hint: str = "", *, pid: int = 0) -> None:
        super().__init__(message, hint)
        self.pid = pid


class PortTaken(ClusterError):
    """The port is not available."""
