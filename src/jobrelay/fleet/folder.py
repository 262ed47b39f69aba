"""What a fleet keeps in its folder.

DIR/fleet.lock                held, with the process id in it, while the fleet runs
DIR/management.kubeconfig     and DIR/worker-1.kubeconfig, ...: for people and programs
DIR/management/, DIR/worker-1/, ...    the clusters' own folders, with their logs
DIR/relay.log                 what the relay has to say; relay.log.1 is that of the start before
DIR/worker-1.pid, ...         the process of each part while it runs
DIR/hello.yaml                a delegated Job to begin with
"""

from __future__ import annotations

import os
import pathlib
from typing import Final

from jobrelay.cluster.files import ClusterFolder
from jobrelay.cluster.lock import FileLock
from jobrelay.fleet.errors import FleetError

__all__ = ["HELLO", "FleetFolder"]

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
    """The folder of one fleet, locked from `open` to `close`."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.hello = path / "hello.yaml"
        self._lock = FileLock(path / "fleet.lock")

    def open(self) -> None:
        """Makes the folder and takes its lock; raises FleetError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            taken = self._lock.take()
        except OSError as error:
            raise FleetError(f"{self.path} cannot be used: {error.strerror}", "choose another --dir") from error
        if not taken:
            pid = self.holder() or "unknown"
            raise FleetError(f"a fleet runs in {self.path} already (pid {pid})", "`jobrelay down` ends it")
        self.hello.write_text(HELLO)

    def close(self) -> None:
        self._lock.release()

    def holder(self) -> int | None:
        """The process that runs the fleet (0 if it does not say so), or None if nobody does."""
        return self._lock.holder()

    def kubeconfig(self, name: str) -> pathlib.Path:
        return self.path / f"{name}.kubeconfig"

    def pid_file(self, name: str) -> pathlib.Path:
        return self.path / f"{name}.pid"

    def log(self, name: str) -> pathlib.Path:
        """Where a part's log is: a cluster's in its own folder, the others' beside it."""
        return self.path / f"{name}.log" if name in ("relay", "fleet") else ClusterFolder(self.path, name).log

    def new_log(self, name: str) -> int:
        """A fresh log, opened for writing; raises ClusterError for a cluster that runs, OSError."""
        if name not in ("relay", "fleet"):
            return ClusterFolder(self.path, name).new_log()
        log = self.log(name)
        if log.exists():
            log.replace(log.with_name(f"{log.name}.1"))
        return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tail(self, name: str) -> str:
        """The end of a part's log, indented."""
        try:
            lines = self.log(name).read_text(errors="replace").splitlines()[-_TAIL:]
        except OSError:
            return ""
        return "\n".join(f"  {line}" for line in lines)
