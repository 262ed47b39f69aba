"""The folder of a fleet.

DIR/fleet.lock                         locked while the fleet runs; contains its process ID
DIR/relay.lock                         locked while a relay runs for this fleet; contains its process ID
DIR/management.kubeconfig, DIR/worker-1.kubeconfig, ...
DIR/management/, DIR/worker-1/, ...    the clusters' own folders, with their logs
DIR/relay.log                          the relay's log; relay.log.1 is that of the previous start
DIR/relay.pid, DIR/worker-1.pid, ...   the ID of each running process
DIR/hello.yaml                         a delegated Job to start with
"""

from __future__ import annotations

import os
import pathlib
from typing import Final

from jobrelay.cluster.files import ClusterFolder
from jobrelay.cluster.lock import FileLock
from jobrelay.fleet.errors import FleetError

__all__ = ["HELLO", "FleetFolder", "log_tail"]

_TAIL: Final = 15  # lines
HELLO: Final = """\
apiVersion: batch/v1
kind: Job
metadata:
  generateName: hello-
spec:
  managedBy: jobrelay.dev/relay
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox
        command: ["sh", "-c", "echo hello from a worker; sleep 2"]
"""


class FleetFolder:
    """The folder of one fleet, locked between `open` and `close`."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.hello = path / "hello.yaml"
        self._lock = FileLock(path / "fleet.lock")
        self.relay_lock = FileLock(path / "relay.lock")
        """Held by a relay that was started by hand for this fleet."""

    @property
    def exists(self) -> bool:
        """Whether a fleet has ever run in it."""
        return (self.path / "fleet.lock").exists()

    def open(self) -> None:
        """Creates the folder and takes its lock; raises FleetError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            taken = self._lock.take()
        except OSError as error:
            raise FleetError(f"{self.path} cannot be used: {error.strerror}", "choose another --dir") from error
        if not taken:
            pid = self.holder() or "unknown"
            raise FleetError(f"a fleet is already running in {self.path} (pid {pid})", "`jobrelay down` stops it")
        self.hello.write_text(HELLO)

    def close(self) -> None:
        self._lock.release()

    def holder(self) -> int | None:
        """The ID of the process that runs the fleet (0 if unknown), or None if it is not running."""
        return self._lock.holder()

    def kubeconfig(self, name: str) -> pathlib.Path:
        return self.path / f"{name}.kubeconfig"

    def pid_file(self, name: str) -> pathlib.Path:
        return self.path / f"{name}.pid"

    def log(self, name: str) -> pathlib.Path:
        """The log of a process: a cluster's is in its own folder, the others are directly in this one."""
        return self.path / f"{name}.log" if name in ("relay", "fleet") else ClusterFolder(self.path, name).log

    def new_log(self, name: str) -> int:
        """A new log, opened for writing; raises ClusterError for a running cluster, and OSError."""
        if name not in ("relay", "fleet"):
            return ClusterFolder(self.path, name).new_log()
        log = self.log(name)
        if log.exists():
            log.replace(log.with_name(f"{log.name}.1"))
        return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tail(self, name: str) -> str:
        """The last lines of a process's log, indented."""
        return log_tail(self.log(name))


def log_tail(log: pathlib.Path) -> str:
    """The last lines of a log, indented; empty if it cannot be read."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-_TAIL:]
    except OSError:
        return ""
    return "\n".join(f"  {line}" for line in lines)
